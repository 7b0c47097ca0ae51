/** What is known about a model: read from the entries of model lists, whose fields differ from server to server. */

import { definedFields, isRecord, type JsonObject } from './record.ts';

/** What a model takes and gives, as far as it is known. `undefined` means not known. */
export interface ModelFacts {
  /** The tokens of its context, input and output together. */
  readonly contextLength?: number | undefined;
  /** The most tokens of one answer. */
  readonly maxOutputTokens?: number | undefined;
  /** What it reads, such as `text`, `image` and `audio`. */
  readonly modalities?: readonly string[] | undefined;
  /** The reasoning efforts that it takes, such as `low`; empty if it does not reason. */
  readonly efforts?: readonly string[] | undefined;
  /** Whether it calls tools. */
  readonly tools?: boolean | undefined;
}

type Path = readonly string[];

/** The first that is there counts; beside each its servers. */
const CONTEXT_PATHS: readonly Path[] = [
  // OpenRouter, Together, Fireworks, DeepInfra; and what this package writes.
  ['context_length'],
  // vLLM and SGLang.
  ['max_model_len'],
  // Groq.
  ['context_window'],
  // llama.cpp: the length that it was started with.
  ['meta', 'n_ctx'],
  // LM Studio.
  ['loaded_context_length'],
  // Mistral, and LM Studio.
  ['max_context_length'],
  // GitHub Copilot.
  ['capabilities', 'limits', 'max_context_window_tokens'],
  ['limits', 'max_context_length'],
  ['metadata', 'context_length'],
  // Gemini.
  ['inputTokenLimit'],
  // Anthropic.
  ['max_input_tokens'],
  ['top_provider', 'context_length'],
];

const OUTPUT_PATHS: readonly Path[] = [
  // Groq; and what this package writes.
  ['max_completion_tokens'],
  // OpenRouter.
  ['top_provider', 'max_completion_tokens'],
  ['max_output_tokens'],
  // GitHub Copilot.
  ['capabilities', 'limits', 'max_output_tokens'],
  ['limits', 'max_completion_tokens'],
  // Gemini.
  ['outputTokenLimit'],
  // Anthropic, DeepInfra.
  ['max_tokens'],
  ['metadata', 'max_tokens'],
];

/** Lists of names. */
const MODALITY_PATHS: readonly Path[] = [['architecture', 'input_modalities'], ['input_modalities'], ['modalities']];
const EFFORT_PATHS: readonly Path[] = [
  ['reasoning', 'supported_efforts'],
  ['capabilities', 'supports', 'reasoning_effort'],
];
const VISION_PATHS: readonly Path[] = [
  ['capabilities', 'vision'],
  ['capabilities', 'supports', 'vision'],
  ['supports_image_input'],
  ['supports_vision'],
];
const TOOL_PATHS: readonly Path[] = [
  ['capabilities', 'function_calling'],
  ['capabilities', 'supports', 'tool_calls'],
  ['supports_tools'],
];

/** What an entry of a model list says. Pure; reads a bounded part of it, whatever the server has put there. */
export function modelFacts(entry: JsonObject): ModelFacts {
  const parameters = readNames(entry.supported_parameters);
  const sees = firstFact(VISION_PATHS, entry, readFlag);
  const seen = sees ? ['text', 'image'] : ['text'];
  return definedFields({
    contextLength: firstFact(CONTEXT_PATHS, entry, readTokenCount),
    maxOutputTokens: firstFact(OUTPUT_PATHS, entry, readTokenCount),
    modalities: firstFact(MODALITY_PATHS, entry, readNames) ?? (sees === undefined ? undefined : seen),
    efforts: firstFact(EFFORT_PATHS, entry, readNames),
    tools: firstFact(TOOL_PATHS, entry, readFlag) ?? parameters?.includes('tools'),
  });
}

/** The facts as fields of an entry, under the names that most clients read. */
export function factFields({ contextLength, maxOutputTokens, modalities, efforts, tools }: ModelFacts): JsonObject {
  return {
    ...(contextLength === undefined ? {} : { context_length: contextLength }),
    ...(maxOutputTokens === undefined ? {} : { max_completion_tokens: maxOutputTokens }),
    ...(modalities ? { architecture: { input_modalities: modalities } } : {}),
    ...(efforts ? { reasoning: { supported_efforts: efforts } } : {}),
    ...(tools === undefined ? {} : { supports_tools: tools }),
  };
}

/** The entry with facts that it does not say itself, or says otherwise. */
export function withFacts(entry: JsonObject, facts: ModelFacts): JsonObject {
  const entryFacts = modelFacts(entry);
  const other = Object.entries(facts).filter(
    ([name, value]) =>
      value !== undefined && JSON.stringify(value) !== JSON.stringify(entryFacts[name as keyof ModelFacts]),
  );
  return other.length === 0 ? entry : { ...entry, ...factFields(Object.fromEntries(other)) };
}

/** Both; the first one counts where both say something. */
export function mergeFacts(first: ModelFacts, second: ModelFacts): ModelFacts {
  return { ...second, ...definedFields(first) };
}

/** What holds for a model that any of several servers may answer: the least of their lengths. */
export function sharedFacts(all: readonly ModelFacts[]): ModelFacts {
  const least = (name: 'contextLength' | 'maxOutputTokens') => {
    const counts = all.flatMap((facts) => facts[name] ?? []);
    return counts.length === 0 ? undefined : Math.min(...counts);
  };
  const joined = all.reduce<ModelFacts>(mergeFacts, {});
  return definedFields({ ...joined, contextLength: least('contextLength'), maxOutputTokens: least('maxOutputTokens') });
}

function firstFact<Value>(
  paths: readonly Path[],
  entry: JsonObject,
  read: (value: unknown) => Value | undefined,
): Value | undefined {
  for (const path of paths) {
    const value = read(path.reduce<unknown>((within, name) => (isRecord(within) ? within[name] : undefined), entry));
    if (value !== undefined) return value;
  }
  return undefined;
}

/** No model has more: a greater number is a mistake, or says that there is no limit. */
const MAX_TOKENS = 1_000_000_000;

function readTokenCount(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) <= MAX_TOKENS ? Number(value) : undefined;
}

const MAX_NAMES = 32;
const MAX_NAME_LENGTH = 64;

function readNames(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const texts = value.slice(0, MAX_NAMES).filter((name): name is string => typeof name === 'string' && name !== '');
  return texts.filter(({ length }) => length <= MAX_NAME_LENGTH);
}

function readFlag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
