/** What the machine makes of the start of a message: an item of its own, with its phase, once it has any content. */
import type { ModelEvent } from '../../../src/protocol/events.ts';
import { endOf } from './whole-turn.ts';

const says = (text: string): ModelEvent => ({ type: 'text-delta', text });
const thinks = (text: string): ModelEvent => ({ type: 'reasoning-delta', text });
const starts = (phase?: string): ModelEvent => ({ type: 'message-start', ...(phase ? { phase } : {}) });
const FINISH: ModelEvent = { type: 'finish', reason: 'stop' };

/** Type, phase and words of each item. */
const reported = (written: readonly ModelEvent[]) =>
  endOf(written).output.map((item) => [item.type, 'phase' in item ? item.phase : undefined, JSON.stringify(item)]);
const phases = (written: readonly ModelEvent[]) => reported(written).map(([type, phase]) => [type, phase]);

describe('the start of a message', () => {
  it('[V-05] closes the message before it and gives the next words an item of their own', () => {
    const written = [starts('commentary'), says('a'), says('b'), starts('final_answer'), says('c'), FINISH];
    expect(endOf(written).output).toMatchObject([
      { type: 'message', status: 'completed', phase: 'commentary', content: [{ text: 'ab' }] },
      { type: 'message', status: 'completed', phase: 'final_answer', content: [{ text: 'c' }] },
    ]);
  });

  it('[V-05] is no item by itself, and the last one before the words counts', () => {
    expect(phases([starts('x'), starts('y'), says('a'), starts('z'), FINISH])).toEqual([['message', 'y']]);
  });

  it('[V-05] waits for its words past thoughts and calls, but not past the end of the model call', () => {
    const call: ModelEvent = { type: 'tool-call-delta', call: 0, id: 'c', name: 'f', arguments: '{}' };
    expect(phases([starts('x'), thinks('a'), call, says('b'), FINISH, says('c'), FINISH])).toEqual([
      ['reasoning', undefined],
      ['function_call', undefined],
      ['message', 'x'],
      ['message', undefined],
    ]);
    expect(phases([starts('x'), FINISH, says('c'), FINISH])).toEqual([['message', undefined]]);
  });

  it('[V-05] leaves the thought that is being written as it is', () => {
    expect(phases([thinks('a'), starts('x'), thinks('b'), says('c'), FINISH])).toEqual([
      ['reasoning', undefined],
      ['message', 'x'],
    ]);
  });

  it('[V-05] emits nothing if the model was cut off', () => {
    const { output } = endOf([says('a'), { type: 'finish', reason: 'length' }, starts('x'), says('b')]);
    expect(output).toMatchObject([{ status: 'incomplete', content: [{ text: 'a' }] }]);
  });

  it('[V-05] counts against the limit of a response', () => {
    const { error } = endOf([starts('x'.repeat(200)), says('a'), FINISH], { outputBytes: 100 });
    expect(error?.code).toBe('output_too_large');
  });
});
