/** Shows one call after another, although model servers interleave them: what the model writes behind an open call waits. */
import type { TurnInput } from '../../../protocol/events.ts';
import { OBJECT_START, readObject } from '../../../protocol/json/object-end.ts';
import type { Draft, OpenToolCall, WaitingCall } from './state.ts';
import { nextWaiting } from './waiting-output.ts';
import { closeCall, showCall, writeArguments } from './write-calls.ts';

/** Takes an input that waited. */
type Take = (draft: Draft, input: TurnInput) => void;

/** How a call is known to have ended. */
type IsOver = (call: OpenToolCall) => boolean;

/** Ends the open call if it is over, and shows what waited for that, up to the next call that is not. */
export function settleCalls(draft: Draft, take: Take, isOver: IsOver = isWhole): void {
  while (draft.openCall && isOver(draft.openCall)) {
    const { openCall } = draft;
    draft.openCall = undefined;
    draft.closedCalls = draft.closedCalls.with(openCall.toolCallIndex, true);
    closeCall(draft, openCall, 'completed');
    while (!draft.openCall && draft.waiting) {
      const entry = nextWaiting(draft, draft.waiting);
      if (!entry) continue;
      if ('toolCallIndex' in entry) draft.openCall = openWaitingCall(draft, entry);
      else take(draft, entry);
    }
  }
}

/** Ends everything that waits at the end of the model's answer. Of a truncated answer it leaves out what follows the first call that is not whole. */
export function settleAll(draft: Draft, take: Take, isCutOff: boolean): void {
  if (!draft.waiting) return;
  const isOver: IsOver = isCutOff
    ? (call) => draft.waiting !== undefined && (call.arguments.trim() === '' || isWhole(call))
    : () => true;
  settleCalls(draft, take, isOver);
  const { waiting } = draft;
  draft.waiting = undefined;
  for (const entry of waiting?.entries ?? []) {
    if (entry && 'toolCallIndex' in entry)
      draft.events.push({ type: 'call-dropped', name: entry.name, why: 'cut_off' });
  }
}

/** Each character is read once, and only if something follows the call. */
function isWhole(call: OpenToolCall): boolean {
  call.object = readObject(call.object ?? OBJECT_START, call.unread ?? call.arguments);
  call.unread = '';
  return call.object.phase === 'after';
}

function openWaitingCall(draft: Draft, waiting: WaitingCall): OpenToolCall {
  const { arguments: text, bytes } = waiting;
  const call = showCall(draft, waiting.toolCallIndex, waiting.name, waiting.head);
  draft.bytes += bytes;
  call.bytes += bytes;
  if (text !== '') writeArguments(draft, call, text);
  for (const chunk of waiting.chunks) draft.events.push(chunk);
  return call;
}
