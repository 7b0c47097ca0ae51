/** As many calls as one answer may contain, each in a chunk of its own: no chunk may search through all calls before it. */
import { newCompletion } from '../../src/apis/chat-completions/completion/completion.ts';
import { endRound, takeData } from '../../src/apis/chat-completions/round.ts';
import { newRound } from '../../src/apis/chat-completions/round-state.ts';
import { tally } from './tally.ts';

const { tried } = tally('rounds');

/** About as many as `outputBytes` allows by default. */
const CALLS = 40_000;
const limits = { outputBytes: 1e9, argumentBytes: 1e9, eventBytes: 1e9 };

type CallAt = (index: number) => { readonly name: string; readonly arguments: string };

function secondsOf(count: number, callAt: CallAt): number {
  const rules = { hasServerTools: true, isOwned: (name: string) => name === 'ours', newCallId: () => 'own', limits };
  const round = newRound(newCompletion({ wantsUsage: false, legacy: false }), rules);
  const began = process.cpuUsage();
  for (let index = 0; index < count; index += 1) {
    const call = { index, id: `c${index}`, function: callAt(index) };
    takeData(round, JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { tool_calls: [call] } }] }));
  }
  takeData(round, '[DONE]');
  endRound(round);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}

it.each<[string, CallAt]>([
  ['of the client', () => ({ name: 'f', arguments: '' })],
  ['of the client, each whole', () => ({ name: 'f', arguments: '{}' })],
  ['of ours and of the client', (index) => ({ name: index % 2 ? 'f' : 'ours', arguments: '' })],
])(
  '[F-14] forty thousand calls %s take linear time',
  (_, callAt) => {
    const few = secondsOf(CALLS / 8, callAt);
    // Eight times the work: a quadratic algorithm takes 64 times as long.
    expect([few, secondsOf(CALLS, callAt) < few * 16 + 0.5]).toEqual([few, true]);
    tried('calls in one round', CALLS);
  },
  60_000,
);
