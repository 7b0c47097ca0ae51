/** Stores the results of a turn: the items of its conversation, the calls that wait for approval, and the response. */

import { dropPendingCalls, storePendingCall } from '../../../engine/approvals/pending-call.ts';
import { reportApproval } from '../../../engine/approvals/report-approval.ts';
import { removeItems, withdrawTurn } from '../../../engine/history/conversation.ts';
import {
  type Extension,
  extendConversation,
  storeTurn,
  storeTurnEnd,
  TurnOverruled,
} from '../../../engine/history/keep-turn.ts';
import { runStoreWrite } from '../../../engine/request/keep.ts';
import type { Turn } from '../../../engine/turn/run-turn.ts';
import { type ReportInfo, reportInfo } from '../../../ports/hooks.ts';
import { storedVersion } from '../../../ports/store.ts';
import { findTool } from '../../../ports/toolset.ts';
import type { Item, OutputItem } from '../../../protocol/items.ts';
import type { Note } from '../../../protocol/note.ts';
import { storedFields } from '../../../protocol/responses/resource.ts';
import { noteReporter } from '../../endpoint/prepare.ts';
import type { PreparedRequest } from '../steps/request.ts';
import type { ResponseStart } from './response-start.ts';
import type { ResponsesApiSettings } from './settings.ts';

const CONVERSATION_GONE: Note = {
  code: 'conversation_gone',
  message: 'The conversation was deleted during the turn: the response is stored without it.',
};

/**
 * Stores the turn at its end. Until then it retains nothing of the history, which can be freed while the model answers.
 */
export function turnPersister(
  { stored: turn, storedStart }: Pick<ResponseStart, 'stored' | 'storedStart'>,
  prepared: PreparedRequest,
  settings: ResponsesApiSettings,
): Turn['keep'] {
  const { scope, input } = turn;
  const about = reportInfo(prepared.apiRequest, turn.id);
  const { conversation: conversationId, loaded } = prepared.history;
  // The existing items, which the request only references. The cast: the step of the history has loaded items.
  const existing = conversationId ? new Set((loaded as readonly Item[]).map((item): unknown => item.id)) : undefined;
  const withApprovals = prepared.approvalRules.size > 0 ? prepared : undefined;
  const { store, background } = prepared.body;
  // In the background no client waits for the answer: it is stored for a while all the same.
  const isStored = store !== false || background || settings.keepsUnstored;
  const mayBeOverruled = background === true || turn.version !== undefined;
  const storeResponse = mayBeOverruled ? storeTurnEnd : storeTurn;
  // Beyond the size that a turn may load there is room for its answer: the next one is refused, and no output is lost.
  const maxBytes = settings.limits.historyBytes + settings.limits.outputBytes;
  const note = existing && noteReporter(prepared.apiRequest, settings, turn.id);
  return async (end) => {
    const conversation = conversationId === undefined ? undefined : { scope, id: conversationId };
    const items = existing ? itemsToAppend(existing, [...input, ...end.output]) : [];
    // First the write that may be refused: a response that the client sees as failed must not be found.
    if (conversation) {
      const fence = mayBeOverruled ? { id: turn.id, epoch: storedVersion(turn) } : undefined;
      const extension: Extension = { conversation, items, turn: fence, maxBytes };
      // The answer is paid for, and its client may retrieve it and go on from it.
      if (!(await extendConversation(settings, extension, about))) note?.(CONVERSATION_GONE);
    }
    try {
      if (withApprovals) await storePendingCalls(end.output, withApprovals, settings, { ...about, scope });
      if (!isStored) return;
      await storeResponse(turn, { resource: storedFields(storedStart, end), output: end.output }, settings, about);
    } catch (error) {
      if (error instanceof TurnOverruled && !error.isTakenOver) {
        await withdrawTurn(settings.store, { ...turn, resource: storedStart });
        await dropPendingCalls(settings.store, scope, end.output);
      }
      // Its client sees it fail, and asks again. In the background it may have been stored all the same, or be continued.
      if (conversation && !mayBeOverruled) {
        const undo = () => removeItems(settings.store, conversation, items);
        await runStoreWrite(undo, { ...settings, onStoreError: 'continue' }, about);
      }
      throw error;
    }
  };
}

/** The items that a conversation lacks, each once: its pages continue after an id, so no two of its items may share one. */
function itemsToAppend(existing: ReadonlySet<unknown>, items: readonly Item[]): readonly Item[] {
  const ids = new Set(existing);
  return items.filter(({ id }) => {
    const isNew = !ids.has(id);
    ids.add(id);
    return isNew;
  });
}

/** Also if the client wants nothing stored: its later approvals are bound to these. */
async function storePendingCalls(
  output: readonly OutputItem[],
  prepared: PreparedRequest,
  settings: ResponsesApiSettings,
  about: ReportInfo & { readonly scope: string },
): Promise<void> {
  for (const request of output) {
    if (request.type !== 'mcp_approval_request') continue;
    const [, entry] = findTool(prepared.toolset, request.server_label, request.name) ?? [];
    await storePendingCall(settings, about, { request, url: entry?.url ?? null });
    reportApproval({ id: request.id, request }, 'requested', prepared, settings);
  }
}
