/** As many calls as one answer may contain, each in a chunk of its own: no chunk may search through all calls before it. */
import { newCompletion } from '../../src/apis/chat-completions/completion/completion.ts';
import { endRound, takeData } from '../../src/apis/chat-completions/round.ts';
import { newRound } from '../../src/apis/chat-completions/round-state.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { tally } from './tally.ts';

const { tried } = tally('rounds');

const CALLS = 8000;
const limits = { outputBytes: 1e9, argumentBytes: 1e9, eventBytes: 1e9 };

type CallAt = (index: number) => { readonly name: string; readonly arguments: string };

function read(count: number, callAt: CallAt): void {
  const rules = {
    hidesCalls: true,
    callRules: {},
    isOwned: (name: string) => name === 'ours',
    newCallId: () => 'own',
    limits,
  };
  const round = newRound(newCompletion({ wantsUsage: false, legacy: false }), rules);
  for (let index = 0; index < count; index += 1) {
    const call = { index, id: `c${index}`, function: callAt(index) };
    takeData(round, JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { tool_calls: [call] } }] }));
  }
  takeData(round, '[DONE]');
  endRound(round);
}

it.each<[string, CallAt]>([
  ['of the client', () => ({ name: 'f', arguments: '' })],
  ['of the client, each whole', () => ({ name: 'f', arguments: '{}' })],
  ['of ours and of the client', (index) => ({ name: index % 2 ? 'f' : 'ours', arguments: '' })],
])(
  '[F-14] thousands of calls %s take linear work',
  async (_, callAt) => {
    await expectLinearWork(CALLS, (count) => read(count, callAt));
    tried('calls in one round', CALLS);
  },
  60_000,
);
