/** As many calls as one answer may contain, each in a chunk of its own: no chunk may search through all calls before it. */
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import { run } from '../apis/chat-completions/answer-frames.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { tally } from './tally.ts';

const { tried } = tally('rounds');

const CALLS = 8000;
const limits = { ...DEFAULT_LIMITS, outputBytes: 1e9, argumentBytes: 1e9, eventBytes: 1e9 };

type CallAt = (index: number) => { readonly name: string; readonly arguments: string };

async function read(count: number, callAt: CallAt): Promise<void> {
  const chunks = Array.from({ length: count }, (_, index) => {
    const call = { index, id: `c${index}`, function: callAt(index) };
    return JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { tool_calls: [call] } }] });
  });
  const { error } = await run([[...chunks, '[DONE]']], { limits });
  expect(error).toBeUndefined();
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
