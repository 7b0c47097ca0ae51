/** As many calls as one answer may hold, each told in a chunk of its own: what is looked through for each is not all before it. */
import { newCompletion } from '../../src/apis/chat-completions/completion.ts';
import { endRound, takeData } from '../../src/apis/chat-completions/round.ts';
import { newRound } from '../../src/apis/chat-completions/round-state.ts';
import { tally } from './tally.ts';

const { tried } = tally('rounds');

/** What `outputBytes` lets through by default, more or less. */
const CALLS = 40_000;
const limits = { outputBytes: 1e9, argumentBytes: 1e9, eventBytes: 1e9 };

function secondsOf(count: number, nameOf: (index: number) => string): number {
  const rules = { offersTools: true, isOwned: (name: string) => name === 'ours', newCallId: () => 'own', limits };
  const round = newRound(newCompletion({ wantsUsage: false, legacy: false }), rules);
  const began = process.cpuUsage();
  for (let index = 0; index < count; index += 1) {
    const call = { index, id: `c${index}`, function: { name: nameOf(index), arguments: '' } };
    takeData(round, JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { tool_calls: [call] } }] }));
  }
  takeData(round, '[DONE]');
  endRound(round);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}

it.each([
  ['of the client', () => 'f'],
  ['of ours and of the client', (index: number) => (index % 2 ? 'f' : 'ours')],
])(
  '[F-14] forty thousand calls %s take time in proportion',
  (_, nameOf) => {
    const few = secondsOf(CALLS / 8, nameOf);
    // Eight times as much to do; what is quadratic takes 64 times as long.
    expect([few, secondsOf(CALLS, nameOf) < few * 16 + 0.5]).toEqual([few, true]);
    tried('calls in one round', CALLS);
  },
  60_000,
);
