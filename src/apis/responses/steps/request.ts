/** A request to the Responses API as it grows from step to step. */

import type { Answers } from '../../../approvals/read-answers.ts';
import type { ContextWindow } from '../../../compaction/window.ts';
import type { EndpointRequest } from '../../../ports/endpoints/endpoint-request.ts';
import type { ProviderStates } from '../../../ports/endpoints/provider-state.ts';
import type { ApprovalRules, Toolset } from '../../../ports/toolset.ts';
import type { LoadedHistory } from '../../../ports/turn-context.ts';
import type { Item } from '../../../protocol/items.ts';
import type { ModelRequest } from '../../../protocol/model-request.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import type { CreateBody } from '../../../protocol/responses/schema.ts';
import type { ToolPlan } from './plan-tools.ts';

/** After `validate`. */
export interface CheckedRequest {
  /** As it came; each step may rewrite its body, and says so in its context. */
  readonly apiRequest: EndpointRequest;
  /** The body with known fields typed. */
  readonly body: CreateBody;
}

/** After `resolveHistory`; the body names the past that the request really has. */
export interface RequestWithHistory extends CheckedRequest {
  readonly history: LoadedHistory;
  /** The random part of the new response's id. */
  readonly seed: string;
  /** The request's own items. */
  readonly input: readonly Item[];
  /** All items, oldest first. */
  readonly conversation: readonly Item[];
}

/** After `selectWindow`. */
export interface RequestInWindow extends RequestWithHistory {
  /** What of the conversation the model is told. */
  readonly window: ContextWindow;
}

/** After `resolveTools`. */
export interface RequestWithTools extends RequestInWindow {
  /** The server's own tools. */
  readonly toolset: Toolset;
  /** The client's tools, those in its input included. */
  readonly brought: readonly JsonObject[];
  readonly tools: ToolPlan;
}

/** After `applyApprovals`. */
export interface RequestWithApprovals extends RequestWithTools {
  /** Which of the server's tools wait for approval. */
  readonly approvalRules: ApprovalRules;
  /** What the user has decided of calls that waited. */
  readonly answers: Answers;
}

/** After `toModelRequest`: ready to run. */
export interface PreparedRequest extends RequestWithApprovals {
  /** What the model server needs back of what it writes. */
  readonly states: ProviderStates;
  readonly request: ModelRequest;
}
