/** A dialect: how one kind of server spells the Responses API, as a rewriting of this package's events and resources, and how it shows them. */

import type { ErrorBody } from '../protocol/errors.ts';
import type { WireEvent } from '../protocol/events.ts';
import type { JsonObject } from '../protocol/record.ts';
import type { WantedHeartbeat } from './turn-context.ts';

/** The information that a dialect has about the stream that it rewrites. */
export interface StreamFacts {
  /** Whether the server runs the tool of this name. */
  readonly isServerTool: (name: string) => boolean;
}

/** The differences of a dialect; an omitted field is as in OpenAI's own. */
export interface Dialect {
  readonly name: DialectName;
  /** Defaults for options; an option that the host sets wins. */
  readonly presentation?: Partial<Presentation>;
  /** The frames in a stream besides the events. */
  readonly stream?: StreamManners;
  /** Begins a response; each of its events is rewritten as none, one or several. */
  readonly rewriter?: (facts: StreamFacts) => (event: WireEvent) => readonly WireEvent[];
  /** Rewrites a whole response that is sent as JSON, now or when it is retrieved. */
  readonly resource?: (resource: JsonObject) => JsonObject;
  /** Rewrites an error that is sent with a status. */
  readonly errorBody?: (error: ErrorBody) => JsonObject;
  /** Whether tool outputs may be submitted to a response that waits for them. */
  readonly submitsToolOutputs?: boolean;
  /** Whether an output whose call is unknown gets a call, by which the model can read it; elsewhere it is refused. */
  readonly completesOrphans?: boolean;
}

/** The frames in a stream besides the events. */
interface StreamManners {
  /** Whether `[DONE]` ends it. */
  readonly done: boolean;
  /**
   * Whether some heartbeats are events although the rest are comments, for clients whose idle timers do not see
   * comments.
   */
  readonly keepalive: boolean;
}

/** The dialects, by the systems that use them. */
export type DialectName = 'openai' | 'open-responses-server' | 'vllm-responses' | 'tokligence';

/** How responses are shown; a dialect may have its own defaults. */
export interface Presentation {
  readonly mcpItems: 'mcp_call' | 'function_call';
  readonly reasoning: 'summary' | 'text' | 'spec';
  readonly heartbeat: WantedHeartbeat;
  readonly queuedEvent: boolean;
  /** Whether clients are shown which tools a tool server has. */
  readonly listsTools: boolean;
}
