/** All types of tool calls: a new one is a file in this folder, and a line here. */
import type { z } from 'zod';
import { originOfItem } from '../ids.ts';
import type { Item, ToolCallType } from '../items.ts';
import { isPresent, isRecord, type JsonObject, plainText } from '../record.ts';
import { applyPatchCall } from './apply-patch-call.ts';
import { codeInterpreterCall } from './code-interpreter-call.ts';
import { customToolCall } from './custom-tool-call.ts';
import { fileSearchCall } from './file-search-call.ts';
import { functionCall } from './function-call.ts';
import { imageGenerationCall } from './image-generation-call.ts';
import type { AnsweredToolCall, ToolCallKind, ToolForm, WrittenToolCallKind } from './kind.ts';
import { mcpCall } from './mcp-call.ts';
import { multiAgentCall } from './multi-agent-call.ts';
import { toModelSafeName } from './names/tool-names.ts';
import { programCall } from './program-call.ts';
import { hostedShellCall, isHostedShell, localShellCall, SHELL, shellCall } from './shell-calls.ts';
import { clientToolSearchCall, TOOL_SEARCH, toolSearchCall } from './tool-search-call.ts';
import { webSearchCall } from './web-search-call.ts';

/** The call types by the type of their items. */
export const CALL_KINDS: Readonly<Record<ToolCallType, WrittenToolCallKind>> = {
  function_call: functionCall,
  custom_tool_call: customToolCall,
  mcp_call: mcpCall,
  code_interpreter_call: codeInterpreterCall,
  program: programCall,
  tool_search_call: toolSearchCall,
  image_generation_call: imageGenerationCall,
  shell_call: hostedShellCall,
  local_shell_call: localShellCall,
  apply_patch_call: applyPatchCall,
  web_search_call: webSearchCall,
  file_search_call: fileSearchCall,
  multi_agent_call: multiAgentCall,
};

/** The call types of tools that the client runs. */
export const CLIENT_CALL_KINDS: Readonly<Record<ToolForm['kind'], WrittenToolCallKind>> = {
  function: functionCall,
  custom: customToolCall,
  shell: shellCall,
  local_shell: localShellCall,
  apply_patch: applyPatchCall,
  tool_search: clientToolSearchCall,
};

const KIND_BY_TYPE: ReadonlyMap<string, WrittenToolCallKind> = new Map(Object.entries(CALL_KINDS));

/** An item, of which only the fields that decide its type are read. */
interface TypedItem {
  readonly type: string;
  readonly execution?: unknown;
  readonly environment?: unknown;
  readonly results?: unknown;
}

/** Whether the client runs tools of this type. */
export function isClientTool(type: unknown): type is ToolForm['kind'] {
  return typeof type === 'string' && Object.hasOwn(CLIENT_CALL_KINDS, type);
}

/** The call type of an item; undefined for an item that is not a tool call. */
export function toolCallKind(item: TypedItem): ToolCallKind | undefined {
  const kind = writtenKind(item);
  return kind?.upstreamKind?.(item) ?? kind;
}

/** The same for a call whose arguments a model may have sent to this server. */
export function writtenKind({ type, execution, environment }: TypedItem): WrittenToolCallKind | undefined {
  const kind = KIND_BY_TYPE.get(type);
  if (kind === hostedShellCall) return isHostedShell({ environment }) ? kind : shellCall;
  return kind === toolSearchCall && execution === 'client' ? clientToolSearchCall : kind;
}

/** The call type that shows calls of a tool of this requested type; undefined for other tools. */
export function kindServing(tool: string | undefined): WrittenToolCallKind | undefined {
  return tool === undefined ? undefined : [...KIND_BY_TYPE.values()].find((kind) => kind.tool === tool);
}

/** A call with its answer: that of a client or of a search is a separate item, another tool's is in the same one. */
export function answeredToolCall(item: Item, outputs: ReadonlyMap<Item, Item>): AnsweredToolCall | undefined {
  const answer = outputs.get(item);
  const read = writtenKind(item)?.answered(item, answer && (callOutput(answer) ?? answer.tools));
  // An item of the running turn may have the arguments besides what it shows of them.
  const call = read && typeof item.arguments === 'string' ? { ...read, arguments: item.arguments } : read;
  return call && answer?.is_error === true ? { ...call, failed: true } : call;
}

/** A computer, which a client uses for a model of another server: the names of the tool in requests, of its calls, and of their answers. */
const COMPUTERS = ['computer', 'computer_use_preview', 'computer_use'] as const;
export const COMPUTER_CALL = 'computer_call';
export const COMPUTER_OUTPUT = 'computer_call_output';

const TYPE_BY_ALIAS: ReadonlyMap<unknown, string> = new Map([
  ...Object.values(CALL_KINDS).flatMap(({ tool, toolAliases = [] }) =>
    tool === undefined ? [] : toolAliases.map((alias) => [alias, tool] as const),
  ),
  ...COMPUTERS.map((alias) => [alias, COMPUTERS[0]] as const),
]);

/** The type of a tool as `requestedBy` names it: some types have several names in requests. */
export function requestedType(type: unknown): unknown {
  return TYPE_BY_ALIAS.get(type) ?? type;
}

/** The same for a tool of a request; undefined for a shell that its client runs, which nobody serves here. */
export function servedType(tool: JsonObject): unknown {
  return tool.type === SHELL && !isHostedShell(tool) ? undefined : requestedType(tool.type);
}

/** Whether the tool is a computer. */
export function isComputer(type: unknown): boolean {
  return requestedType(type) === COMPUTERS[0];
}

/** The call types that run in a container. */
export const CONTAINER_KINDS: readonly WrittenToolCallKind[] = Object.values(CALL_KINDS).filter(
  ({ container }) => container !== undefined,
);

/** The schemas of items that clients send, by their type. */
export function callItemSchemas(): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(
    Object.values(CALL_KINDS).flatMap(({ type, itemSchema }) => (itemSchema ? [[type, itemSchema()]] : [])),
  );
}

/** The schemas of tools that requests bring, by their type. */
export function hostedToolSchemas(): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(
    Object.values(CALL_KINDS).flatMap(({ tool, toolSchema }) =>
      tool !== undefined && toolSchema ? [[tool, toolSchema()]] : [],
    ),
  );
}

const ANSWER_BY_TYPE: ReadonlyMap<string, NonNullable<WrittenToolCallKind['answeredBy']>> = new Map(
  Object.values(CALL_KINDS).flatMap(({ answeredBy: answer }) => (answer ? [[answer.type, answer]] : [])),
);

/** Whether the item is a call that the client must answer. */
export function isClientAnsweredCall(item: TypedItem): boolean {
  return writtenKind(item)?.answeredBy !== undefined;
}

/** Whether the call waits for the client: of those that an item of their own answers, this server runs some itself. */
export function isOpenClientCall(item: TypedItem & JsonObject): boolean {
  if (item.status === 'incomplete') return false;
  if (item.type === COMPUTER_CALL) return true;
  const kind = writtenKind(item);
  if (kind?.runBy !== 'client') return false;
  return kind.answeredBy !== undefined || kind === clientToolSearchCall;
}

/** Whether the item is the client's answer to a call. */
export function isClientAnswer(item: TypedItem & JsonObject): boolean {
  if (item.type === COMPUTER_OUTPUT) return true;
  return isCallOutput(item) || (item.type === 'tool_search_output' && isPresent(item.call_id));
}

/** The type of the item that answers such a call. */
export function answerType(call: TypedItem): string {
  if (call.type === COMPUTER_CALL) return COMPUTER_OUTPUT;
  return writtenKind(call)?.answeredBy?.type ?? 'tool_search_output';
}

/** Whether the client itself runs the call: a shell may also be one of a container of the model's own server. */
export function isClientCall(item: TypedItem & JsonObject): boolean {
  if (item.type === COMPUTER_CALL) return true;
  const isElsewhere = isRecord(item.environment) && item.environment.type !== 'local';
  return writtenKind(item)?.runBy === 'client' && !isElsewhere;
}

/** The model's name for the tool of such a call. */
export function calledToolName(item: TypedItem & JsonObject): string {
  const kind = writtenKind(item);
  if (kind === clientToolSearchCall) return TOOL_SEARCH;
  return kind?.tool ?? toModelSafeName(plainText(item.name ?? item.type));
}

/** Whether the item answers such a call. */
export function isCallOutput({ type }: Pick<Item, 'type'>): boolean {
  return ANSWER_BY_TYPE.has(type);
}

/** The id of the call that the item answers. */
export function answeredId(item: TypedItem & JsonObject): unknown {
  return item.call_id ?? ANSWER_BY_TYPE.get(item.type)?.callIdOf?.(item);
}

/** What a model receives of an item that answers a call. */
export function callOutput(item: Item): unknown {
  const read = ANSWER_BY_TYPE.get(item.type)?.outputOf;
  return read ? read(item) : item.output;
}

/** Which fields of an item a client is shown. */
export type PresentItem = (item: Item) => Item;

/**
 * From the client's `include`, that of the body besides that of the query: outputs of code and results of searches are kept for the
 * model, and may have megabytes. SDKs write `include[]`, and not every framework removes the brackets.
 */
export function queryPresenter(query: JsonObject, isPage = false, inBody: unknown = []): PresentItem {
  const included = new Set([inBody, query.include ?? query['include[]']].flat());
  return (item) => {
    // What the model's own server shows, it shows as the client asked.
    if (originOfItem(item.id) !== undefined) return item;
    const has = (field: string) => included.has(`${item.type}.${field}`);
    return toolCallKind(item)?.shown?.(item, { has, isPage }) ?? item;
  };
}
