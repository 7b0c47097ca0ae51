/** A request to the Responses API as it grows from step to step. */

import type { Answers } from '../../../engine/approvals/read-answers.ts';
import type { ContextWindow } from '../../../engine/compaction/window.ts';
import type { RequestGuards } from '../../../engine/guarding/request/request-guards.ts';
import type { Fingerprints } from '../../../engine/programs/fingerprint.ts';
import type { OpenProgram } from '../../../engine/programs/open-programs.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import type { ApprovalRules, Toolset } from '../../../ports/toolset.ts';
import type { LoadedHistory } from '../../../ports/turn-context.ts';
import type { Item } from '../../../protocol/items.ts';
import type { ModelRequest } from '../../../protocol/model-request.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import type { CreateBody } from '../../../protocol/responses/schema.ts';
import type { ProviderStates } from '../../endpoint/provider-state.ts';
import type { ToolPlan } from './tools/plan-tools.ts';

/** After `validate`. */
export interface CheckedRequest {
  /** As it arrived; each step may rewrite its body, and records that in its context. */
  readonly apiRequest: EndpointRequest;
  /** The body with known fields typed. */
  readonly body: CreateBody;
  /** Absent if there are none. */
  readonly guards?: RequestGuards;
}

/** After `resolveHistory`; the body references the resolved history. */
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
  /** The part of the conversation that the model receives. */
  readonly window: ContextWindow;
}

/** After `resolveTools`. */
export interface RequestWithTools extends RequestInWindow {
  /** The server-run tools. */
  readonly toolset: Toolset;
  /** The client's tools, including those in its input. */
  readonly brought: readonly JsonObject[];
  readonly tools: ToolPlan;
}

/** After `applyApprovals`. */
export interface RequestWithApprovals extends RequestWithTools {
  /** Which of the server-run tools need approval. */
  readonly approvalRules: ApprovalRules;
  /** The user's decisions on pending calls. */
  readonly answers: Answers;
}

/** After `resumePrograms`. */
export interface RequestWithPrograms extends RequestWithApprovals {
  /** The programs of earlier turns that go on; absent where the model may write none. */
  readonly programs?: readonly OpenProgram[];
  /** What the items of programs carry; likewise. */
  readonly fingerprints?: Fingerprints;
}

/** After `toModelRequest`: ready to run. */
export interface PreparedRequest extends RequestWithPrograms {
  /** The opaque provider state of the model server. */
  readonly states: ProviderStates;
  readonly request: ModelRequest;
}
