/** Lists a server's tools, limited in number and in size. */

import type { ProvidedTool } from '../../../ports/tool-provider.ts';
import { toPrintableId } from '../../../protocol/ids.ts';
import { isRecord, type JsonObject, plainText } from '../../../protocol/record.ts';
import { RpcCode, RpcError } from './client/faults.ts';
import type { Redactor } from './redact.ts';
import type { ServerSettings } from './server-config.ts';

/** Requests one page of `tools/list`. */
export type ListPage = (params: Readonly<Record<string, unknown>>) => Promise<Readonly<Record<string, unknown>>>;

/** The tools of a server that can be used, and what others it has, in words for the log. */
interface ToolList {
  readonly tools: readonly ProvidedTool[];
  /** Undefined for none. */
  readonly unusable: string | undefined;
}

const MAX_PAGES = 256;
const MAX_LISTED = 10_000;
const MAX_NAME_CHARACTERS = 256;
const MAX_DESCRIPTION_CHARACTERS = 4_096;
/** Characters of a tool's schemas, as JSON. */
const MAX_SCHEMA_CHARACTERS = 128 * 1024;

/** The limits of a list: the characters of JSON in total, and the number of tools that are offered at once. */
export interface ListLimits {
  readonly characters: number;
  readonly maxTools: number;
}

/**
 * Reads all pages, and keeps tools up to the limits; those past `maxTools`, and those that the server's settings name,
 * are deferred. A server without tools has none; other errors are thrown.
 */
export async function readToolList(
  server: ServerSettings,
  listPage: ListPage,
  { characters, maxTools }: ListLimits,
): Promise<ToolList> {
  const byName = new Map<string, ProvidedTool>();
  let charactersLeft = characters;
  let unusable = 0;
  let firstName: unknown;
  for await (const json of listedTools(listPage)) {
    if (isRecord(json) && !server.allows(plainText(json.name))) continue;
    const tool = toProvidedTool(server, json);
    if (tool) charactersLeft -= JSON.stringify(tool).length;
    if (tool && !byName.has(tool.name) && byName.size < MAX_LISTED && charactersLeft >= 0) byName.set(tool.name, tool);
    else {
      unusable += 1;
      firstName ??= Object(json).name;
    }
  }
  // The first ones in the server's own order are offered at once.
  const maxDirect = server.maxTools ?? maxTools;
  let direct = 0;
  const tools = [...byName.values()].map((tool) => {
    if (server.defers(tool.name) || direct === maxDirect) return { ...tool, deferred: true };
    direct += 1;
    return tool;
  });
  if (unusable === 0) return { tools, unusable: undefined };
  // Quoted as JSON, since a name may be anything.
  const others = unusable === 1 ? '' : ` and ${unusable - 1} more`;
  return { tools, unusable: JSON.stringify(toPrintableId(firstName)) + others };
}

/** One after the other, so that a page, which may hold megabytes, is freed before the next one arrives. */
async function* listedTools(listPage: ListPage): AsyncGenerator<unknown> {
  let count = 0;
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES && count <= MAX_LISTED; page += 1) {
    const result = await listPage(cursor === undefined ? {} : { cursor }).catch((error: unknown): JsonObject => {
      if (error instanceof RpcError && error.code === RpcCode.methodNotFound) return {};
      throw error;
    });
    const tools: readonly unknown[] = Array.isArray(result.tools) ? result.tools.slice(0, MAX_LISTED + 1) : [];
    count += tools.length;
    yield* tools;
    const { nextCursor } = result;
    // Some servers ignore cursors, and would answer with the same page until the time for connecting runs out.
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) break;
    cursor = nextCursor;
  }
}

function toProvidedTool({ label, redact }: ServerSettings, json: unknown): ProvidedTool | undefined {
  if (!isRecord(json)) return undefined;
  const { name, description, execution } = json;
  // Tools that only run as tasks answer a plain call with an error.
  if (isRecord(execution) && execution.taskSupport === 'required') return undefined;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_CHARACTERS) return undefined;
  const schemas = redactedSchemas(json, redact);
  if (!schemas) return undefined;
  const { schema, outputSchema, annotations } = schemas;
  const text = typeof description === 'string' ? redact.content(description) : undefined;
  const isLong = text !== undefined && text.length > MAX_DESCRIPTION_CHARACTERS;
  return {
    name,
    server: label,
    ...(text === undefined ? {} : { description: isLong ? `${text.slice(0, MAX_DESCRIPTION_CHARACTERS)}…` : text }),
    ...(isRecord(schema) ? { parameters: schema } : {}),
    ...(isRecord(outputSchema) ? { outputSchema } : {}),
    ...(isRecord(annotations) ? { annotations } : {}),
  };
}

/** Schemas and hints, their secrets masked; undefined if they are too large, or nested deeper than the stack. */
function redactedSchemas(
  { inputSchema, outputSchema, annotations }: Readonly<Record<string, unknown>>,
  redact: Redactor,
): Readonly<Record<string, unknown>> | undefined {
  try {
    const text = JSON.stringify({ schema: inputSchema, outputSchema, annotations });
    if (text.length > MAX_SCHEMA_CHARACTERS) return undefined;
    return JSON.parse(text, (_key, value: unknown) => (typeof value === 'string' ? redact.content(value) : value));
  } catch {
    return undefined;
  }
}
