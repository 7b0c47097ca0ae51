/** Notes the fields of a request that have no effect: those that the Responses API does not have, and some of OpenAI's own. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { lazily } from '../../protocol/json/lazy-schema.ts';
import type { Note } from '../../protocol/note.ts';
import { isPresent, isRecord, recordsIn, valueAt } from '../../protocol/record.ts';
import { createSchema } from '../../protocol/responses/schema.ts';
import { PROGRAMS } from '../../protocol/tool-calls/program-call.ts';
import { speaksMultiAgent } from './turn/requested-agents.ts';
import type { ResponsesApiSettings } from './turn/settings.ts';

/** OpenAI's fields without effect here, each with the value that asks for nothing, if there is one. Whoever takes one out adds it to `createSchema`. */
const WITHOUT_EFFECT: readonly { readonly path: readonly [string, string?]; readonly harmless?: unknown }[] = [
  { path: ['access_programs'] },
  { path: ['image'] },
  { path: ['prompt_cache_options', 'comparison_response_id'] },
  { path: ['prompt_cache_options', 'prewarm'], harmless: false },
  { path: ['reasoning', 'context'], harmless: 'auto' },
  { path: ['reasoning', 'generate_summary'] },
  { path: ['reasoning', 'mode'], harmless: 'standard' },
  // Padding against eavesdroppers: none is ever added.
  { path: ['stream_options', 'include_obfuscation'], harmless: false },
];

/** Has an effect beside the model's programs: whether they run here is known later. */
const CALLERS = 'allowed_callers';

/** The same in a tool. */
const TOOL_FIELDS: readonly (readonly [field: string, harmless?: unknown])[] = [
  [CALLERS],
  ['async', false],
  // Of images.
  ['complexity'],
  ['frame_count'],
  ['frame_duration_ms'],
  ['svg'],
  ['search_content_types'],
];

const knownFields = lazily(
  (): ReadonlySet<string> =>
    new Set([
      ...Object.keys(createSchema().shape),
      ...['input', 'tools'],
      // Labels that Codex puts on each request for its own service; they ask for nothing.
      'client_metadata',
      ...WITHOUT_EFFECT.map(({ path: [field] }) => field),
    ]),
);

/** Fields of Chat Completions and of other APIs, with their names in this one. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['messages', 'input'],
  ['system', 'instructions'],
  ['functions', 'tools'],
  ['function_call', 'tool_choice'],
  ['reasoning_effort', 'reasoning.effort'],
  ['verbosity', 'text.verbosity'],
]);

const MAX_NOTED = 8;
const NAME_LENGTH = 64;

/** Names the first few, and counts the others; null means omitted. `served` is a field that this request may have. */
export function noteUnknownFields(
  { body, headers }: Pick<EndpointRequest, 'body' | 'headers'>,
  { multiAgent }: Pick<ResponsesApiSettings, 'multiAgent'>,
  note: (note: Note) => void,
): void {
  // The first step validates it.
  if (!isRecord(body)) return;
  const known = knownFields();
  const beta = multiAgent && speaksMultiAgent(headers) ? 'multi_agent' : undefined;
  let unknown = 0;
  for (const field in body) {
    if (known.has(field) || field === beta || body[field] === undefined || body[field] === null) continue;
    unknown += 1;
    if (unknown > MAX_NOTED) continue;
    const otherName = OTHER_NAMES.get(field);
    const hint = otherName === undefined ? '' : ` Its name here is '${otherName}'.`;
    const message = `The Responses API has no field '${field.slice(0, NAME_LENGTH)}'; it is ignored.${hint}`;
    note({ code: 'unknown_field', message });
  }
  const noteWithoutEffect = (what: string) =>
    note({ code: 'setting_dropped', message: `${what} no effect here; it is left out.` });
  for (const { path, harmless } of WITHOUT_EFFECT) {
    const value = valueAt(body, path);
    if (isPresent(value) && value !== harmless) noteWithoutEffect(`'${path.join('.')}' has`);
  }
  const tools = recordsIn(body.tools);
  if (tools.length > 0) {
    const hasPrograms = tools.some(({ type }) => type === PROGRAMS);
    for (const [field, harmless] of TOOL_FIELDS)
      if (
        !(hasPrograms && field === CALLERS) &&
        tools.some((tool) => isPresent(tool[field]) && tool[field] !== harmless)
      )
        noteWithoutEffect(`'${field}' of tools has`);
  }
  const more = unknown - MAX_NOTED;
  if (more > 0) note({ code: 'unknown_field', message: `${more} more unknown fields are ignored.` });
}
