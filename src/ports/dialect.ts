/** A dialect: how one kind of server spells the Responses API, as a rewriting of the events and resources of this one. */

import type { ErrorBody } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/record.ts';
import type { WireEvent } from '../protocol/wire-event.ts';
import type { Presentation } from './presentation.ts';

/** What a dialect may ask about the stream that it rewrites. */
export interface StreamFacts {
  /** Whether the server runs the tool of this name. */
  readonly isServerTool: (name: string) => boolean;
}

/** Everything in which a dialect differs; what is left out is as in OpenAI's own. */
export interface Dialect {
  readonly name: DialectName;
  /** What has an option of its own; an option that the host sets wins. */
  readonly presentation?: Partial<Presentation>;
  /** What stands in a stream besides the events. */
  readonly stream?: StreamManners;
  /** Begins a response; each of its events becomes none, one or several. */
  readonly rewriter?: (facts: StreamFacts) => (event: WireEvent) => readonly WireEvent[];
  /** Rewrites a whole response, as it is answered in JSON, now or when it is retrieved. */
  readonly resource?: (resource: JsonObject) => JsonObject;
  /** Rewrites an error as it is answered with a status. */
  readonly errorBody?: (error: ErrorBody) => JsonObject;
  /** Whether tool outputs may be submitted to a response that waits for them. */
  readonly submitsToolOutputs?: boolean;
}

/** What stands in a stream besides the events. */
export interface StreamManners {
  /** Whether `[DONE]` ends it. */
  readonly done: boolean;
  /** Whether a silence that comments fill has events among them, for clients whose idle timers see no comments. */
  readonly keepalive: boolean;
}

/** The dialects, by the systems that speak them. */
export type DialectName = 'openai' | 'open-responses-server' | 'vllm-responses' | 'tokligence';
