/** Keeps what a client says to its own servers out of everything that is kept or echoed. */

import { isRecord } from '../../protocol/record.ts';
import type { JsonObject } from '../record.ts';

/** What a client says to a server, or to a process that runs one: here or in other APIs. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['headers', 'authorization', 'authorization_token', 'env']);

/** Descriptions of arguments and answers, where such a name is that of an argument. */
const SCHEMA_FIELDS: ReadonlySet<string> = new Set([
  'parameters',
  'input_schema',
  'inputSchema',
  'output_schema',
  'outputSchema',
  'format',
]);

/** The tool, or what else holds tools, without what may be a secret, however deep it stands: in a namespace, in a choice. */
export function withoutSecrets(tool: JsonObject): JsonObject {
  const kept = Object.entries(tool).filter(([name]) => !SECRET_FIELDS.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, SCHEMA_FIELDS.has(name) ? value : clean(value)]));
}

/** Recursive: a request is nested at most 128 levels deep. */
function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clean);
  return isRecord(value) ? withoutSecrets(value) : value;
}
