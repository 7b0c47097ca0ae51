/** Uses up the user's answers, each of which counts once. */
import type { MaybePromise } from '../../ports/store.ts';
import { findTool, type Toolset } from '../../ports/toolset.ts';
import type { PendingCall } from '../../ports/turn-context.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { McpApprovalRequestItem } from '../../protocol/items.ts';
import { restorePendingCalls, takePendingCall } from './pending-call.ts';
import type { Answers, ApprovalSettings } from './read-answers.ts';
import { type Approver, reportApproval } from './report-approval.ts';

/**
 * Removes the answered calls from the store. Throws `approval_not_found` if another request was faster, so that no call
 * is run twice and none is used up without being run, and `store_error`.
 */
export function useAnswers(answers: Answers, approver: Approver, settings: ApprovalSettings): MaybePromise<void> {
  if (answers.approved.length > 0 || answers.denied.length > 0) return takeAnswered(answers, approver, settings);
}

async function takeAnswered(
  { approved, denied }: Answers,
  approver: Approver,
  settings: ApprovalSettings,
): Promise<void> {
  const { scope } = approver.apiRequest;
  await takeApproved(approved, approver, settings);
  for (const each of approved) reportApproval(each, 'approved', approver, settings);
  for (const each of denied) {
    await takePendingCall(settings.store, scope, each.id);
    reportApproval(each, 'denied', approver, settings);
  }
}

/** All of them or none: those that the other request has not answered can then still be approved. */
async function takeApproved(
  approved: Answers['approved'],
  approver: Approver,
  settings: ApprovalSettings,
): Promise<void> {
  const { scope } = approver.apiRequest;
  const calls: PendingCall[] = [];
  // In the same order for all requests: of two with the same answers, one gets them all.
  for (const each of approved.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    if (await takePendingCall(settings.store, scope, each.id)) {
      calls.push(...approvedCalls([each], approver.toolset));
      continue;
    }
    reportApproval(each, 'refused', approver, settings);
    await restorePendingCalls(settings.store, scope, calls);
    const message = `The approval of '${each.id}' does not count: it was answered before.`;
    throw new ApiError('approval_not_found', message, { param: 'input' });
  }
}

/** The calls as they were stored: the answers have been checked against them. */
export function approvedCalls(approved: Answers['approved'], toolset: Toolset): readonly PendingCall[] {
  return approved.map((each) => {
    // The cast: of a call that is approved the request is known.
    const request = each.request as McpApprovalRequestItem;
    const [, entry] = findTool(toolset, request.server_label, request.name) ?? [];
    return { request, url: entry?.url ?? null };
  });
}
