/** The interface of a type of tool call, and of a client's own tool. */
import type { z } from 'zod';
import type {
  FilePassage,
  Item,
  ItemStatus,
  OutputItem,
  ToolCallResult,
  ToolCallType,
  WebResult,
  WrittenFile,
} from '../items.ts';
import type { ToolDefinition } from '../model-request.ts';
import type { JsonObject } from '../record.ts';

/** A call of the running turn, as its item shows it. */
export interface ShownCall {
  /** The item's id. */
  readonly id: string;
  readonly callId: string;
  /** The client's name for the tool. */
  readonly clientTool: { readonly name: string; readonly namespace?: string };
  readonly arguments: string;
  /** The free text or the code in the arguments. */
  readonly input: string;
  /** The tool's owner, if the server runs it. */
  readonly owner: { readonly server: string; readonly name: string; readonly container?: string };
  readonly approvalRequestId: string | null;
  /** Further fields of the item, such as who made the call. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A call with its answer, as a model receives it. */
export interface AnsweredToolCall {
  /** Undefined if the item's own id replaces it. */
  readonly id: unknown;
  readonly name: unknown;
  /** JSON, as the model wrote it; it may be invalid. */
  readonly arguments: unknown;
  readonly output: unknown;
  /** Whether the tool itself failed. */
  readonly failed: boolean;
}

/** The model's names for the tools of this request. */
export interface ModelNames {
  /** For a server-run tool; undefined if the request does not have it. */
  of(server: string, name: string): string | undefined;
  /** For the tool that serves requests for this type of tool. */
  serving(type: string): string | undefined;
}

/** What a client wants to be shown of items of one type. */
interface Included {
  /** Whether the client's `include` names the field. */
  has(field: string): boolean;
  /** Whether the item is one of many: a page leaves out more than the response itself. */
  readonly isPage: boolean;
}

/** How an item shows an action: who wrote it, and the names of its events. */
export interface ToolCallKind {
  /** The type of its items, which is also the prefix of its events' names. */
  readonly type: string;
  /** The prefix of its items' ids. */
  readonly idPrefix: string;
  /** Who runs the call: the client, this server, or the model's own server. */
  readonly runBy: 'client' | 'server' | 'upstream';
  /** Whether the item ends before the call has run, so that its result, and what it calls itself, follow it. Default: only for a client's. */
  readonly endsBeforeResult?: true;
  /** Whether its `call_id` is one of ours, whatever the model's server gave it: later requests find it by that alone, and some servers repeat theirs. */
  readonly hasOwnCallId?: true;
  /** The item as a client is shown it. Default: with all of its fields. */
  shown?(item: Item, included: Included): Item;
  /** The kind of a call that the model's own server ran, if the item itself shows that it did. */
  upstreamKind?(item: { readonly results?: unknown }): ToolCallKind | undefined;
  /** Whether the model's own server may have run the call, and the item does not show it. */
  readonly mayRunUpstream?: true;
}

/** The item by which a client answers a call. */
interface AnswerItem {
  readonly type: string;
  /** The id of the call that an answer without `call_id` is for. */
  callIdOf?(item: JsonObject): unknown;
  /** What the model receives of it. Default: its `output`. */
  outputOf?(item: Item): unknown;
  /** The fields of an answer with only this text, where the client has sent none. */
  missing(text: string): JsonObject;
}

/** An event of the stream about an item, without the item's place; an `item_id` is written only where the event has one. */
export type ItemEvent = JsonObject & { readonly type: string };

/** A type of tool that runs in a container. */
interface ContainerTool {
  /** The id of the container that a request's tool names; undefined if it leaves the choice to the server. */
  idIn(tool: JsonObject): string | undefined;
  /** The ids of the uploaded files that it wants there, unchecked. */
  fileIdsIn(tool: JsonObject): unknown;
  /** The field of the tool that has them. */
  readonly fileIdsField: string;
  /** The container that an item of a call names. */
  containerOf(item: Item): unknown;
  /** What models are told that a file is in, such as `the code interpreter`. */
  readonly place: string;
}

/** A call type whose arguments the model sends to this server. */
export interface WrittenToolCallKind extends ToolCallKind {
  readonly type: ToolCallType;
  /** The type of tool in a request that such a call belongs to, if it has its own. */
  readonly tool?: string;
  /** Older and dated names of that type in requests. */
  readonly toolAliases?: readonly string[];
  /** What the fields of a request's tool of this type must be. Default: it is kept unchecked. */
  readonly toolSchema?: () => z.ZodType;
  /** The same for an item that a client sends. */
  readonly itemSchema?: () => z.ZodType;
  /**
   * The fields of a request's tool of this type that restrict it and that whoever runs it here keeps to, or that have names of the
   * client's own below them; of a restricting field whose inner fields are named, each inner one restricts. Undefined for types that no server runs.
   */
  readonly keptTerms?: readonly string[];
  /** The item's field for the model's text; if it is not `arguments`, it is also the one argument of the function. */
  readonly field: 'arguments' | 'input' | 'code';
  /** The name of the arguments' events, between `response.` and `.delta` or `.done`; without one there are none. */
  readonly argumentsEvent?: string;
  /** Whether the last of these events names the tool. */
  readonly namesTool?: true;
  /** The states that its events report, in order: opened, running, completed and failed. */
  readonly states: {
    readonly opened?: string;
    readonly running?: string;
    readonly completed?: string;
    readonly failed?: string;
  };
  /** Set for a type that runs in a container. */
  readonly container?: ContainerTool;
  /** The item of a call without a result. */
  item(call: ShownCall, status: ItemStatus): OutputItem;
  /** The arguments that run, where the item reads more forms of them than the tool's schema has. Default: as the model wrote them. */
  runArguments?(text: string): string;
  /** What the stream has besides once the arguments are complete. */
  completeEvents?(call: Pick<ShownCall, 'arguments'>): readonly ItemEvent[];
  /** The item of a call that the server ran, for types whose item shows the result. Default: the completed item. */
  finished?(call: ShownCall, result: ToolCallResult): OutputItem;
  /** The type that shows such calls to clients that know no calls of servers; undefined for this type itself. */
  readonly plainAs?: 'function_call';
  /** The item that follows the call with its result, for types that have one; without a result it is in progress. */
  readonly outputItem?: {
    readonly idPrefix: string;
    item(
      call: { readonly callId: string; readonly owner: ShownCall['owner'] } & Pick<ShownCall, 'fields' | 'arguments'>,
      id: string,
      result: ToolCallResult | undefined,
    ): OutputItem;
    /** What the stream has between the beginning of that item and its end. */
    events?(item: OutputItem): readonly ItemEvent[];
  };
  /**
   * The call in a conversation; `output` is what its own output item holds, if it has one. Undefined for an item that
   * the model receives in another form, or that the model's own server made.
   */
  answered(item: Item, output: unknown): AnsweredToolCall | undefined;
  /** The item by which the client answers the call, for types that it must answer. */
  readonly answeredBy?: AnswerItem;
  /** The function that the model is offered for a request's tool of this type; undefined if the client cannot run it. */
  functionFor?(tool: JsonObject): ToolDefinition | undefined;
  /** What replaces the images of the result for a model that must not see them; undefined if there are none. */
  outputWithoutImages?(item: Item): string | undefined;
  /** Whether the item shows what the call has come to, even if that is nothing. Default: unless it lacks a result. */
  hasResult?(item: Item): boolean;
  /** Whether the item lacks what the client was not shown. */
  lacksResult?(item: Item): boolean;
  /** What an answer may cite of the results, in an item of this turn. */
  citable?(item: Item): Citable;
  /** The called tool, if the item names it: with its server or namespace, where it has one. */
  calledTool?(item: Item): CalledTool;
  /** The model's current name for the tool, if it differs from the item's `name`; undefined to leave the item as it is. */
  modelName?(item: Item, names: ModelNames): string | undefined;
}

/** Results that an answer may cite. */
interface Citable {
  readonly pages?: readonly WebResult[];
  readonly files?: readonly FilePassage[];
  /** Files in a container. */
  readonly written?: readonly ContainerFileLink[];
}

/** A file in a container, to which a text may link. */
export interface ContainerFileLink extends WrittenFile {
  readonly container_id: string;
}

/** A tool, as an item of its call names it. */
export interface CalledTool {
  readonly server: string | undefined;
  readonly name: string;
}

/** The client's name and form of its tool; models use only functions without namespaces. */
export interface ToolForm {
  /** The tool's type: a custom tool takes free text, and the others have calls of their own types. */
  readonly kind: 'function' | 'custom' | 'shell' | 'local_shell' | 'apply_patch' | 'tool_search';
  readonly name: string;
  readonly namespace?: string;
  /** Whether a search found it outside of any namespace: its calls name itself as their namespace, as OpenAI's do. */
  readonly isFound?: boolean;
}
