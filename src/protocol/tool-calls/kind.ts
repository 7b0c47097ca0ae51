/** What everyone who meets a tool call has to know of its kind. */

import type { Item, ItemStatus, OutputItem, ToolCallResult, ToolCallType } from '../items.ts';

/** A call of the running turn, as its item shows it. */
export interface ShownCall {
  /** The item's id. */
  readonly id: string;
  readonly callId: string;
  /** The tool as the client knows it. */
  readonly clientTool: { readonly name: string; readonly namespace?: string };
  readonly arguments: string;
  /** The free text or the code that the arguments hold. */
  readonly input: string;
  /** Who runs it, where the server does. */
  readonly owner: { readonly server: string; readonly name: string; readonly container?: string };
  readonly approvalRequestId: string | null;
}

/** A call with its answer, as a model is told of it. */
export interface AnsweredToolCall {
  /** Undefined where the item's own id stands for it. */
  readonly id: unknown;
  readonly name: unknown;
  /** JSON, as the model wrote it; it may be broken. */
  readonly arguments: unknown;
  readonly output: unknown;
  /** Whether the tool itself failed. */
  readonly failed: boolean;
}

/** How the tools of this request are called by the model. */
export interface ModelNames {
  /** Of a server's tool; undefined where the request does not have it. */
  of(server: string, name: string): string | undefined;
  /** Of the tool that serves requests for this type of tool. */
  serving(type: string): string | undefined;
}

/** How an item shows that something happens: who wrote it, and by which names its events go. */
export interface ToolCallKind {
  /** The type of its items, with which the names of its events begin. */
  readonly type: string;
  /** What the ids of its items begin with. */
  readonly idPrefix: string;
  /** Who runs the call: the client, this server, or the model's own server. */
  readonly runBy: 'client' | 'server' | 'upstream';
  /** What the client is shown only where its `include` names it. */
  readonly includable?: string;
}

/** A kind whose arguments the model writes to us. */
export interface WrittenToolCallKind extends ToolCallKind {
  readonly type: ToolCallType;
  /** The type of tool in a request that such a call is of, where it has one of its own. */
  readonly tool?: string;
  /** The item's field for what the model wrote; other than `arguments` it is the one argument of the function too. */
  readonly field: 'arguments' | 'input' | 'code';
  /** What the events of the arguments are called, between `response.` and `.delta` or `.done`. */
  readonly argumentsEvent: string;
  /** Whether the last of these events names the tool. */
  readonly namesTool?: true;
  /** The states that its events tell of, in the order in which they come: opened, running, and ended well or badly. */
  readonly states: {
    readonly opened?: string;
    readonly running?: string;
    readonly completed?: string;
    readonly failed?: string;
  };
  /** The item of a call that has no result. */
  item(call: ShownCall, status: ItemStatus): OutputItem;
  /** The item of a call that the server ran, where one item shows both. */
  finished(call: ShownCall, result: ToolCallResult): OutputItem;
  /** The call in a conversation; `output` is that of its own item, where a client ran it. */
  answered(item: Item, output: unknown): AnsweredToolCall;
  /** Whether the item lacks what the client was not shown of it. */
  lacksResult?(item: Item): boolean;
  /** How the model knows its tool now, where that differs from the item's `name`. */
  modelName?(item: Item, names: ModelNames): string;
}
