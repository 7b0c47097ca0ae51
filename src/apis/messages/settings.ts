/** What the Messages API needs of the host's options and of the other rooms. */

import type { GuardingSettings } from '../../engine/guarding/request/guards-of.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { Lifetime } from '../../engine/turn/lifetime.ts';
import type { Turn } from '../../engine/turn/run-turn.ts';
import type { Budget } from '../../ports/budget.ts';
import type { Reports, RequestInfo } from '../../ports/hooks.ts';
import type { Sealer } from '../../ports/sealer.ts';
import type { TokenCounter, TokenCounting } from '../../ports/token-counter.ts';
import type { WantedHeartbeat } from '../../ports/turn-context.ts';
import type { Upstream } from '../../ports/upstream.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { EndpointSettings } from '../endpoint/endpoint.ts';
import type { Prepare, PrepareSettings } from '../endpoint/prepare.ts';

/** The settings of one request to the Messages API. */
export interface MessagesSettings extends PrepareSettings, EndpointSettings, GuardingSettings {
  readonly hooks: Reports;
  readonly upstream: Upstream;
  readonly stateSealer: Sealer;
  readonly countTokens: TokenCounter;
  readonly tokenCounting: TokenCounting;
  readonly budget?: Budget | undefined;
  readonly heartbeat: WantedHeartbeat;
  /** The turns that run, whichever API began them. */
  readonly turns: Activity;
  /** Whether clients see the calls of tools that they did not name. */
  readonly toolItems: 'hidden' | 'shown';
  readonly pipeline: ItemsPipeline;
}

/** Runs a request in the form of items, whose body is that of the Responses API. Throws `ApiError`. */
interface ItemsPipeline {
  /** Adds the server-run tools to its context. */
  readonly injectTools: Prepare;
  /** A turn that is ready to run; the lifetime ends it. */
  readonly prepareTurn: (request: EndpointRequest, life: Lifetime, upstream: Upstream) => Promise<ItemsTurn>;
  /** The request as the model would receive it. */
  readonly modelRequest: (request: EndpointRequest) => Promise<ModelRequest>;
}

/** A turn, and what hooks receive of it. */
interface ItemsTurn {
  readonly info: RequestInfo;
  readonly turn: Turn;
}
