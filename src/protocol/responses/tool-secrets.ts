/** Keeps a client's credentials for its own servers out of everything that is stored or echoed. */

import { isRecord } from '../../protocol/record.ts';
import type { JsonObject } from '../record.ts';

/** Fields with a client's credentials for a server, or for a process that runs one: in this or in other APIs. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['headers', 'authorization', 'authorization_token', 'env']);

/** Schemas of arguments and results, where such a name is that of an argument. */
const SCHEMA_FIELDS: ReadonlySet<string> = new Set([
  'parameters',
  'input_schema',
  'inputSchema',
  'output_schema',
  'outputSchema',
  'format',
]);

/**
 * The tool, or another object that holds tools, without possible secrets at any depth: in a namespace, in a tool
 * choice.
 */
export function withoutSecrets(tool: JsonObject): JsonObject {
  const kept = Object.entries(tool).filter(([name]) => !SECRET_FIELDS.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, SCHEMA_FIELDS.has(name) ? value : cleanValue(value)]));
}

/** Recursive: a request is nested at most 128 levels deep. */
function cleanValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleanValue);
  return isRecord(value) ? withoutSecrets(value) : value;
}
