/** The port to a model server. */

import type { ModelEvent } from '../protocol/events.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Note } from '../protocol/note.ts';
import type { Limits } from './limits.ts';

/** What goes with a call: when to give it up, and the client's headers, none of which is forwarded unless allowed. */
export interface UpstreamCall {
  readonly signal: AbortSignal;
  readonly headers: Headers;
  readonly limits: Pick<
    Limits,
    'firstByteTimeoutMs' | 'idleTimeoutMs' | 'eventBytes' | 'outputBytes' | 'toolIterations'
  >;
  /** Is told of what this upstream could not pass on. */
  readonly note: (note: Note) => void;
}

/** Whose state the answers of this model hold. */
export function stateOwnerOf({ name, stateOwner = name }: Upstream, model: string): string {
  return typeof stateOwner === 'function' ? stateOwner(model) : stateOwner;
}

/** What arrived together of a Chat Completions answer: one whole JSON body, or the data of some events. */
export interface ChatBatch {
  readonly whole: boolean;
  readonly data: readonly string[];
}

/**
 * A model server. `stream` yields one batch for each stretch of input that arrived together; an empty first batch
 * says that the model took the request. It throws `ApiError`: before the first batch where the model refuses, later
 * where the stream breaks. It ends only after a `finish` event.
 */
export interface Upstream {
  readonly name: string;
  /**
   * Whose state `reasoning-end` and `search-end` tell of: it is given back to this owner and to nobody else. One that hands
   * requests on answers for each model. No secret may be in it. Default: the name.
   */
  readonly stateOwner?: string | ((model: string) => string) | undefined;
  stream(request: ModelRequest, call: UpstreamCall): AsyncIterable<readonly ModelEvent[]>;
  /**
   * Posts a Chat Completions body as it is and yields the answer as it is, `[DONE]` and errors in it included. Upstreams
   * of another kind have none.
   */
  chat?(body: Readonly<Record<string, unknown>>, call: UpstreamCall): AsyncIterable<ChatBatch>;
  /** Takes the upstream's secrets out of an error that was read from such an answer, those of this call's headers too. */
  redact?(error: unknown, call?: UpstreamCall): unknown;
  /** The models on offer, in OpenAI's list shape. */
  models?(call: UpstreamCall): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Closes pooled connections. May be called twice. */
  close?(): Promise<void>;
}
