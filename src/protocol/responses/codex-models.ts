/** Models in the shape of the catalogue that Codex reads (`ModelsResponse` of its source, versions 0.90 to 0.171). */

import { modelFacts } from '../model-facts.ts';
import { type JsonObject, plainText } from '../record.ts';

/** Codex reads the whole catalogue into memory; a picker of more models helps nobody. */
const MAX_MODELS = 1000;

/** The catalogue. A field that is missing would make Codex refuse all of it. */
export function codexModels(models: readonly JsonObject[]): JsonObject {
  const named = models.filter(({ id }) => plainText(id) !== '').slice(0, MAX_MODELS);
  return {
    models: named.map((model, index) => {
      const { contextLength, modalities, efforts = [] } = modelFacts(model);
      const slug = plainText(model.id);
      const levels = efforts.filter((effort) => EFFORTS.has(effort));
      const inputs = modalities?.filter((modality) => modality === 'text' || modality === 'image');
      const usual = levels.includes('medium') ? 'medium' : levels[0];
      return {
        slug,
        display_name: plainText(model.display_name) || slug,
        description: null,
        ...(usual === undefined ? {} : { default_reasoning_level: usual }),
        supported_reasoning_levels: levels.map((effort) => ({ effort, description: `Reasoning effort: ${effort}` })),
        ...PLAIN,
        // The first of a list is what a server names first.
        priority: index + 1,
        supports_reasoning_summaries: levels.length > 0,
        ...(contextLength === undefined ? {} : { context_window: contextLength, max_context_window: contextLength }),
        ...(inputs ? { input_modalities: inputs } : {}),
      };
    }),
  };
}

/** Those that every version of Codex can read. */
const EFFORTS: ReadonlySet<string> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']);

/** In the place of Codex's own instructions, which it gives to models that are in no catalogue. */
const INSTRUCTIONS = `You are a coding agent in a terminal, and work in the user's folder by calling the tools you are given.
Read the files that matter before you change them, and follow the instructions of AGENTS.md files in the folder and above.
Make the change that was asked for and no other, in the style of the code around it. Prefer rg for searching.
Run the project's own checks where there are some, and mend what you broke. Never undo changes that are not yours.
Go on until the task is done, then say in a few words what you changed and how you checked it. If you cannot go on, say why.`;

/** As Codex treats a model that it knows nothing about. */
const PLAIN = {
  shell_type: 'default',
  visibility: 'list',
  supported_in_api: true,
  availability_nux: null,
  upgrade: null,
  base_instructions: INSTRUCTIONS,
  support_verbosity: false,
  default_verbosity: null,
  apply_patch_tool_type: null,
  truncation_policy: { mode: 'bytes', limit: 10_000 },
  supports_parallel_tool_calls: true,
  experimental_supported_tools: [],
} as const;
