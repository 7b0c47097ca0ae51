/** How much work it is to put interleaved calls in order, in the machine and in chunks that are passed on. */
import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState } from '../../../src/engine/turn/machine/state.ts';
import type { TurnInput } from '../../../src/protocol/events.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { call, finish, text } from './turn-script.ts';
import { DEFAULT_PLAN, END, START } from './whole-turn.ts';

/** So many calls that are all open at once, whose arguments come in turns. */
function interleaved(calls: number): readonly TurnInput[] {
  const numbers = Array.from({ length: calls }, (_, index) => index);
  return ['{"a"', ':', '1', '}'].flatMap((piece) => numbers.map((number) => call(number, piece, { name: 'ask' })));
}

/** Two calls, of which the first grows with each piece of the second. */
function alternating(pieces: number): readonly TurnInput[] {
  return Array.from({ length: pieces }, () => [call(0, '{ ', { name: 'ask' }), call(1, '{ ', { name: 'add' })]).flat();
}

function turn(inputs: readonly TurnInput[]): void {
  let state = startState({ ...DEFAULT_PLAN, outputBytes: 1e9, argumentBytes: 1e9 });
  for (const input of [START, ...inputs, finish(), END]) [state] = step(state, [input]);
}

/** The same as chunks that are passed on, each behind what was read from it. */
function withChunks(inputs: readonly TurnInput[]): readonly TurnInput[] {
  return inputs.flatMap((input) => {
    const call = input.type === 'tool-call-delta' ? input.call : undefined;
    const raw = {
      type: 'raw',
      data: 'x',
      chunk: undefined,
      call,
      isOutput: true,
      isEnd: false,
      part: 0,
      parts: 1,
    } as const;
    return [input, raw];
  });
}

it('[V-31] is linear in the calls that are open at once', async () => {
  await expectLinearWork(4_096, (size) => turn(interleaved(size)));
  await expectLinearWork(8_000, (size) => turn(withChunks(interleaved(size))));
});

it('[V-31] is linear in the pieces of calls that take turns, and in the text behind them', async () => {
  await expectLinearWork(4_000, (size) => turn(alternating(size)));
  await expectLinearWork(40_000, (size) =>
    turn(withChunks([...alternating(size), ...Array.from({ length: size }, () => text('a'))])),
  );
});

describe('a chunk that is passed on', () => {
  const kinds = (inputs: readonly TurnInput[]) => {
    let state = startState(DEFAULT_PLAN);
    return withChunks(inputs).map((input) => {
      const [next, events] = step(state, [input]);
      state = next;
      return events.flatMap((event) => (event.type === 'raw' ? [event.call] : []));
    });
  };

  it('[V-31] follows what was read from it, also where that waits for a call', () => {
    const [first, second, rest] = [call(0, '{', { name: 'a' }), call(1, '{}', { name: 'b' }), call(0, '}')];
    const sent = kinds([first, second, rest, text('Hi')]);
    expect(sent).toEqual([[], [0], [], [], [], [0], [1], [undefined]]);
  });

  it('[V-31] is no part of an answer where the call is not allowed', () => {
    const [state] = step(startState({ ...DEFAULT_PLAN, allowedTools: new Set() }), [call(0, '{}', { name: 'a' })]);
    const raw = { type: 'raw', data: 'x', chunk: undefined, isOutput: true, isEnd: false, part: 0, parts: 1 } as const;
    expect(step(state, [{ ...raw, call: 0 }])[1]).toEqual([]);
  });
});
