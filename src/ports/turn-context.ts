/** What has been done to a request before it is answered, so that nobody does it twice. */

import type { JsonObject } from '../protocol/record.ts';
import type { StoredResponse } from './store.ts';
import type { Toolset } from './toolset.ts';

/** The server's own tools that stand in the body. */
export interface InjectedTools {
  readonly toolset: Toolset;
  /** The tools that the client brought, or inherits; undefined where it said nothing of tools. */
  readonly client: readonly JsonObject[] | undefined;
}

/** What was put in front of the client's own input or messages. */
export interface LoadedHistory {
  /** The response that is continued. */
  readonly previous: StoredResponse | undefined;
  /** The id of the conversation that the turn belongs to. */
  readonly conversation?: string | undefined;
  /** The very objects that stand in the body, so that they are told from the client's own wherever they stand now. */
  readonly loaded: readonly unknown[];
}

/** How the host wants silence filled; milliseconds. */
export interface WantedHeartbeat {
  readonly intervalMs: number | undefined;
  readonly style: 'comment' | 'keepalive' | 'ping';
}

/** The note that a middleware leaves in `res.locals.turn`, and each step to the next. */
export interface TurnContext {
  /** Whose request it is, where a middleware was told how to find out. */
  readonly scope?: string;
  readonly requestId?: string;
  readonly tools?: InjectedTools;
  readonly history?: LoadedHistory;
  readonly heartbeat?: WantedHeartbeat;
  /** Whether a router of ours answers, which fills silence itself. */
  readonly handled?: true;
}
