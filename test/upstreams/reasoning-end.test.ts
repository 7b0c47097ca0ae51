/** What the machine makes of the end of a thought: one item for each, with what leads back to it. */
import fc from 'fast-check';
import { step } from '../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan } from '../../src/engine/turn/machine/state.ts';
import type { ModelEvent, TurnEvent, TurnInput } from '../../src/protocol/events.ts';
import { expectLaws } from '../support/laws.ts';

const PLAN: TurnPlan = {
  seal: String,
  seed: 'a'.repeat(32),
  reasoning: 'summary_text',
  owners: new Map(),
  ownedAs: 'mcp_call',
  queuedEvent: false,
  outputBytes: 1 << 20,
  argumentBytes: 1 << 20,
};

/** A whole turn of what the model says, in batches of `size`; its last event. */
function played(written: readonly ModelEvent[], plan: Partial<TurnPlan> = {}, size = written.length + 2) {
  const inputs: readonly TurnInput[] = [{ type: 'start' }, ...written, { type: 'end', at: 1 }];
  const reported: TurnEvent[] = [];
  let state = startState({ ...PLAN, ...plan });
  for (let start = 0; start < inputs.length; start += size) {
    const [next, events] = step(state, inputs.slice(start, start + size));
    state = next;
    reported.push(...events);
  }
  expectLaws(reported);
  const end = reported.at(-1);
  if (end?.type !== 'turn-end') throw new Error('The turn did not end.');
  return end;
}

const thinks = (text: string): ModelEvent => ({ type: 'reasoning-delta', text });
const seals = (state: string): ModelEvent => ({ type: 'reasoning-end', state });
const FINISH: ModelEvent = { type: 'finish', reason: 'stop' };

describe('the end of a thought', () => {
  const part = (text: string) => [{ type: 'summary_text', text }];

  it('[X-07] [S-08] closes its item with what leads back to it, and the next thought has its own', () => {
    const { output } = played([
      thinks('a'),
      thinks('b'),
      seals('one'),
      thinks('c'),
      seals('two'),
      seals('three'),
      FINISH,
    ]);
    const item = { type: 'reasoning', status: 'completed' };
    expect(output).toMatchObject([
      { ...item, summary: part('ab'), encrypted_content: 'one' },
      { ...item, summary: part('c'), encrypted_content: 'two' },
      { ...item, summary: [], encrypted_content: 'three' },
    ]);
  });

  it('[X-07] [S-08] goes beside raw reasoning as well', () => {
    const { output } = played([thinks('a'), seals('one'), FINISH], { reasoning: 'reasoning_text' });
    expect(output).toMatchObject([{ summary: [], content: [{ text: 'a' }], encrypted_content: 'one' }]);
  });

  it('[X-07] emits nothing where the model was cut off', () => {
    const { output } = played([thinks('a'), { type: 'finish', reason: 'length' }, seals('one')]);
    expect(output).toEqual([expect.not.objectContaining({ encrypted_content: 'one' })]);
    expect(output).toMatchObject([{ status: 'incomplete', summary: part('a') }]);
  });

  it('[V-01] opens no item where nothing may be kept of it', () => {
    const { output } = played([thinks('a'), seals('one'), seals('two'), FINISH], { seal: undefined });
    expect(output).toMatchObject([{ type: 'reasoning', summary: part('a') }]);
    expect(output[0]).not.toHaveProperty('encrypted_content');
  });

  it('[X-07] counts against the limit of a response', () => {
    expect(played([seals('x'.repeat(200)), FINISH], { outputBytes: 100 }).error?.code).toBe('output_too_large');
  });

  it('[X-07] [Q-06] keeps every law among any other output, however it is batched', () => {
    const event: fc.Arbitrary<ModelEvent> = fc.oneof(
      fc.record({ type: fc.constant('reasoning-end' as const), state: fc.string({ minLength: 1 }) }),
      fc.record({ type: fc.constant('reasoning-delta' as const), text: fc.string() }),
      fc.record({ type: fc.constant('text-delta' as const), text: fc.string() }),
      fc.record({
        type: fc.constant('tool-call-delta' as const),
        call: fc.nat(2),
        name: fc.constant('look'),
        arguments: fc.string(),
      }),
      fc.record({ type: fc.constant('finish' as const), reason: fc.constantFrom('stop' as const, 'length' as const) }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), fc.integer({ min: 1, max: 5 }), (written, size) => {
        expect(played(written, {}, size)).toEqual(played(written));
      }),
    );
  });
});
