/** The port to a model server. */

import type { ModelEvent } from '../protocol/events.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Note } from '../protocol/note.ts';
import type { Limits } from './limits.ts';

/** The context of a call: when to abort it, and the client's headers, none of which is forwarded unless allowed. */
export interface UpstreamCall {
  /** Aborted when the answer is no longer wanted. */
  readonly signal: AbortSignal;
  /** The client's headers. */
  readonly headers: Headers;
  /** The timeouts, in milliseconds, and the sizes, in bytes, that the upstream enforces. */
  readonly limits: Pick<
    Limits,
    'firstByteTimeoutMs' | 'idleTimeoutMs' | 'eventBytes' | 'outputBytes' | 'toolIterations'
  >;
  /** Receives what this upstream could not pass on. */
  readonly note: (note: Note) => void;
  /** Receives each attempt to reach the server, counted from 1, with its host; undefined while nobody reads it. */
  readonly onAttempt?: ((attempt: number, host: string) => void) | undefined;
}

/** The owner of the opaque state in this model's answers. */
export function stateOwnerOf({ name, stateOwner = name }: Upstream, model: string): string {
  return typeof stateOwner === 'function' ? stateOwner(model) : stateOwner;
}

/** The parts of a Chat Completions answer that arrived together: one whole JSON body, or the data of some events. */
export interface ChatBatch {
  /** True for one JSON body, false for events. */
  readonly whole: boolean;
  /** The body, or the data of each event. */
  readonly data: readonly string[];
}

/**
 * A model server. `stream` yields one batch for each stretch of input that arrived together; an empty first batch means
 * that the model accepted the request. It throws `ApiError`: before the first batch if the model refuses, later if the
 * stream breaks. It ends only after a `finish` event.
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
   * Removes the upstream's secrets from an error that was read from such an answer, including those of this call's
   * headers.
   */
  redact?(error: unknown, call?: UpstreamCall): unknown;
  /** The available models, in OpenAI's list shape. */
  models?(call: UpstreamCall): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Closes pooled connections. May be called twice. */
  close?(): Promise<void>;
}
