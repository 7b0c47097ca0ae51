/** Determines which tools need the user's approval, and reads the user's decisions on pending calls. */

import { type ApprovalSettings, readAnswers } from '../../../engine/approvals/read-answers.ts';
import { readApprovalRules } from '../../../engine/tools/approval-rules.ts';
import { requireTenant } from '../../../ports/scope.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import type { ApprovalPolicy } from '../../../ports/tool-provider.ts';
import { mapMaybePromise } from '../../../protocol/record.ts';
import type { RequestWithApprovals, RequestWithTools } from './request.ts';

/** The host's options that the step needs. */
export interface ApplyApprovalsSettings extends ApprovalSettings {
  readonly approval?: ApprovalPolicy | undefined;
}

/** Throws `approval_not_found` and `approval_mismatch` for invalid approvals. */
export function applyApprovals(
  request: RequestWithTools,
  settings: ApplyApprovalsSettings,
): MaybePromise<RequestWithApprovals> {
  const { apiRequest, input, conversation, toolset } = request;
  const approvalRules = readApprovalRules(toolset, apiRequest, settings.approval);
  if (approvalRules.size > 0) requireTenant(apiRequest.scope, 'A tool that waits for approval', 'tools');
  const found = readAnswers({ apiRequest, input, conversation, toolset, approvalRules }, settings);
  return mapMaybePromise(found, (answers) => Object.assign({}, request, { approvalRules, answers }));
}
