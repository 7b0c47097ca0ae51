/** The port to a model server. */

import type { ModelEvent } from '../protocol/events.ts';
import type { ModelFacts } from '../protocol/model-facts.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Note } from '../protocol/note.ts';

/** What an upstream enforces in one call: times in milliseconds, sizes in UTF-8 bytes. */
export interface UpstreamLimits {
  /** From the request to the model server's first byte. */
  readonly firstByteTimeoutMs: number;
  /** Time without output from the model server afterwards. */
  readonly idleTimeoutMs: number;
  /** One event of the model server's stream, which may hold an image. */
  readonly eventBytes: number;
  /** Everything the model writes, which an upstream that must hold it back bounds itself. */
  readonly outputBytes: number;
  /** How often an upstream may continue an answer that the model server pauses. */
  readonly toolIterations: number;
}

/** The context of a call: when to abort it, and the client's headers, none of which is forwarded unless allowed. */
export interface UpstreamCall {
  /** Aborted when the answer is no longer wanted. */
  readonly signal: AbortSignal;
  /** The client's headers. */
  readonly headers: Headers;
  /** The timeouts and the sizes that the upstream enforces. */
  readonly limits: UpstreamLimits;
  /** Receives what this upstream could not pass on. */
  readonly note: (note: Note) => void;
  /**
   * The most attempts after the first that the upstream makes itself, where another server is at hand. Default: as many
   * as it is set to.
   */
  readonly retries?: number | undefined;
  /** Receives each attempt to reach a server, before it is made; undefined while nobody reads it. It must not throw. */
  readonly onAttempt?: OnAttempt | undefined;
  /** Receives what goes over the wire; undefined while nobody reads it. An upstream that sends no text ignores it. */
  readonly wire?: WireTap | undefined;
}

/** One attempt to reach a model server. */
export interface ModelAttempt {
  /** Counted from 1, over all servers of one model call. */
  readonly attempt: number;
  /** The host and port of the server. */
  readonly host: string;
  /** The host's name for the server, if the upstream chose among several; a path such as `eu/vllm-1`. */
  readonly server?: string;
  /** The code of the error that led to it; absent for the first. */
  readonly after?: string;
}

/** Receives the attempts of a model call. */
export type OnAttempt = (attempt: ModelAttempt) => void;

/** Receives a model call as it goes over the wire, without headers. Neither function may throw. */
export interface WireTap {
  /** The body of the request, as JSON text. */
  sent(body: string): void;
  /** What of the answer has arrived: of an event stream, or of a JSON body. The memory is used again: copy what is kept. */
  received(bytes: Buffer): void;
}

/** The owner of the opaque state in this model's answers. */
export function readStateOwner({ name, stateOwner = name }: Upstream, model: string): string {
  return typeof stateOwner === 'function' ? stateOwner(model) : stateOwner;
}

/** Whether the model's own server speaks Anthropic's Messages API. */
export function speaksMessages(upstream: Upstream, model: string): boolean {
  return upstream.messages !== undefined && (upstream.speaksMessages?.(model) ?? true);
}

/** The parts of an answer, passed on unchanged, that arrived together: one whole JSON body, or the data of some events. */
export interface ChatBatch {
  /** True for one JSON body, false for events. */
  readonly whole: boolean;
  /** The body, or the data of each event. */
  readonly data: readonly string[];
  /** The name of the server that answers, in the first batch of an upstream that chose among several. */
  readonly server?: string;
}

/** A request to any path of the model server, which is passed on as it is. */
export interface PassedRequest {
  /** Such as `POST`. */
  readonly method: string;
  /** Below the server's base URL, with its query, such as `/embeddings`. */
  readonly path: string;
  /** What the client says of its body and of the answer: `content-type`, `accept`, `content-length`. Names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes that may be sent again, or a stream that may not; undefined for none. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Reads the model that the body names; empty if none is known. Throws `ApiError` for a body that cannot be read. */
  readonly readModel: () => string;
  /** The bytes of the body with another name of the model; undefined if the name cannot be changed. */
  readonly renamed?: ((model: string) => Uint8Array) | undefined;
}

/** The answer, whose body is read as fast as it is consumed. */
export interface PassedAnswer {
  /** A success: everything else is thrown. */
  readonly status: number;
  /** Names are lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The bytes as they come. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** The state of one of the servers behind an upstream, without any text of others. */
export interface ModelServerStatus {
  /** The name that the host gave it; of a server behind another upstream, a path such as `eu/vllm-1`. */
  readonly name: string;
  /** `closed` if it takes calls, `open` if it rests after failures, `half-open` if one call at a time may try it. */
  readonly state: 'closed' | 'open' | 'half-open';
  /** Calls that have begun and not ended. */
  readonly inFlight: number;
  /** The code of its last failure; null if there was none. */
  readonly lastError: string | null;
}

/**
 * A model server. `stream` yields one batch for each stretch of input that arrived together; an empty first batch means
 * that the model accepted the request. It throws `ApiError`: before the first batch if the model refuses, later if the
 * stream breaks. It ends only after a `finish` event; an answer without one fails as `upstream_truncated`.
 */
export interface Upstream {
  /** A short name for messages, the status and spans, such as `vllm`. */
  readonly name: string;
  /**
   * The owner of the state in `reasoning-end` and `search-end`: the state is sent back to this owner only. An upstream
   * that forwards requests answers per model. It must not contain a secret. Default: the name.
   */
  readonly stateOwner?: string | ((model: string) => string) | undefined;
  /** Scheme, host and port of the server, for the host's log and status; nothing else, since a path may hold a secret. */
  readonly origin?: string | undefined;
  /** Calls the model. */
  stream(request: ModelRequest, call: UpstreamCall): AsyncIterable<readonly ModelEvent[]>;
  /**
   * Posts a Chat Completions body unchanged and yields the answer unchanged, including `[DONE]` and errors. Other kinds
   * of upstream do not have it.
   */
  chat?(body: Readonly<Record<string, unknown>>, call: UpstreamCall): AsyncIterable<ChatBatch>;
  /**
   * The same for Anthropic's Messages API: posts its body and yields the answer, including errors. `messagesRouter` uses
   * it where no tool of the server is on offer.
   */
  messages?(body: Readonly<Record<string, unknown>>, call: UpstreamCall): AsyncIterable<ChatBatch>;
  /**
   * Sends any other request of the API, with the server's key, and resolves when the answer begins. Throws `ApiError` if the server refuses.
   * `passThroughRouter` uses it.
   */
  pass?(request: PassedRequest, call: UpstreamCall): Promise<PassedAnswer>;
  /** Whether `messages` has this model, of an upstream that chooses among servers. Default: it has all of them. */
  speaksMessages?(model: string): boolean;
  /**
   * Removes the upstream's secrets from an error that was read from such an answer, including those of this call's
   * headers.
   */
  redact?(error: unknown, call?: UpstreamCall): unknown;
  /**
   * The input tokens of a request, counted by the model's own tokenizer and template. Undefined, or an `ApiError`, where the
   * server cannot: the tokens are estimated then.
   */
  countTokens?(request: ModelRequest, call: UpstreamCall): Promise<number | undefined>;
  /**
   * What is known about a model now, without waiting: a server that has not said it yet may be asked meanwhile, and its
   * failure is nobody's. It must not throw.
   */
  facts?(model: string, call: UpstreamCall): ModelFacts;
  /**
   * Of a model whose server speaks the Responses API: whether it takes tools of this type as clients send them, and runs or
   * calls them itself. Undefined for other models, whose servers are offered functions only.
   */
  nativeTypes?(model: string): ((type: string) => boolean) | undefined;
  /** The available models, in OpenAI's list shape, with what is known of each. */
  models?(call: UpstreamCall): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The servers behind this upstream, of one that chooses among several. */
  servers?(): readonly ModelServerStatus[];
  /** Closes pooled connections. May be called twice. */
  close?(): Promise<void>;
}
