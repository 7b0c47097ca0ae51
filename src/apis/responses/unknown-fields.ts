/** Notes the fields of a request that the Responses API does not have, and their equivalents. */
import type { Note } from '../../protocol/note.ts';
import { createSchema } from '../../protocol/responses/schema.ts';

/** `stream_options` can disable padding against eavesdroppers, and none is ever added here. */
const KNOWN: ReadonlySet<string> = new Set([...Object.keys(createSchema.shape), 'input', 'tools', 'stream_options']);

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
  const more = unknown - MOST_NAMED;
  if (more > 0) note({ code: 'unknown_field', message: `${more} more unknown fields are ignored.` });
}

function unknownField(field: string): string {
  const name = OTHER_NAMES.get(field);
  const hint = name === undefined ? '' : ` Its name here is '${name}'.`;
  return `The Responses API has no field '${field.slice(0, NAME_LENGTH)}'; it is ignored.${hint}`;
}
