/** The laws of a turn's events, checked by replaying them as a strict client would; the events of a stream are read into the same form. */
import type { TurnEnd, TurnEvent } from '../../src/protocol/events.ts';
import { replayItems, statusOf } from './item-laws.ts';
import { broken, law, same } from './law.ts';
import { isNativeId } from './native-items.ts';

/**
 * The last event. Throws, naming the law, unless these are the events of one whole turn that keeps every law:
 * numbering, balance, ids announced and stable, deltas that add up to the final items, and statuses.
 */
export function expectLaws(events: readonly TurnEvent[]): TurnEnd {
  expectDenseSequence(events);
  const end = expectLifecycle(events);
  same(end.output, replayItems(events), 'the final output holds the items in order, as they ended');
  expectStatuses(end);
  return end;
}

function expectDenseSequence(events: readonly TurnEvent[]): void {
  let next = 0;
  for (const event of events) {
    if ('sequence' in event) law(event.sequence === next++, `sequence is dense from 0 (expected ${next - 1})`, event);
  }
}

const LIFECYCLE = /^turn-start (turn-queued )?turn-progress (error )?turn-end$/;
const OPENING = /^turn-start (turn-queued )?turn-progress /;

function expectLifecycle(events: readonly TurnEvent[]): TurnEnd {
  const types = events.map(({ type }) => type);
  const lifecycle = types.filter((type) => type.startsWith('turn-') || type === 'error').join(' ');
  law(LIFECYCLE.test(lifecycle), 'a turn starts once and ends once', lifecycle);
  law(OPENING.test(types.join(' ')), 'a turn starts before anything else', types);
  const end = events.at(-1);
  if (end?.type !== 'turn-end') return broken('turn-end is the last event', end);
  const error = events.find((event) => event.type === 'error');
  same(error?.error ?? null, end.error, 'turn-end repeats the error event');
  law(!error || events.indexOf(error) === events.length - 2, 'an error is followed by turn-end only', types);
  return end;
}

function expectStatuses(end: TurnEnd): void {
  const { status, output } = end;
  law((status === 'failed') === (end.error !== null), 'a turn has an error exactly when it failed', end);
  law((status === 'incomplete') === (end.reason !== null), 'a turn has a reason exactly when it is incomplete', end);
  law((status === 'completed') === (end.completedAt !== null), 'completedAt is for completed turns', end);
  if (status === 'failed') return;
  // Which of its own items a model's server has not completed is for it to say.
  const cutOff = output.findIndex((item) => statusOf(item) === 'incomplete' && !isNativeId(item.id));
  law(cutOff === -1 || cutOff === output.length - 1, 'only the last item may be incomplete', end);
  law(cutOff === -1 || status === 'incomplete', 'a turn with an incomplete item is incomplete', end);
}
