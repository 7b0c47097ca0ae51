/** Uses up the user's answers, each of which counts once. */
import type { MaybePromise } from '../ports/store.ts';
import { ApiError } from '../protocol/errors.ts';
import { takePending } from './pending-call.ts';
import type { Answers, ApprovalSettings } from './read-answers.ts';
import { type Approver, reportApproval } from './report-approval.ts';

/**
 * Removes the answered calls from the store. Throws `approval_not_found` if another request was faster, so that no call
 * is run twice, and `store_error`.
 */
export function useAnswers(answers: Answers, approver: Approver, settings: ApprovalSettings): MaybePromise<void> {
  if (answers.approved.length > 0 || answers.denied.length > 0) return useUp(answers, approver, settings);
}

async function useUp({ approved, denied }: Answers, approver: Approver, settings: ApprovalSettings): Promise<void> {
  const { scope } = approver.apiRequest;
  // In the same order for all requests: of two with the same answers, one gets them all.
  for (const each of approved.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    const isOurs = await takePending(settings.store, scope, each.id);
    reportApproval(each, isOurs ? 'approved' : 'refused', approver, settings);
    if (!isOurs) throw taken(each.id);
  }
  for (const each of denied) {
    await takePending(settings.store, scope, each.id);
    reportApproval(each, 'denied', approver, settings);
  }
}

function taken(id: string): ApiError {
  const message = `The approval of '${id}' does not count: it was answered before.`;
  return new ApiError('approval_not_found', message, { param: 'input' });
}
