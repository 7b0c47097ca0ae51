/** Notes the fields of a request that have no effect: those that the Responses API does not have, and some of OpenAI's own. */
import type { Note } from '../../protocol/note.ts';
import { isRecord } from '../../protocol/record.ts';
import { createSchema } from '../../protocol/responses/schema.ts';

/** OpenAI's fields without effect here, each with the value that asks for nothing, if there is one. */
const WITHOUT_EFFECT: readonly (readonly [path: string, harmless?: unknown])[] = [
  ['access_programs'],
  ['image'],
  ['prompt_cache_options.comparison_response_id'],
  ['prompt_cache_options.prewarm', false],
  ['reasoning.context', 'auto'],
  ['reasoning.generate_summary'],
  ['reasoning.mode', 'standard'],
  // Padding against eavesdroppers: none is ever added.
  ['stream_options.include_obfuscation', false],
];

/** The same in a tool. */
const TOOL_FIELDS: readonly (readonly [field: string, harmless?: unknown])[] = [['allowed_callers'], ['async', false]];

const KNOWN: ReadonlySet<string> = new Set([
  ...Object.keys(createSchema.shape),
  ...['input', 'tools'],
  ...WITHOUT_EFFECT.map(([path]) => path.split('.')[0] as string),
]);

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

const MOST_NAMED = 8;
const NAME_LENGTH = 64;

/** Names the first few, and counts the others; null means omitted. */
export function noteUnknownFields(body: Readonly<Record<string, unknown>>, note: (note: Note) => void): void {
  let unknown = 0;
  for (const field in body) {
    if (KNOWN.has(field) || body[field] === undefined || body[field] === null) continue;
    unknown += 1;
    if (unknown <= MOST_NAMED) note({ code: 'unknown_field', message: unknownField(field) });
  }
  noteWithoutEffect(body, note);
  const more = unknown - MOST_NAMED;
  if (more > 0) note({ code: 'unknown_field', message: `${more} more unknown fields are ignored.` });
}

function noteWithoutEffect(body: Readonly<Record<string, unknown>>, note: (note: Note) => void): void {
  for (const [path, harmless] of WITHOUT_EFFECT) {
    const [field = '', inner] = path.split('.');
    const value = inner === undefined ? body[field] : fieldOf(body[field], inner);
    if (asksForMore(value, harmless)) note(withoutEffect(`'${path}' has`));
  }
  const tools = Array.isArray(body.tools) ? body.tools : [];
  for (const [field, harmless] of TOOL_FIELDS) {
    if (tools.some((tool) => asksForMore(fieldOf(tool, field), harmless)))
      note(withoutEffect(`'${field}' of tools has`));
  }
}

function fieldOf(value: unknown, field: string): unknown {
  return isRecord(value) ? value[field] : undefined;
}

function asksForMore(value: unknown, harmless: unknown): boolean {
  return value !== undefined && value !== null && value !== harmless;
}

function withoutEffect(what: string): Note {
  return { code: 'setting_dropped', message: `${what} no effect here; it is left out.` };
}

function unknownField(field: string): string {
  const name = OTHER_NAMES.get(field);
  const hint = name === undefined ? '' : ` Its name here is '${name}'.`;
  return `The Responses API has no field '${field.slice(0, NAME_LENGTH)}'; it is ignored.${hint}`;
}
