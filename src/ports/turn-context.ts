/** Records which preparation a request has already had, so that no step is repeated. */

import type { McpApprovalRequestItem } from '../protocol/items.ts';
import type { JsonObject } from '../protocol/record.ts';
import type { Budget, BudgetedTurn } from './budget.ts';
import type { Prompt } from './prompts.ts';
import type { StoredResponse } from './store.ts';
import type { Toolset } from './toolset.ts';

/** A call as it will run once it is approved: the item that requests that, and its server's address. */
export interface PendingCall {
  readonly request: McpApprovalRequestItem;
  /** The URL of a server that the request named; null for one of the host's own. */
  readonly url: string | null;
}

/** The server-run tools that are in the body. */
export interface InjectedTools {
  readonly toolset: Toolset;
  /** The tools that the client brought, or inherits; undefined if its request has no tools field. */
  readonly client: readonly JsonObject[] | undefined;
  /** The types of the request's tools that the host serves, on whatever terms. */
  readonly served?: ReadonlySet<unknown> | undefined;
  /** The names of the host's tools that the request's own terms leave out: no call of them is made or shown. */
  readonly denied?: ReadonlySet<string> | undefined;
  /** Whether servers that the request names by URL have not been opened: the next handler may do so. */
  readonly leavesServers?: boolean | undefined;
}

/** The history that precedes the client's own input or messages. */
export interface LoadedHistory {
  /** The response that this request continues. */
  readonly previous: StoredResponse | undefined;
  /** The id of the conversation that the turn belongs to. */
  readonly conversation?: string | undefined;
  /** The same objects as in the body, so that they can be distinguished from the client's own wherever they are now. */
  readonly loaded: readonly unknown[];
}

/** The host's settings for filling idle time; milliseconds. */
export interface WantedHeartbeat {
  readonly intervalMs: number | undefined;
  readonly style: 'comment' | 'keepalive' | 'ping';
}

/** The context that a middleware leaves in `res.locals.turn`, and each step passes to the next. */
export interface TurnContext {
  /** The request's tenant, if a middleware was given a way to determine it. */
  readonly scope?: string;
  readonly requestId?: string;
  /** The random part of the response's id, if that response exists already. */
  readonly seed?: string;
  /** The calls that the user approves by it, where a process that is gone has used the approvals up. */
  readonly approved?: readonly PendingCall[];
  /** The prompt that the body names, as it was found: another process may find a newer version. */
  readonly prompt?: Prompt;
  readonly tools?: InjectedTools;
  readonly history?: LoadedHistory;
  readonly heartbeat?: WantedHeartbeat;
  /** The budgets from which the request was taken. Whoever counts a turn takes it out, so that it counts once. */
  readonly budgets?: Map<Budget, BudgetedTurn>;
  /** The guards of middlewares, which have seen the request: the nearest to the router comes first. */
  readonly guards?: readonly object[];
  /** Whether a middleware stores the answer by its id. */
  readonly recorded?: true;
  /** The items of the body that the guards of the router have seen, too. */
  readonly guarded?: ReadonlySet<unknown>;
  /** Whether one of this package's routers answers, which sends its own heartbeats. */
  readonly handled?: true;
}

/** What the preparation of a request has found that another process would not find again, or not the same. */
export type Preparation = Pick<TurnContext, 'approved' | 'prompt'>;
