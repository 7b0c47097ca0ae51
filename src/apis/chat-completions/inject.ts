/** Puts the server's tools into a Chat Completions body. */
import type { Toolset } from '../../ports/toolset.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../protocol/record.ts';
import { clientToolsOnly, definitions } from '../../tools/toolset.ts';
import type { ChatBody } from './schema.ts';

/** The names of the client's own tools, including custom ones and legacy functions. */
export function chatToolNames({ tools, functions }: JsonObject): ReadonlySet<string> {
  const named = [...list(tools).map(({ function: called, custom }) => called ?? custom), ...list(functions)];
  return new Set(named.filter(isRecord).map(({ name }) => plainTextOf(name)));
}

function list(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The body with the tools after the client's own, or replacing them, in the legacy field if the client uses that. */
export function withTools(body: JsonObject, toolset: Toolset): JsonObject {
  if (toolset.size === 0) return body;
  const functions = definitions(toolset).map((tool) => ({ parameters: { type: 'object', properties: {} }, ...tool }));
  if (isLegacy(body)) return { ...body, functions: [...list(body.functions), ...functions] };
  const tools = functions.map((each) => ({ type: 'function', function: each }));
  return { ...body, tools: [...clientToolsOnly(list(body.tools), toolset), ...tools] };
}

/** The body with a request for the usage, which has to be summed over the rounds. */
export function countingUsage(body: ChatBody): ChatBody {
  return body.stream ? { ...body, stream_options: { ...Object(body.stream_options), include_usage: true } } : body;
}

/** Whether the client uses the legacy fields that `tools` replaced. */
export function isLegacy({ functions }: JsonObject): boolean {
  return Array.isArray(functions);
}

/** Whether the client requested a usage chunk. */
export function wantsUsage({ stream_options: options }: JsonObject): boolean {
  return isRecord(options) && options.include_usage === true;
}
