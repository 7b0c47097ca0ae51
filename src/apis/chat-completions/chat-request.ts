/** A chat completion that is ready for the model, and the settings that its preparation needs. */

import type { GuardingSettings } from '../../engine/guarding/request/guards-of.ts';
import type { BudgetSettings } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { StoreWriteSettings } from '../../engine/request/keep.ts';
import type { CallRules } from '../../engine/turn/machine/call-permission.ts';
import type { Reports } from '../../ports/hooks.ts';
import type { Limits } from '../../ports/limits.ts';
import type { WantedHeartbeat } from '../../ports/turn-context.ts';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import type { PullStream } from '../../streams/pull-stream.ts';
import type { EndpointSettings } from '../endpoint/endpoint.ts';
import type { PrepareSettings } from '../endpoint/prepare.ts';
import type { Completion } from './answer/completion.ts';
import type { SendChat } from './chat-model.ts';
import type { ChatBody } from './request/schema.ts';
import type { ServerCalls } from './server-calls.ts';
import type { CompletionRecord } from './stored/completion-record.ts';

/** The settings of a router whose upstream itself implements Chat Completions. */
export interface ChatSettings
  extends PrepareSettings,
    StoreWriteSettings,
    EndpointSettings,
    BudgetSettings,
    GuardingSettings {
  readonly hooks: Reports;
  readonly upstream: Upstream & Required<Pick<Upstream, 'chat'>>;
  readonly heartbeat: WantedHeartbeat;
  /** The turns that run, whichever API began them. */
  readonly turns: Activity;
  /** Whether the model's own server, and not this one, stores what the client wants stored. */
  readonly leavesStoring?: boolean | undefined;
}

/** Everything one completion needs. */
export interface PreparedChat {
  readonly request: EndpointRequest;
  /** The client's body including the server-run tools. */
  readonly body: ChatBody;
  readonly completion: Completion;
  readonly send: SendChat;
  readonly call: UpstreamCall;
  readonly limits: Limits;
  readonly callRules: CallRules;
  /** Whether the client wants one JSON object, also from a model server that streams all the same. */
  readonly wantsWhole: boolean;
  /** What runs the calls that are not the client's; undefined if there can be none, and the answer is passed on. */
  readonly server: ServerCalls | undefined;
  /** Stores the answer; undefined if the client does not want that. */
  readonly record: CompletionRecord | undefined;
}

/** The answer to one request: read as a stream or as a whole, and once. */
export interface ChatAnswer {
  readonly completion: Completion;
  /** The whole completion as JSON text. Throws `ApiError`. */
  whole(): Promise<string>;
  /** The frames of the stream, which throws the upstream's errors. */
  frames(): PullStream<string>;
}
