/** The turn as a pure state machine: it alone assigns indices, ids, sequence numbers and statuses, and sums usage. */
import { outputTooLarge } from '../../../protocol/errors.ts';
import {
  type FinishReason,
  type ModelEvent,
  type TurnEnd,
  type TurnError,
  type TurnEvent,
  type TurnInput,
  type Usage,
  usageSum,
} from '../../../protocol/events.ts';
import type { ItemStatus } from '../../../protocol/items.ts';
import { unreachable } from '../../../protocol/record.ts';
import { SharedMap } from '../data/shared-list.ts';
import { settleAll, settleCalls } from './call-order.ts';
import { copyState, type Draft, finishDraft, isCutOff, type TurnState } from './state.ts';
import { followsCall, waitsForCall } from './waiting-output.ts';
import {
  abandonPending,
  breaksOff,
  closeCall,
  failPending,
  requestApproval,
  resumeProgram,
  writeApproved,
  writeCall,
  writePartialImage,
  writeResult,
  writeToolList,
} from './write-calls.ts';
import { closeNative, endNative, openNative, writeNativeProgress } from './write-native-items.ts';
import { annotate, closeReasoning, closeWriting, startMessage, writeText } from './write-text.ts';
import {
  beginCompaction,
  closeSearch,
  failCompaction,
  failSearches,
  openSearch,
  writeCompaction,
  writeImage,
} from './write-whole-items.ts';

const NOTHING: SharedMap<number, never> = new SharedMap();

/** Takes one input and returns the next state and the events to emit. Input after the end is ignored. */
export function step(state: TurnState, inputs: readonly TurnInput[]): readonly [TurnState, readonly TurnEvent[]] {
  const draft = copyState(state);
  for (const input of inputs) {
    if (draft.ended) break;
    if (isCutOff(draft) && MODEL_OUTPUT.has(input.type)) continue;
    // Most inputs are text, and come while no call is open.
    if (draft.openCall && followsCall(draft, draft.openCall, input)) settleCalls(draft, take);
    if (!waitsForCall(draft, input)) take(draft, input);
    const bytes = draft.waiting ? draft.bytes + draft.waiting.bytes : draft.bytes;
    if (bytes > draft.plan.outputBytes && !draft.ended) fail(draft, outputTooLarge('a response').body);
  }
  const { events } = draft;
  return [finishDraft(draft), events];
}

/** Marks what a truncated model can no longer finish: its last item is incomplete, and must stay the last. */
const MODEL_OUTPUT: ReadonlySet<TurnInput['type']> = new Set([
  'text-delta',
  'refusal-delta',
  'message-start',
  'reasoning-delta',
  'reasoning-end',
  'tool-call-delta',
  'annotation',
  'image',
  'search-start',
  'native-start',
  'finish',
  'tools-listed',
  'compacting',
  'compacted',
] as const);

function take(draft: Draft, input: TurnInput): void {
  switch (input.type) {
    case 'text-delta':
      return writeText(draft, 'output_text', input.text, input.logprobs);
    case 'refusal-delta':
      return writeText(draft, 'refusal', input.text);
    case 'message-start':
      return startMessage(draft, input.phase);
    case 'reasoning-delta':
      return writeText(draft, draft.plan.reasoning, input.text);
    case 'reasoning-end':
      return closeReasoning(draft, input.state);
    case 'tool-call-delta': {
      const call = writeCall(draft, input);
      if (call && call.bytes > draft.plan.argumentBytes)
        fail(draft, outputTooLarge('the arguments of a tool call').body);
      return;
    }
    case 'annotation':
      return annotate(draft, input.annotation, input.atEnd);
    case 'image':
      return writeImage(draft, input);
    case 'search-start':
      return openSearch(draft, input);
    case 'search-end':
      return closeSearch(draft, input);
    case 'native-start':
      return openNative(draft, input);
    case 'native-progress':
      return writeNativeProgress(draft, input);
    case 'native-end':
      return closeNative(draft, input);
    case 'usage':
      draft.callUsage = input;
      return;
    case 'model-info': {
      const { type: _, ...info } = input;
      draft.facts = { ...draft.facts, ...info };
      return;
    }
    case 'finish':
      if (input.stopSequence !== undefined) draft.facts = { ...draft.facts, stopSequence: input.stopSequence };
      if (input.isContextFull) draft.facts = { ...draft.facts, isContextFull: true };
      return finishModelCall(draft, input.reason);
    case 'raw':
      if (input.isEnd) settleAll(draft, take, false);
      // Of a call that the request does not allow nothing is shown.
      if (input.call === undefined || !draft.refused.has(input.call)) draft.events.push(input);
      return;
    default:
      takeControl(draft, input);
  }
}

/** Takes an input that is not the model's. */
function takeControl(draft: Draft, input: Exclude<TurnInput, ModelEvent>): void {
  switch (input.type) {
    case 'call-approved':
      return writeApproved(draft, input);
    case 'program-resumed':
      return resumeProgram(draft, input);
    case 'tool-result':
      return writeResult(draft, input);
    case 'partial-image':
      return writePartialImage(draft, input);
    case 'tools-listed':
      return writeToolList(draft, input.server, input.tools);
    case 'compacting':
      return beginCompaction(draft);
    case 'compacted':
      addUsage(draft, input.usage, input.cost);
      return writeCompaction(draft, input.encrypted);
    case 'start':
      return start(draft);
    case 'model-call':
      draft.roundStart = draft.output.size;
      draft.finish = undefined;
      draft.refused = NOTHING;
      draft.hasCall = false;
      if (draft.plan.repeatsCallIds) draft.callIds = new SharedMap();
      draft.isForced = input.isForced;
      return;
    case 'resume':
      closeOpenOutput(draft, () => 'completed');
      // The calls run now: whoever goes on from here must not take them for new ones.
      if (draft.pending.size > 0) draft.finish ??= 'stop';
      return addCallUsage(draft);
    case 'keepalive':
      draft.events.push({ type: 'keepalive', sequence: draft.sequence++ });
      return;
    case 'fail':
      return fail(draft, input.error);
    case 'end':
      return end(draft, input.at);
    case 'stop':
      draft.stopped = input.reason;
      return;
    default:
      unreachable(input);
  }
}

function start(draft: Draft): void {
  draft.started = true;
  draft.events.push({ type: 'turn-start', sequence: draft.sequence++ });
  if (draft.plan.queuedEvent) draft.events.push({ type: 'turn-queued', sequence: draft.sequence++ });
  draft.events.push({ type: 'turn-progress', sequence: draft.sequence++ });
}

function finishModelCall(draft: Draft, reported: FinishReason): void {
  settleAll(draft, take, reported !== 'stop');
  const last = draft.output.size - 1;
  const { openCall } = draft;
  // Servers report calls, too, where the model ran out of tokens inside one.
  const isBroken = reported === 'stop' && openCall?.index === last && breaksOff(draft, openCall);
  const reason = isBroken ? 'length' : reported;
  closeOpenOutput(draft, (index) => (reason !== 'stop' && index === last ? 'incomplete' : 'completed'));
  requestApproval(draft, reason === 'stop');
  draft.finish = reason;
  draft.round += 1;
  addCallUsage(draft);
}

/** Closes open items in output order: text does not wait for the end of a call before it. What waits is left out. */
function closeOpenOutput(draft: Draft, status: (index: number) => ItemStatus): void {
  const { openCall, writing } = draft;
  draft.openCall = undefined;
  draft.waiting = undefined;
  draft.closedCalls = NOTHING;
  if (openCall) closeCall(draft, openCall, status(openCall.index));
  failSearches(draft);
  for (const open of draft.natives.values()) endNative(draft, open, status(open.index));
  if (writing) closeWriting(draft, status(writing.index));
  draft.nextPhase = undefined;
}

/** Adds what the model server last reported of the call, once. */
function addCallUsage(draft: Draft): void {
  const { callUsage } = draft;
  if (!callUsage) return;
  draft.callUsage = undefined;
  if (callUsage.reported) draft.facts = { ...draft.facts, usage: callUsage.reported };
  addUsage(draft, callUsage.usage, callUsage.cost);
}

function addUsage(draft: Draft, added: Usage, cost: number | undefined): void {
  draft.usage = usageSum(draft.usage, added);
  if (cost !== undefined) draft.facts = { ...draft.facts, cost: (draft.facts?.cost ?? 0) + cost };
}

const CUT_OFF = { stop: null, length: 'max_output_tokens', content_filter: 'content_filter' } as const;

function end(draft: Draft, at: number): void {
  const { writing, openCall, awaitingApproval, searches, natives } = draft;
  const isWriting = writing !== undefined || openCall !== undefined;
  if (isWriting || awaitingApproval.size > 0 || searches.size > 0 || natives.size > 0) finishModelCall(draft, 'stop');
  failPending(draft);
  addCallUsage(draft);
  const reason = draft.stopped ?? CUT_OFF[draft.finish ?? 'stop'];
  const status = reason ? 'incomplete' : 'completed';
  endTurn(draft, { status, reason, error: null, completedAt: reason ? null : at });
}

function fail(draft: Draft, error: TurnError): void {
  if (!draft.started) start(draft);
  abandonPending(draft);
  closeOpenOutput(draft, () => 'incomplete');
  failCompaction(draft);
  addCallUsage(draft);
  draft.events.push({ type: 'error', sequence: draft.sequence++, error });
  endTurn(draft, { status: 'failed', reason: null, error, completedAt: null });
}

function endTurn(draft: Draft, how: Pick<TurnEnd, 'status' | 'reason' | 'error' | 'completedAt'>): void {
  draft.ended = true;
  const { usage, facts } = draft;
  const output = draft.output.from(0);
  const upstream = facts ? { upstream: facts } : {};
  draft.events.push({ type: 'turn-end', sequence: draft.sequence++, ...how, output, usage, ...upstream });
}
