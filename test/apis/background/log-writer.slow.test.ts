/** What the writer of a log holds back while a call is being written. */
import { LogWriter } from '../../../src/apis/background/log-writer.ts';
import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { EventLog } from '../../../src/ports/background/event-log.ts';
import type { TurnInput } from '../../../src/protocol/events.ts';

const PLAN: TurnPlan = {
  seed: 'seed',
  reasoning: 'reasoning_text',
  owners: new Map(),
  ownedAs: 'mcp_call',
  queuedEvent: false,
  outputBytes: 1024 * 1024,
  argumentBytes: 1024 * 1024,
};

it('[P-14] a call whose arguments come in a hundred thousand pieces is written when it is whole', async () => {
  let written = 0;
  const append: EventLog['append'] = (_, { events }) => {
    written += events.length;
    return true;
  };
  // The cast: nothing else of it is used.
  const log = { append } as unknown as EventLog;
  const opened = { log, key: { scope: '', id: 'resp_1' }, epoch: 1, next: 0, state: { tries: 1 } };
  const host = { eventsTtlMs: 1, deadline: Date.now() + 60_000, onWritten() {}, onLost() {}, onError() {} };
  const writer = new LogWriter(opened, host);
  let state = startState(PLAN);
  const take = async (...inputs: readonly TurnInput[]) => {
    const [next, events] = step(state, inputs);
    state = next;
    await writer.add(events, state);
  };
  await take({ type: 'start' }, { type: 'tool-call-delta', call: 0, id: 'c', name: 'f', arguments: '' });
  for (let index = 0; index < 200_000; index += 1) await take({ type: 'tool-call-delta', call: 0, arguments: ' ' });
  await take({ type: 'finish', reason: 'stop' }, { type: 'end', at: 1 });
  await writer.flush();
  expect(written).toBe(state.sequence);
}, 60_000);
