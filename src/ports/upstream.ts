/** The port to a model server, and what a model is asked. */

import type { ModelEvent } from '../protocol/events.ts';
import type { Item } from '../protocol/items.ts';
import type { Note } from '../protocol/note.ts';
import type { Limits } from './limits.ts';

/** A function that the model may call. */
export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly strict?: boolean;
}

/** Whether and what the model must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** The form that the model's text must take. */
export type TextFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly description?: string;
      readonly schema?: Readonly<Record<string, unknown>>;
      readonly strict?: boolean;
    };

/** One call of a model, free of any wire's spelling. `items` is the whole conversation, history first. */
export interface ModelRequest {
  readonly model: string;
  readonly instructions?: string;
  readonly items: readonly Item[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  readonly textFormat?: TextFormat;
  readonly verbosity?: string;
  readonly reasoningEffort?: string;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** Number of alternatives for each token; undefined asks for no log probabilities. */
  readonly topLogprobs?: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly serviceTier?: string;
  readonly safetyIdentifier?: string;
  readonly promptCacheKey?: string;
  readonly user?: string;
}

/** What goes with a call: when to give it up, and the client's headers, none of which is forwarded unless allowed. */
export interface UpstreamCall {
  readonly signal: AbortSignal;
  readonly headers: Headers;
  readonly limits: Pick<Limits, 'firstByteTimeoutMs' | 'idleTimeoutMs' | 'eventBytes'>;
  /** Is told of what this upstream could not pass on. */
  readonly note: (note: Note) => void;
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
