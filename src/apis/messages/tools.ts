/** Reads the tools of a Messages request, as its messages change them, as tools of the Responses API, which this server can offer and run. */

import { toolDefinitions } from '../../engine/tools/toolset.ts';
import type { Toolset } from '../../ports/toolset.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../protocol/record.ts';
import { CODE_INTERPRETER } from '../../protocol/tool-calls/code-interpreter-call.ts';
import { WEB_SEARCH } from '../../protocol/tool-calls/web-search-call.ts';
import { fault } from './request/faults.ts';
import type { MessagesBody } from './request/schema.ts';
import { otherTerms, webTool, webToolNames } from './web-terms.ts';

/**
 * The tools that the client asks for, as the Responses API has them. Throws `ApiError` for terms of an MCP server that
 * cannot be met, where such servers are opened here.
 */
export function requestedTools(body: MessagesBody, opensServers: boolean): readonly JsonObject[] {
  const tools = offeredTools(body);
  // One for each of Anthropic's tools, under its name without the date.
  const hosted = new Map<string, JsonObject>();
  for (const tool of tools) {
    const type = hostedType(tool);
    if (type === undefined) continue;
    const dated = plainText(tool.type);
    const kind = dated.slice(0, dated.lastIndexOf('_'));
    const code = () => ({ ...otherTerms(tool), type, container: { type: 'auto' } });
    hosted.set(kind, type === WEB_SEARCH ? webTool(kind, tool) : code());
  }
  return [...tools.flatMap(clientTool), ...hosted.values(), ...(opensServers ? serverTools(body, tools) : [])];
}

/** The tools as Anthropic has them, with those that the server runs in the place of its own; what it does not run is left to the next handler. */
export function withServerRun(tools: readonly JsonObject[], toolset: Toolset): readonly JsonObject[] {
  const served = new Set([...toolset.values()].map(({ tool }): unknown => tool.requestedBy));
  const isServed = (type: unknown) => type !== undefined && served.has(type);
  const own = tools.filter((tool) => !isServed(hostedType(tool)));
  const added = toolDefinitions(toolset).map(({ name, description, parameters }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: { type: 'object', ...parameters },
  }));
  return [...own, ...added];
}

/** Notes the tools and servers that nobody here knows. */
export function noteUnknownTools(body: MessagesBody, opensServers: boolean, note: (note: Note) => void): void {
  const unknown = (body.tools ?? []).filter(
    (tool) => clientTool(tool).length === 0 && hostedType(tool) === undefined && tool.type !== 'mcp_toolset',
  );
  const types = unknown.map(({ type }) => plainText(type).slice(0, 100));
  for (const type of [...types, ...(body.mcp_servers?.length && !opensServers ? ['mcp'] : [])])
    note({
      code: 'tool_dropped',
      message: `Tools of type '${type}' cannot be run here; the model is not offered it.`,
    });
}

/** The hosted tools behind Anthropic's server tools, whose types end in a date. */
const HOSTED: readonly (readonly [RegExp, string])[] = [
  [/^web_(search|fetch)_\d{1,8}$/, WEB_SEARCH],
  [/^code_execution_\d{1,8}$/, CODE_INTERPRETER],
];

function hostedType({ type }: JsonObject): string | undefined {
  return HOSTED.find(([pattern]) => pattern.test(plainText(type)))?.[1];
}

/**
 * Tools of Anthropic's that the client runs, and whose arguments its models know without a schema. Which of them the host serves is not
 * known here yet: `prepare.ts` and `inject.ts` learn it afterwards, by `context.tools.served`.
 */
const TRAINED: readonly (readonly [RegExp, string])[] = [
  [/^bash_\d{1,8}$/, 'Runs `command` in a persistent bash session; `restart: true` begins a new one.'],
  [
    /^(text_editor|memory)_\d{1,8}$/,
    'Works on text files. `command` is view (path, view_range), create (path, file_text), str_replace (path, old_str, new_str), insert (path, insert_line, insert_text), or for notes also delete (path) and rename (old_path, new_path).',
  ],
];

const COMMANDS = { type: 'object', properties: { command: { type: 'string' } } };

function clientTool(tool: JsonObject): readonly JsonObject[] {
  const { type, name, description, input_schema: parameters, strict, allowed_callers } = tool;
  const callers = allowed_callers === undefined ? {} : { allowed_callers };
  if (type === undefined || type === null || type === 'custom')
    return [
      { type: 'function', name, description, parameters, strict: strict === true ? true : undefined, ...callers },
    ];
  const [, about] = TRAINED.find(([pattern]) => pattern.test(plainText(type))) ?? [];
  if (about === undefined || typeof name !== 'string') return [];
  return [{ type: 'function', name, description: about, parameters: COMMANDS, ...callers }];
}

/** The servers that the request names, as tools of the Responses API. Throws `ApiError` for terms that cannot be met. */
export function serverTools(
  body: MessagesBody,
  tools: readonly JsonObject[] = offeredTools(body),
): readonly JsonObject[] {
  const { mcp_servers: servers } = body;
  const toolsets = new Map(
    tools.filter(({ type }) => type === 'mcp_toolset').map((tool) => [tool.mcp_server_name, tool] as const),
  );
  return (servers ?? []).flatMap((server, index) => {
    const allowed = enabledTools(server, toolsets.get(server.name), index);
    if (allowed?.length === 0) return [];
    return [
      {
        type: 'mcp',
        server_label: server.name,
        server_url: server.url,
        require_approval: 'never',
        ...(server.authorization_token ? { authorization: server.authorization_token } : {}),
        ...(allowed ? { allowed_tools: allowed } : {}),
      },
    ];
  });
}

/** The names that are enabled; undefined for all, empty for none. */
function enabledTools(
  server: JsonObject,
  toolset: JsonObject | undefined,
  index: number,
): readonly unknown[] | undefined {
  const { tool_configuration: older } = server;
  if (isRecord(older) && older.enabled === false) return [];
  if (isRecord(older) && Array.isArray(older.allowed_tools)) return older.allowed_tools;
  const { default_config: usual, configs, tools: pinned } = toolset ?? {};
  const each = isRecord(configs) ? Object.entries(configs) : [];
  const isOff = (config: unknown) => isRecord(config) && config.enabled === false;
  const isOn = (config: unknown) => (isRecord(config) && config.enabled === true) || !(isOff(usual) || isOff(config));
  if (Array.isArray(pinned)) {
    const known = new Map(each);
    return pinned.filter(isRecord).flatMap(({ name }) => (isOn(known.get(plainText(name))) ? [name] : []));
  }
  if (isOff(usual)) return each.filter(([, config]) => isOn(config)).map(([name]) => name);
  // To allow all tools but some, their names would have to be known here.
  if (each.some(([, config]) => isOff(config)))
    throw fault(
      `mcp_servers.${index}`,
      'single tools cannot be disabled here; set `default_config.enabled` to false and enable the others',
    );
  return undefined;
}

/** The request's tools as the Responses API has them, and those of them that the server runs. */
interface ChoosableTools {
  readonly tools: readonly JsonObject[];
  readonly toolset: Toolset;
}

/** `tool_choice` and `parallel_tool_calls`. Throws `ApiError` for a choice that cannot be met. */
export function toolChoiceFields(
  { tool_choice: choice, tools: listed }: MessagesBody,
  { tools, toolset }: ChoosableTools,
): JsonObject {
  if (!choice) return {};
  const { type, name, disable_parallel_tool_use: single } = choice;
  const parallel = single === true ? { parallel_tool_calls: false } : {};
  if (type === 'auto' || type === 'none') return { tool_choice: type, ...parallel };
  if (!listed?.length) throw fault('tool_choice', '`tool_choice` may only be specified while providing `tools`');
  if (type === 'any') return { tool_choice: 'required', ...parallel };
  const called = plainText(name);
  // A middleware in front may have put tools of the server in the place of Anthropic's, under other names.
  const hosted = hostedType({ type: `${called}_0` });
  const isHosted = tools.some((tool) => tool.type === hosted && (tool.name === undefined || tool.name === called));
  if (hosted !== undefined && isHosted) {
    const [only, ...others] = hosted === WEB_SEARCH ? webToolNames(toolset, called) : [];
    // Both of Anthropic's web tools are one of the Responses API, of which the choice is to force one half.
    const isSingle = only !== undefined && others.length === 0;
    return { tool_choice: isSingle ? { type: 'function', name: only } : { type: hosted }, ...parallel };
  }
  if (!listed.some((each) => each.name === name))
    throw fault('tool_choice', `Tool '${called.slice(0, 100)}' not found in provided tools`);
  return { tool_choice: { type: 'function', name }, ...parallel };
}

/** The tools after the last message's changes. Skips invalid entries, since the messages may not have been validated yet. */
function offeredTools({ tools, messages }: MessagesBody): readonly JsonObject[] {
  const listed = tools ?? [];
  // This server runs no tool search for Anthropic's, so the model is offered all of them.
  if (listed.some(({ type }) => plainText(type).startsWith('tool_search_tool_'))) return listed;
  const all = new Map<unknown, JsonObject>(listed.map((tool, index) => [tool.name ?? index, tool]));
  const hidden = new Set<unknown>();
  for (const [key, { defer_loading: isDeferred }] of all) if (isDeferred === true) hidden.add(key);
  // Results of the client's own search hold references, system messages the other changes.
  const blocks = recordsIn(messages)
    .flatMap(({ content }) => recordsIn(content))
    .flatMap((block) => (block.type === 'tool_result' ? recordsIn(block.content) : [block]));
  for (const block of blocks) {
    if (!CHANGES.has(block.type)) continue;
    const tool = isRecord(block.tool) ? block.tool : {};
    const { definition } = tool;
    if (isRecord(definition)) all.set(definition.name, definition);
    const name = block.tool_name ?? (isRecord(definition) ? definition.name : tool.name);
    if (block.type === 'tool_removal') hidden.add(name);
    else hidden.delete(name);
  }
  return hidden.size === 0 && all.size === listed.length
    ? listed
    : [...all].flatMap(([key, tool]) => (hidden.has(key) ? [] : [tool]));
}

const CHANGES: ReadonlySet<unknown> = new Set(['tool_reference', 'tool_addition', 'tool_removal']);
