/** The laws of a turn over arbitrary inputs: what no order, batching or splitting of them may change. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { ModelEvent, TurnEvent, TurnInput, Usage } from '../../src/protocol/events.ts';
import type { LogProb, TopLogProb } from '../../src/protocol/items.ts';
import { logProbsIn, logProbsText } from '../../src/protocol/log-probs.ts';
import { step } from '../../src/turn/machine.ts';
import { startState, type ToolOwner, type TurnPlan, type TurnState } from '../../src/turn/state.ts';
import { expectLaws } from '../support/laws.ts';

const RUNS = { numRuns: 1_000 };
const START: TurnInput = { type: 'start' };
const END: TurnInput = { type: 'end', at: 1_700_000_000 };

// Both halves of an emoji stand alone here, as they do when an upstream cuts its text by UTF-16 units.
const unit = fc.constantFrom('a', 'Z', ' ', '\n', '\0', '{', '}', '"', 'é', '中', '😀', '\ud83d', '\ude00');
const text = fc.string({ unit, maxLength: 8 });

const topLogProb: fc.Arbitrary<TopLogProb> = fc.record({
  token: text,
  logprob: fc.double({ max: 0, noNaN: true, noDefaultInfinity: true }),
  bytes: fc.array(fc.nat(255), { maxLength: 4 }),
});
const list = fc.array(
  topLogProb.map((top) => ({ ...top, top_logprobs: [top] })),
  { maxLength: 2 },
);
const logprobs = fc.oneof(list, list.map(logProbsText));

const usage: fc.Arbitrary<Usage> = fc.record({
  input_tokens: fc.nat(),
  input_tokens_details: fc.record({ cached_tokens: fc.nat(), cache_write_tokens: fc.nat() }),
  output_tokens: fc.nat(),
  output_tokens_details: fc.record({ reasoning_tokens: fc.nat() }),
  total_tokens: fc.nat(),
});

const textDelta = fc.record(
  { type: fc.constant('text-delta' as const), text, logprobs },
  { requiredKeys: ['type', 'text'] },
);
const refusalDelta = fc.record({ type: fc.constant('refusal-delta' as const), text });
const reasoningDelta = fc.record({ type: fc.constant('reasoning-delta' as const), text });
// What models write as code, too: text alone seldom becomes the start of a JSON object.
const written = fc.oneof(text, fc.constantFrom('{"co', 'de":"', '{"code": "1 + 1', '"}', '\\n', '\\u00'));
const callDelta = fc.record(
  {
    type: fc.constant('tool-call-delta' as const),
    call: fc.oneof({ weight: 9, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.integer() }),
    id: fc.constantFrom('', 'call_a', 'call_b', 'call_c'),
    name: fc.constantFrom('', 'look_up', 'send', 'banned'),
    arguments: written,
  },
  { requiredKeys: ['type', 'call', 'arguments'] },
);
const annotation = fc.record({
  type: fc.constant('annotation' as const),
  annotation: fc.record({
    type: fc.constant('url_citation' as const),
    url: fc.webUrl(),
    title: text,
    start_index: fc.nat(),
    end_index: fc.nat(),
  }),
});
const search = fc.constantFrom('one', 'two');
const searchStart = fc.record({
  type: fc.constant('search-start' as const),
  search,
  action: fc.oneof(
    text.map((query) => ({ type: 'search' as const, query, queries: [query] })),
    fc.webUrl().map((url) => ({ type: 'open_page' as const, url })),
  ),
});
const searchEnd = fc.record(
  {
    type: fc.constant('search-end' as const),
    search,
    failed: fc.boolean(),
    sources: fc.array(fc.record({ type: fc.constant('url' as const), url: fc.webUrl() }), { maxLength: 2 }),
    encrypted: fc.string({ minLength: 1 }),
  },
  { requiredKeys: ['type', 'search', 'failed', 'sources'] },
);
const usageEvent = fc.record({ type: fc.constant('usage' as const), usage });
const finish = fc.record({
  type: fc.constant('finish' as const),
  reason: fc.constantFrom('stop' as const, 'length' as const, 'content_filter' as const),
});

const modelEvent: fc.Arbitrary<ModelEvent> = fc.oneof(
  { weight: 6, arbitrary: textDelta },
  { weight: 2, arbitrary: refusalDelta },
  { weight: 4, arbitrary: reasoningDelta },
  { weight: 8, arbitrary: callDelta },
  { weight: 2, arbitrary: annotation },
  { weight: 2, arbitrary: searchStart },
  { weight: 2, arbitrary: searchEnd },
  { weight: 1, arbitrary: usageEvent },
  { weight: 2, arbitrary: finish },
);

const toolResult = fc.record(
  {
    type: fc.constant('tool-result' as const),
    index: fc.oneof({ weight: 9, arbitrary: fc.nat(6) }, { weight: 1, arbitrary: fc.integer() }),
    output: fc.oneof(
      text,
      fc.array(
        fc.constantFrom(
          { type: 'input_text', text: 'Seen.' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
        ),
        { maxLength: 3 },
      ),
    ),
    failed: fc.boolean(),
    outputs: fc.constantFrom([], [{ type: 'logs' as const, logs: '4' }]),
  },
  { requiredKeys: ['type', 'index', 'output', 'failed'] },
);
const toolsListed = fc.record({
  type: fc.constant('tools-listed' as const),
  server: fc.constantFrom('files', 'mail'),
  tools: fc.constantFrom([], [{ name: 'look.up', input_schema: { type: 'object' } }]),
});
const stop = fc.record({
  type: fc.constant('stop' as const),
  reason: fc.constantFrom('max_tool_calls' as const, 'max_tool_iterations' as const),
});

const error = { message: 'The upstream went away.', type: 'server_error', param: null, code: 'upstream_error' };
const input: fc.Arbitrary<TurnInput> = fc.oneof(
  { weight: 60, arbitrary: modelEvent },
  { weight: 12, arbitrary: toolResult },
  { weight: 3, arbitrary: toolsListed },
  { weight: 2, arbitrary: stop },
  { weight: 4, arbitrary: fc.constant<TurnInput>({ type: 'keepalive' }) },
  { weight: 1, arbitrary: fc.constant<TurnInput>({ type: 'fail', error }) },
  { weight: 1, arbitrary: fc.constant<TurnInput>(END) },
);
const approved = fc.record({
  type: fc.constant('call-approved' as const),
  name: fc.constantFrom('look_up', 'send'),
  arguments: fc.constantFrom('{}', '{"a":1}'),
  approvalRequestId: fc.constant('mcpr_1'),
});
const inputs = fc
  .tuple(fc.array(approved, { maxLength: 2 }), fc.array(input, { maxLength: 30 }))
  .map(([first, middle]): readonly TurnInput[] => [START, ...first, ...middle]);

const PLAN: TurnPlan = {
  seed: '0123456789abcdef0123456789abcdef',
  reasoning: 'summary_text',
  queuedEvent: false,
  outputBytes: 1_000_000,
  argumentBytes: 1_000_000,
  owners: new Map(),
  ownedAs: 'mcp_call',
};
const owner: fc.Arbitrary<ToolOwner> = fc.record(
  {
    server: fc.constantFrom('files', 'mail'),
    name: fc.constantFrom('look.up', 'send'),
    container: fc.constant('cntr_1'),
    needsApproval: fc.constant(true as const),
  },
  { requiredKeys: ['server', 'name'] },
);
const owners = fc.dictionary(fc.constantFrom('', 'look_up', 'send', 'banned'), owner);
const widePlan = fc
  .record(
    {
      reasoning: fc.constantFrom('summary_text' as const, 'reasoning_text' as const),
      allowedTools: fc.constant<ReadonlySet<string>>(new Set(['', 'look_up', 'send'])),
      queuedEvent: fc.boolean(),
      owners: owners.map((owners): ReadonlyMap<string, ToolOwner> => new Map(Object.entries(owners))),
      ownedAs: fc.constantFrom('mcp_call' as const, 'function_call' as const),
    },
    { requiredKeys: [] },
  )
  .map((chosen): TurnPlan => ({ ...PLAN, ...chosen }));
const narrowPlan = fc
  .tuple(widePlan, fc.nat(120), fc.nat(20))
  .map(([plan, outputBytes, argumentBytes]): TurnPlan => ({ ...plan, outputBytes, argumentBytes }));
const anyPlan = fc.oneof({ weight: 3, arbitrary: widePlan }, { weight: 1, arbitrary: narrowPlan });

/** Feeds one batch after another. */
function feed(plan: TurnPlan, batches: readonly (readonly TurnInput[])[]): readonly [TurnState, readonly TurnEvent[]] {
  let state = startState(plan);
  const events: TurnEvent[] = [];
  for (const batch of batches) {
    const [next, said] = step(state, batch);
    state = next;
    events.push(...said);
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
  it('[P-01, P-02, P-03, P-04, P-05, A-02, A-03, B-09, B-11, B-12, C-03, D-06, D-07, S-11, T-03] keeps the laws, whatever the model says and in whatever order', () => {
    fc.assert(
      fc.property(anyPlan, inputs, (plan, inputs) => expectLaws(turn(plan, inputs))),
      RUNS,
    );
  });

  it('[P-01] says the same and ends in the same state, however its inputs are batched', () => {
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

// A law that nothing can break proves nothing: turns are tampered with, one event at a time, and the laws must notice.
describe('expectLaws', () => {
  const optional: readonly TurnEvent['type'][] = ['keepalive', 'call-dropped', 'turn-queued'];
  const tamperings = {
    'an event that is missing': (event: TurnEvent) => (mayBeMissing(event) ? [event] : []),
    'an event that is said twice': (event: TurnEvent) => [event, event],
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
    const skipped = turn(PLAN, [START]).filter(({ type }) => type !== 'turn-progress');
    expect(() => expectLaws(skipped)).toThrow('Broken law: sequence is dense from 0 (expected 1)');
  });

  /** Where the turn fails, code that had begun to run looks as if it had been cut off. */
  function mayBeMissing(event: TurnEvent): boolean {
    return event.type === 'code-progress' && event.state === 'interpreting';
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
