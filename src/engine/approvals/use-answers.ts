/** Uses up the user's answers, each of which counts once. */
import type { MaybePromise } from '../../ports/store.ts';
import { findTool } from '../../ports/toolset.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { McpApprovalRequestItem } from '../../protocol/items.ts';
import { giveBack, type PendingCall, takePending } from './pending-call.ts';
import type { Answers, ApprovalSettings } from './read-answers.ts';
import { type Approver, type Decided, reportApproval } from './report-approval.ts';

/**
 * Removes the answered calls from the store. Throws `approval_not_found` if another request was faster, so that no call
 * is run twice and none is used up without being run, and `store_error`.
 */
export function useAnswers(answers: Answers, approver: Approver, settings: ApprovalSettings): MaybePromise<void> {
  if (answers.approved.length > 0 || answers.denied.length > 0) return useUp(answers, approver, settings);
}

async function useUp({ approved, denied }: Answers, approver: Approver, settings: ApprovalSettings): Promise<void> {
  const { scope } = approver.apiRequest;
  await takeAll(approved, approver, settings);
  for (const each of approved) reportApproval(each, 'approved', approver, settings);
  for (const each of denied) {
    await takePending(settings.store, scope, each.id);
    reportApproval(each, 'denied', approver, settings);
  }
}

/** All of them or none: those that the other request has not answered can then still be approved. */
async function takeAll(approved: Answers['approved'], approver: Approver, settings: ApprovalSettings): Promise<void> {
  const { scope } = approver.apiRequest;
  const calls: PendingCall[] = [];
  // In the same order for all requests: of two with the same answers, one gets them all.
  for (const each of approved.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    if (await takePending(settings.store, scope, each.id)) {
      calls.push(pendingCallOf(each, approver));
      continue;
    }
    reportApproval(each, 'refused', approver, settings);
    await giveBack(settings.store, scope, calls);
    throw taken(each.id);
  }
}

/** The call as it was stored: the answer has been checked against it. */
function pendingCallOf({ request }: Decided, { toolset }: Approver): PendingCall {
  // The cast: of a call that is approved the request is known.
  const item = request as McpApprovalRequestItem;
  const [, entry] = findTool(toolset, item.server_label, item.name) ?? [];
  return { request: item, url: entry?.url ?? null };
}

function taken(id: string): ApiError {
  const message = `The approval of '${id}' does not count: it was answered before.`;
  return new ApiError('approval_not_found', message, { param: 'input' });
}
