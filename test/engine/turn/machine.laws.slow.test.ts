/** The laws of a turn over arbitrary inputs: what no order, batching or splitting of them may change. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan, type TurnState } from '../../../src/engine/turn/machine/state.ts';
import type { TurnEvent, TurnInput } from '../../../src/protocol/events.ts';
import type { LogProb } from '../../../src/protocol/items.ts';
import { logProbsIn } from '../../../src/protocol/json/log-probs.ts';
import { expectLaws } from '../../support/laws.ts';
import { anyPlan, inputs, widePlan } from './arbitrary-turns.ts';
import {
  CITATION,
  call,
  cite,
  FAIL,
  finish,
  KEEPALIVE,
  LISTED,
  listed,
  OWNED,
  reasoning,
  refusal,
  result,
  search,
  stop,
  text,
  usage,
  used,
} from './turn-script.ts';
import { DEFAULT_PLAN, END, frozen, START } from './whole-turn.ts';

const RUNS = { numRuns: 1_000 };

/** Feeds one batch after another. */
function feed(plan: TurnPlan, batches: readonly (readonly TurnInput[])[]): readonly [TurnState, readonly TurnEvent[]] {
  let state = startState(plan);
  const events: TurnEvent[] = [];
  for (const batch of batches) {
    const [next, emitted] = step(state, batch);
    state = next;
    events.push(...emitted);
  }
  return [state, events];
}

/** The events of a whole turn. */
function turn(plan: TurnPlan, inputs: readonly TurnInput[]): readonly TurnEvent[] {
  const [, events] = feed(plan, [[...inputs, END]]);
  return events;
}

/** How the turn ended, but for the number of events that it took. */
function outcome(plan: TurnPlan, inputs: readonly TurnInput[]): TurnEvent | undefined {
  const end = turn(plan, inputs).at(-1);
  return end?.type === 'turn-end' ? { ...end, sequence: 0 } : end;
}

/** Cuts a list, or a text, after each of these many elements; a size of 0 leaves an empty piece. */
function cut<Whole extends string | readonly unknown[]>(whole: Whole, sizes: readonly number[]): readonly Whole[] {
  const [size, ...more] = sizes;
  if (size === undefined) return [whole];
  return [whole.slice(0, size) as Whole, ...cut(whole.slice(size) as Whole, more)];
}

/** The same delta in pieces; a call's id and name come again with each, as some upstreams send them. */
function split(input: TurnInput, sizes: readonly number[]): readonly TurnInput[] {
  if (input.type === 'tool-call-delta')
    return cut(input.arguments, sizes).map((piece) => ({ ...input, arguments: piece }));
  if (input.type === 'refusal-delta' || input.type === 'reasoning-delta') {
    return cut(input.text, sizes).map((piece) => ({ ...input, text: piece }));
  }
  if (input.type !== 'text-delta') return [input];
  const logprobs = cut(listOf(input.logprobs), sizes);
  return cut(input.text, sizes).map((piece, index) => ({ ...input, text: piece, logprobs: logprobs[index] ?? [] }));
}

function listOf(logprobs: readonly LogProb[] | string = []): readonly LogProb[] {
  return typeof logprobs === 'string' ? logProbsIn(logprobs) : logprobs;
}

/** The list with the input added, in one with the last where both are deltas of the same text or call. */
function merged(inputs: readonly TurnInput[], next: TurnInput): readonly TurnInput[] {
  const both = inputs.length > 0 ? merge(inputs[inputs.length - 1], next) : undefined;
  return both ? [...inputs.slice(0, -1), both] : [...inputs, next];
}

function merge(a: TurnInput | undefined, b: TurnInput): TurnInput | undefined {
  if (a?.type === 'text-delta' && b.type === 'text-delta') {
    return { ...a, text: a.text + b.text, logprobs: [...listOf(a.logprobs), ...listOf(b.logprobs)] };
  }
  if (a?.type === 'refusal-delta' && b.type === 'refusal-delta') return { ...a, text: a.text + b.text };
  if (a?.type === 'reasoning-delta' && b.type === 'reasoning-delta') return { ...a, text: a.text + b.text };
  if (a?.type !== 'tool-call-delta' || b.type !== 'tool-call-delta' || a.call !== b.call) return undefined;
  return { ...a, arguments: a.arguments + b.arguments };
}

describe('any turn', () => {
  it('[P-01, P-02, P-03, P-04, P-05, A-02, A-03, B-09, B-11, B-12, C-03, D-06, D-07, S-11, T-03] keeps the laws for any model output in any order', () => {
    fc.assert(
      fc.property(anyPlan, inputs, (plan, inputs) => void expectLaws(turn(plan, inputs))),
      RUNS,
    );
  });

  it('[P-01] emits the same and ends in the same state, however its inputs are batched', () => {
    fc.assert(
      fc.property(anyPlan, inputs, fc.array(fc.nat(6)), (plan, inputs, sizes) => {
        expect(feed(plan, cut(inputs, sizes))).toStrictEqual(feed(plan, [inputs]));
      }),
      RUNS,
    );
  });

  it('[P-01, P-05] has the same output when its deltas are split into pieces', () => {
    const sizes = fc.array(fc.nat(3), { maxLength: 4 });
    fc.assert(
      fc.property(widePlan, inputs, fc.array(sizes, { minLength: 31, maxLength: 31 }), (plan, inputs, sizes) => {
        const pieces = inputs.flatMap((input, index) => split(input, sizes[index] ?? []));
        expect(outcome(plan, pieces)).toStrictEqual(outcome(plan, inputs));
      }),
      RUNS,
    );
  });

  it('[P-01, P-05] has the same output when neighbouring deltas are merged', () => {
    fc.assert(
      fc.property(widePlan, inputs, (plan, inputs) => {
        expect(outcome(plan, inputs.reduce(merged, []))).toStrictEqual(outcome(plan, inputs));
      }),
      RUNS,
    );
  });
});

describe('step', () => {
  const probable: LogProb = { token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [] };
  const written: readonly TurnInput[] = [
    START,
    reasoning('Hm'),
    call(0, '{"a"', { id: 'call_a', name: 'look_up' }),
    call(1, '', { name: 'send' }),
    { type: 'text-delta', text: 'a', logprobs: [probable] },
    refusal('No.'),
    { type: 'text-delta', text: 'a', logprobs: [probable] },
    cite(CITATION),
    used(usage(1, 2, 3, 4, 5)),
  ];
  const waiting: readonly TurnInput[] = [
    START,
    call(0, '{}', { name: 'ask' }),
    call(1, '', { name: 'look_up' }),
    finish(),
  ];

  it.each<[string, TurnInput]>([
    ['more text', { type: 'text-delta', text: 'b', logprobs: [probable] }],
    ['more arguments', call(0, ':1}')],
    ['another call', call(2, '{}', { name: 'look_up' })],
    ['a call that is dropped', call(3, '{}', { name: 'banned' })],
    ['a refusal', refusal('No.')],
    ['reasoning', reasoning('Hm')],
    ['an annotation', cite(CITATION)],
    ['usage', used(usage(1, 2, 3, 4, 5))],
    ['a search', search('s', 'fog')],
    ['a finish', finish('length')],
    ['a keepalive', KEEPALIVE],
    ['a list of tools', listed('files', LISTED)],
    ['the result of a call', result(1)],
    ['a stop', stop('max_tool_calls')],
    ['a failure', FAIL],
    ['the end', END],
  ])('[P-01] leaves the state it was given as it was on %s, and so answers the same twice', (_, input) => {
    // A function cannot be cloned.
    const bare = { ...DEFAULT_PLAN, seal: undefined };
    const plan = { ...bare, allowedTools: new Set(['look_up', 'send']) };
    const [state] =
      input.type === 'tool-result' ? step(startState({ ...bare, ...OWNED }), waiting) : step(startState(plan), written);
    const before = structuredClone(state);
    const inputs = [input, text('more'), finish()];
    const answers = [step(frozen(state), frozen(inputs)), step(state, inputs)];
    expect({ state, answer: answers[1] }).toEqual({ state: before, answer: answers[0] });
  });

  it('[P-01] leaves the events of earlier steps as they were', () => {
    const [state, events] = step(startState(DEFAULT_PLAN), written);
    const before = structuredClone(events);
    step(state, [text('more'), call(0, ':1}'), cite(CITATION), finish(), END]);
    expect(events).toEqual(before);
  });

  it('emits nothing and stays the same without inputs', () => {
    const [state] = step(startState(DEFAULT_PLAN), written);
    expect(step(state, [])).toEqual([state, []]);
  });
});

// A law that nothing can break proves nothing: turns are tampered with, one event at a time, and the laws must notice.
describe('expectLaws', () => {
  const optional: readonly TurnEvent['type'][] = ['keepalive', 'call-dropped', 'turn-queued'];
  const tamperings = {
    'an event that is missing': (event: TurnEvent) => (mayBeMissing(event) ? [event] : []),
    'an event that is sent twice': (event: TurnEvent) => [event, event],
    'an item with another id': (event: TurnEvent) => [withId(event)],
    'an item in another place': (event: TurnEvent) => ['index' in event ? { ...event, index: event.index + 1 } : event],
    'another text': (event: TurnEvent) => ['text' in event ? { ...event, text: `${event.text}!` } : event],
  } satisfies Record<string, (event: TurnEvent) => readonly TurnEvent[]>;

  it.each(Object.entries(tamperings))('[P-01] notices %s', (_, tamper: (event: TurnEvent) => readonly TurnEvent[]) => {
    fc.assert(
      fc.property(anyPlan, inputs, fc.nat(), (plan, inputs, pick) => {
        const events = turn(plan, inputs);
        const places = [...events.keys()].filter((place) => changes(tamper, events[place]));
        const place = places[pick % places.length];
        fc.pre(place !== undefined);
        const tampered = events.flatMap((event, index) => (index === place ? tamper(event) : [event]));
        expect(() => expectLaws(renumbered(tampered))).toThrow('Broken law');
      }),
      RUNS,
    );
  });

  it('notices a number that is skipped', () => {
    const skipped = turn(DEFAULT_PLAN, [START]).filter(({ type }) => type !== 'turn-progress');
    expect(() => expectLaws(skipped)).toThrow('Broken law: sequence is dense from 0 (expected 1)');
  });

  /** Where the turn fails, code that had begun to run looks as if it had been cut off. */
  function mayBeMissing(event: TurnEvent): boolean {
    return event.type === 'call-state' && event.state === 'interpreting';
  }

  function changes(tamper: (event: TurnEvent) => readonly TurnEvent[], event: TurnEvent | undefined): boolean {
    return event !== undefined && !optional.includes(event.type) && !isDeepStrictEqual(tamper(event), [event]);
  }

  function withId(event: TurnEvent): TurnEvent {
    if ('itemId' in event) return { ...event, itemId: 'msg_other' };
    return 'item' in event ? { ...event, item: { ...event.item, id: 'msg_other' } } : event;
  }

  function renumbered(events: readonly TurnEvent[]): readonly TurnEvent[] {
    let sequence = 0;
    return events.map((event) => ('sequence' in event ? { ...event, sequence: sequence++ } : event));
  }
});
