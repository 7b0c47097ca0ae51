/** Lists a server's tools, limited in number and in size. */

import type { ProvidedTool } from '../../../ports/tool-provider.ts';
import { printedId } from '../../../protocol/ids.ts';
import { isRecord, plainTextOf } from '../../../protocol/record.ts';
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

const PAGES = 256;
const TOOLS = 10_000;
const NAME_CHARACTERS = 256;
const DESCRIPTION_CHARACTERS = 4_096;
/** Characters of a tool's schemas, as JSON. */
const SCHEMA_CHARACTERS = 128 * 1024;

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
  let room = characters;
  let unusable = 0;
  let first: unknown;
  for await (const json of rawTools(listPage)) {
    if (isRecord(json) && !server.allows(plainTextOf(json.name))) continue;
    const tool = providedTool(server, json);
    if (tool) room -= JSON.stringify(tool).length;
    if (tool && !byName.has(tool.name) && byName.size < TOOLS && room >= 0) byName.set(tool.name, tool);
    else {
      unusable += 1;
      first ??= Object(json).name;
    }
  }
  return {
    tools: withDeferred([...byName.values()], server, server.maxTools ?? maxTools),
    unusable: inWords(unusable, first),
  };
}

/** Quoted as JSON, since a name may be anything. */
function inWords(unusable: number, first: unknown): string | undefined {
  if (unusable === 0) return undefined;
  return JSON.stringify(printedId(first)) + (unusable === 1 ? '' : ` and ${unusable - 1} more`);
}

/** The first ones in the server's own order are offered at once. */
function withDeferred(
  tools: readonly ProvidedTool[],
  { defers }: ServerSettings,
  maxTools: number,
): readonly ProvidedTool[] {
  let direct = 0;
  return tools.map((tool) => {
    if (defers(tool.name) || direct === maxTools) return { ...tool, deferred: true };
    direct += 1;
    return tool;
  });
}

/** One after the other, so that a page, which may hold megabytes, is freed before the next one arrives. */
async function* rawTools(listPage: ListPage): AsyncGenerator<unknown> {
  let found = 0;
  let cursor: unknown;
  for (let page = 0; page < PAGES && found <= TOOLS; page += 1) {
    const result = await listPage(cursor === undefined ? {} : { cursor }).catch(noToolsAtAll);
    const tools: readonly unknown[] = Array.isArray(result.tools) ? result.tools.slice(0, TOOLS + 1) : [];
    found += tools.length;
    yield* tools;
    const { nextCursor } = result;
    // Some servers ignore cursors, and would answer with the same page until the time for connecting runs out.
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) break;
    cursor = nextCursor;
  }
}

function noToolsAtAll(error: unknown): Readonly<Record<string, unknown>> {
  if (error instanceof RpcError && error.code === RpcCode.methodNotFound) return {};
  throw error;
}

function providedTool({ label, redact }: ServerSettings, json: unknown): ProvidedTool | undefined {
  if (!isRecord(json) || needsTask(json)) return undefined;
  const { name, description } = json;
  if (typeof name !== 'string' || name === '' || name.length > NAME_CHARACTERS) return undefined;
  const shape = shapeOf(json, redact);
  if (!shape) return undefined;
  const { schema, outputSchema, annotations } = shape;
  return {
    name,
    server: label,
    ...(typeof description === 'string' ? { description: cut(redact.content(description)) } : {}),
    ...(isRecord(schema) ? { parameters: schema } : {}),
    ...(isRecord(outputSchema) ? { outputSchema } : {}),
    ...(isRecord(annotations) ? { annotations } : {}),
  };
}

/** Schemas and hints, their secrets masked; undefined if they are too large, or nested deeper than the stack. */
function shapeOf(
  { inputSchema, outputSchema, annotations }: Readonly<Record<string, unknown>>,
  redact: Redactor,
): Readonly<Record<string, unknown>> | undefined {
  try {
    const text = JSON.stringify({ schema: inputSchema, outputSchema, annotations });
    if (text.length > SCHEMA_CHARACTERS) return undefined;
    return JSON.parse(text, (_key, value: unknown) => (typeof value === 'string' ? redact.content(value) : value));
  } catch {
    return undefined;
  }
}

/** Tools that only run as tasks answer a plain call with an error. */
function needsTask({ execution }: Readonly<Record<string, unknown>>): boolean {
  return isRecord(execution) && execution.taskSupport === 'required';
}

function cut(description: string): string {
  return description.length <= DESCRIPTION_CHARACTERS
    ? description
    : `${description.slice(0, DESCRIPTION_CHARACTERS)}…`;
}
