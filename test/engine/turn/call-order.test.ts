/** How much work it is to put interleaved calls in order, in the machine and in chunks that are passed on. */
import { CallLine } from '../../../src/apis/chat-completions/call-line.ts';
import { step } from '../../../src/engine/turn/machine.ts';
import { startState } from '../../../src/engine/turn/state.ts';
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

function line(inputs: readonly TurnInput[]): void {
  const calls = new CallLine();
  for (const input of inputs) {
    if (input.type === 'tool-call-delta') calls.take({ call: input.call, text: input.arguments }, 'frame');
    else calls.takeOther('frame');
  }
  calls.flush();
}

it('[V-31] is linear in the calls that are open at once', async () => {
  await expectLinearWork(4_096, (size) => turn(interleaved(size)));
  await expectLinearWork(8_000, (size) => line(interleaved(size)));
});

it('[V-31] is linear in the pieces of calls that take turns, and in the text behind them', async () => {
  await expectLinearWork(4_000, (size) => turn(alternating(size)));
  await expectLinearWork(40_000, (size) =>
    line([...alternating(size), ...Array.from({ length: size }, () => text('a'))]),
  );
});
