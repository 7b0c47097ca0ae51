/** Reads the user's answers to calls that wait for approval: all are checked before any is used. */

import { isDeepStrictEqual } from 'node:util';
import type { Reports } from '../../ports/hooks.ts';
import type { Limits } from '../../ports/limits.ts';
import type { MaybePromise, ResponseStore } from '../../ports/store.ts';
import { findTool } from '../../ports/toolset.ts';
import type { PendingCall } from '../../ports/turn-context.ts';
import { ApiError, type ErrorCode } from '../../protocol/errors.ts';
import type { ApprovedCall } from '../../protocol/events.ts';
import { originOfItem, quoteId, responseIdOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { markedIn } from '../../protocol/json/whole-numbers.ts';
import { isRecord } from '../../protocol/record.ts';
import { isClientAnswer, toolCallKind } from '../../protocol/tool-calls/kinds.ts';
import { callingProgram } from '../../protocol/tool-calls/program-call.ts';
import { findPendingCall } from './pending-call.ts';
import { type Approver, type Decided, reportApproval } from './report-approval.ts';

/** The user's decisions in this request. */
export interface Answers {
  readonly approved: readonly (ApprovedCall & Decided)[];
  readonly denied: readonly Decided[];
}

const NO_ANSWERS: Answers = { approved: [], denied: [] };

/** The request that holds the answers. */
interface AnswerSources extends Approver {
  /** The request's own items. */
  readonly input: readonly Item[];
  /** All items, oldest first. */
  readonly conversation: readonly Item[];
}

/** The dependencies of reading answers. */
export interface ApprovalSettings {
  readonly store: ResponseStore;
  readonly hooks: Reports;
  readonly limits: Limits;
}

/**
 * Finds and checks the new answers without using them up. Throws `approval_not_found` for an approval of a call that
 * does not wait, `approval_mismatch` if call, server or tool differ from those that the user was shown, `invalid_value`
 * for two answers to one request, `array_above_max_length` for more of them than calls may run.
 */
export function readAnswers(sources: AnswerSources, settings: ApprovalSettings): MaybePromise<Answers> {
  const live = liveAnswers(sources.input);
  return live.length === 0 ? NO_ANSWERS : checkAnswers(live, sources, settings);
}

async function checkAnswers(
  live: readonly Answer[],
  sources: AnswerSources,
  settings: ApprovalSettings,
): Promise<Answers> {
  const invalid = (code: ErrorCode, message: string) => new ApiError(code, message, { param: 'input' });
  const max = settings.limits.toolCalls;
  // Each requires a read from the store.
  if (live.length > max) {
    const message = `The input answers ${live.length} approval requests; at most ${max} can be answered at once.`;
    throw invalid('array_above_max_length', message);
  }
  const ids = live.map(({ approval_request_id: id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) < index);
  if (repeated !== undefined)
    throw invalid('invalid_value', `The input answers the approval request ${quoteId(repeated)} twice.`);
  const approved: (ApprovedCall & Decided)[] = [];
  const denied: Decided[] = [];
  for (const answer of live) {
    const id = answer.approval_request_id;
    const used = sources.apiRequest.context?.approved?.find(({ request }) => request.id === id);
    const pending = used ?? (await findPendingCall(settings.store, sources.apiRequest.scope, id));
    if (!answer.approve) denied.push({ id, request: pending?.request ?? requestsFor(id, sources.conversation)[0] });
    else approved.push(checkApproval(answer, pending, sources, settings));
  }
  // If the client requests only compaction, an approved call would not run.
  if (sources.input.at(-1)?.type === 'compaction_trigger')
    throw invalid('invalid_value', "A 'compaction_trigger' cannot go with an answer to an approval request.");
  return { approved, denied };
}

function requestsFor(id: string, conversation: readonly Item[]): readonly Item[] {
  return conversation.filter((item) => item.type === 'mcp_approval_request' && item.id === id);
}

function checkApproval(
  { approval_request_id: id }: Answer,
  pending: PendingCall | undefined,
  sources: AnswerSources,
  settings: ApprovalSettings,
): ApprovedCall & Decided {
  const refuse = (code: ErrorCode, why: string): ApiError => {
    reportApproval({ id, request: pending?.request }, 'refused', sources, settings);
    return new ApiError(code, `The approval of ${quoteId(id)} does not count: ${why}.`, { param: 'input' });
  };
  if (!pending) throw refuse('approval_not_found', 'no call waits for it, or it was answered before');
  const { request, url } = pending;
  if (!requestsFor(id, sources.conversation).every(sameCallTest(request)))
    throw refuse('approval_mismatch', 'the request in the conversation is not the one that was made');
  const [name, entry] = findTool(sources.toolset, request.server_label, request.name) ?? [];
  if (name === undefined) throw refuse('approval_mismatch', `the tool '${request.name}' is not on offer any more`);
  if ((entry?.url ?? null) !== url)
    throw refuse('approval_mismatch', `'${request.server_label}' is not the server that it was asked for`);
  const program = callingProgram({ ...request });
  return { id, request, name, arguments: request.arguments, approvalRequestId: id, ...(program ? { program } : {}) };
}

/**
 * Clients may reformat the arguments. Those of the call are parsed once: a conversation may show it thousands of times.
 */
function sameCallTest({ server_label: label, name, arguments: text }: PendingCall['request']): (item: Item) => boolean {
  let parsed: { readonly value: unknown } | undefined;
  const hasSameArguments = (shown: unknown): boolean => {
    const value = markedIn(String(shown));
    parsed ??= { value: markedIn(text) };
    return isRecord(value) && isDeepStrictEqual(value, parsed.value);
  };
  return (item) =>
    item.server_label === label && item.name === name && (item.arguments === text || hasSameArguments(item.arguments));
}

/** The user's answer to one request for approval; validated. */
interface Answer extends Item {
  readonly type: 'mcp_approval_response';
  readonly approval_request_id: string;
  readonly approve: boolean;
}

/**
 * The answers in the request's own input that no output of a later response follows: clients that send the whole conversation
 * send the old ones too.
 */
export function liveAnswers(input: readonly Item[]): readonly Answer[] {
  const live: Answer[] = [];
  const later = new Set<string | undefined>();
  for (const item of input.toReversed()) {
    if (isModelOutput(item)) later.add(responseIdOfItem(String(item.id)));
    if (item.type !== 'mcp_approval_response') continue;
    // The cast: the input has been validated.
    const answer = item as Answer;
    // What the model's own server asked for, it is told itself.
    if (originOfItem(answer.approval_request_id) !== undefined) continue;
    const responseId = responseIdOfItem(answer.approval_request_id);
    // The client may have put each answer after its request, and nothing in that response comes of an answer: the model may have
    // requested several approvals at once, or another agent may have gone on.
    const isOfSameResponse = later.size === 1 && responseId !== undefined && later.has(responseId);
    if (later.size === 0 || isOfSameResponse) live.push(answer);
  }
  return live.toReversed();
}

/** The model's other output besides messages and tool calls. */
const MODEL_OUTPUT: ReadonlySet<string> = new Set([
  'reasoning',
  'mcp_list_tools',
  'mcp_approval_request',
  'program_output',
  'compaction',
  'tool_search_output',
  'multi_agent_call_output',
]);

function isModelOutput(item: Item): boolean {
  const { type, role } = item;
  // A search may also be one that the client has run.
  if (isClientAnswer(item)) return false;
  return MODEL_OUTPUT.has(type) || toolCallKind(item) !== undefined || (type === 'message' && role === 'assistant');
}
