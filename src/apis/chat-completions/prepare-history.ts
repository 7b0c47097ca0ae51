/** Resolves the references of a Chat Completions body into messages: the turns that it continues, and stored results. */

import { collectGuards } from '../../engine/guarding/request/guards-of.ts';
import { loadHistory } from '../../engine/history/history.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { isRecord } from '../../protocol/record.ts';
import { noteReporter, type PrepareSettings, reportingHistory } from '../endpoint/prepare.ts';
import { restoreResults } from './kept-results.ts';
import { isMessageList, itemMessages, messageItems } from './request/items.ts';

/**
 * Prepends the messages of the turns up to `previous_response_id`, a field that no model server supports, and restores
 * the server-run calls and results for this client. Throws as `loadHistory` does.
 */
export const prepareChatHistory = reportingHistory(addHistory);

async function addHistory(request: EndpointRequest, settings: PrepareSettings): Promise<EndpointRequest> {
  const { body, context = {}, scope } = request;
  if (context.history || !isRecord(body) || !isMessageList(body.messages)) return request;
  const { store, limits } = settings;
  const { previous_response_id: id, ...rest } = body;
  const { items, previous } = await loadHistory(store, scope, typeof id === 'string' ? id : undefined, limits);
  // The client's answers to the calls of the last turn: without them those calls would have none.
  const firstOther = body.messages.findIndex(({ role }) => role !== 'tool');
  const answerCount = firstOther < 0 ? body.messages.length : firstOther;
  const answers = previous ? body.messages.slice(0, answerCount) : [];
  const note = noteReporter(request, settings);
  const earlier = itemMessages([...items, ...messageItems(answers)], ({ type }) => {
    note({ code: 'item_skipped', message: `Items of type '${type}' have no place in a chat request.` });
  });
  const guards = collectGuards(request, settings);
  const guarded = guards ? (text: string) => guards.changed(text) : undefined;
  const rounds = { store, scope, maxBytes: limits.historyBytes, maxRounds: limits.historyTurns, guarded };
  const [past, own] = await Promise.all([
    restoreResults(rounds, earlier),
    restoreResults(rounds, body.messages.slice(answers.length), earlier),
  ]);
  const lastAnswer = past.findLastIndex(({ role }) => role === 'assistant');
  // Some servers count ids from 0 in every answer: only messages after the last calls can answer them.
  const answered = new Set(answers.map((answer) => answer.tool_call_id));
  const loaded = past.filter(
    ({ role, tool_call_id: answeredId }, at) => at < lastAnswer || role !== 'tool' || !answered.has(answeredId),
  );
  return {
    ...request,
    body: { ...(previous ? rest : body), messages: [...past, ...own] },
    context: Object.assign({}, context, { history: { previous, loaded } }),
  };
}
