/** Puts the server's tools into a Chat Completions body. */
import type { Toolset } from '../../ports/toolset.ts';
import type { ToolDefinition } from '../../protocol/model-request.ts';
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
export function withTools(body: JsonObject, toolset: Toolset, known?: ReadonlySet<string>): JsonObject {
  if (toolset.size === 0) return body;
  return withDefinitions({ ...body, ...ownTools(body, toolset) }, definitions(toolset, known));
}

function ownTools(body: JsonObject, toolset: Toolset): JsonObject {
  return isLegacy(body) ? {} : { tools: clientToolsOnly(list(body.tools), toolset) };
}

/** The body with these tools too, except those that it has. */
export function withFound<Body extends JsonObject>(body: Body, found: readonly ToolDefinition[]): Body {
  const names = chatToolNames(body);
  const added = found.filter(({ name }) => !names.has(name));
  return added.length === 0 ? body : withDefinitions(body, added);
}

function withDefinitions<Body extends JsonObject>(body: Body, tools: readonly ToolDefinition[]): Body {
  const functions = tools.map((tool) => ({ parameters: { type: 'object', properties: {} }, ...tool }));
  if (isLegacy(body)) return { ...body, functions: [...list(body.functions), ...functions] };
  return { ...body, tools: [...list(body.tools), ...functions.map((each) => ({ type: 'function', function: each }))] };
}

/** The tools that the body's choice names, and whether it allows only those, or none at all. */
export function chosenTools({ tool_choice: choice, function_call: legacy }: JsonObject) {
  const given = choice ?? legacy;
  if (!isRecord(given)) return { names: [], allows: () => given !== 'none' };
  const { allowed_tools: allowed } = given;
  const names = (isRecord(allowed) ? list(allowed.tools) : [given]).map(nameIn);
  const only = isRecord(allowed) ? new Set(names) : undefined;
  return { names, allows: (name: string) => only?.has(name) ?? true };
}

function nameIn({ function: called, custom, name }: JsonObject): string {
  const named = called ?? custom;
  return plainTextOf(isRecord(named) ? named.name : name);
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
