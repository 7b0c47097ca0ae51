/** What the turn machine says, case by case: inputs in, events out. */
import type { ErrorBody } from '../../../src/core/errors.ts';
import type { LogProb, OutputItem, UrlCitation } from '../../../src/core/items.ts';
import type { FinishReason, ModelEvent, TurnEvent, TurnInput, Usage } from '../../../src/core/turn/events.ts';
import { step } from '../../../src/core/turn/machine.ts';
import { NO_USAGE, startState, type TurnPlan } from '../../../src/core/turn/state.ts';
import { unreachable } from '../../../src/core/unreachable.ts';
import { expectLaws } from '../../support/laws.ts';

const SEED = '0123456789abcdef0123456789abcdef';
const AT = 1_700_000_000;
const PLAN: TurnPlan = {
  seed: SEED,
  reasoning: 'summary_text',
  queuedEvent: false,
  outputBytes: 1_000_000,
  argumentBytes: 1_000_000,
  owners: new Map(),
  ownedAs: 'mcp_call',
};

const START: TurnInput = { type: 'start' };
const END: TurnInput = { type: 'end', at: AT };
const KEEPALIVE: TurnInput = { type: 'keepalive' };
const ERROR: ErrorBody = { message: 'It broke.', type: 'server_error', param: null, code: 'upstream_error' };
const FAIL: TurnInput = { type: 'fail', error: ERROR };
const CITATION: UrlCitation = { type: 'url_citation', url: 'https://a.b', title: 'A', start_index: 0, end_index: 2 };

const text = (text: string): ModelEvent => ({ type: 'text-delta', text });
const refusal = (text: string): ModelEvent => ({ type: 'refusal-delta', text });
const reasoning = (text: string): ModelEvent => ({ type: 'reasoning-delta', text });
const call = (call: number, args: string, more: { id?: string; name?: string } = {}): ModelEvent => ({
  type: 'tool-call-delta',
  call,
  arguments: args,
  ...more,
});
const cite = (annotation: UrlCitation): ModelEvent => ({ type: 'annotation', annotation });
const used = (usage: Usage): ModelEvent => ({ type: 'usage', usage });
const finish = (reason: FinishReason = 'stop'): ModelEvent => ({ type: 'finish', reason });

/** Usage in which every field tells its own. */
function usage(input: number, cached: number, output: number, reasoning: number, total: number): Usage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  };
}

/** Freezes all of it, so that a step that changes what it was given throws. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}

/** The events of these inputs, one step each, from states that must not change. */
function feed(inputs: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly TurnEvent[] {
  let state = startState({ ...PLAN, ...plan });
  return inputs.flatMap((input) => {
    const [next, events] = step(frozen(state), frozen([input]));
    state = next;
    return events;
  });
}

/** The events of a whole turn, which keep the laws. */
function turn(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly TurnEvent[] {
  const events = feed([START, ...model, END], plan);
  expectLaws(events);
  return events;
}

/** What is left when a turn has ended. */
function ended(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}) {
  const end = turn(model, plan).at(-1);
  if (end?.type !== 'turn-end') throw new Error('a turn ends with turn-end');
  return end;
}

function outputOf(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly OutputItem[] {
  return ended(model, plan).output;
}

function callIdsOf(model: readonly TurnInput[]): readonly string[] {
  return outputOf(model).flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []));
}

/** Everything between the opening of a turn and its end, one short line for each event. */
function said(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly string[] {
  return turn(model, plan).slice(2).map(line);
}

/** An event as `type place what`; the place is the item's index, and `.` the part's. Ids and repeats are left to the laws. */
function line(event: TurnEvent): string {
  switch (event.type) {
    case 'item-start':
      return `item-start ${event.index} ${event.item.type}`;
    case 'part-start':
      return `part-start ${event.index}.${event.partIndex} ${event.part.type}`;
    case 'text-delta':
    case 'text-end':
      return `${event.type} ${event.index}.${event.partIndex} ${JSON.stringify(event.text)}`;
    case 'annotation':
      return `annotation ${event.index}.${event.partIndex} ${event.annotationIndex}`;
    case 'part-end':
      return `part-end ${event.index}.${event.partIndex}`;
    case 'arguments-delta':
      return `arguments-delta ${event.index} ${event.text}`;
    case 'arguments-end':
      return `arguments-end ${event.index} ${event.name} ${event.arguments}`;
    case 'item-end':
      return `item-end ${event.index} ${event.item.status}`;
    case 'call-dropped':
      return `call-dropped ${event.name}`;
    case 'error':
      return `error ${event.error.code}`;
    case 'turn-end':
      return `turn-end ${event.status}`;
    case 'turn-start':
    case 'turn-queued':
    case 'turn-progress':
    case 'heartbeat':
    case 'keepalive':
      return event.type;
    default:
      return unreachable(event);
  }
}

interface Row {
  readonly name: string;
  readonly plan?: Partial<TurnPlan>;
  readonly model: readonly TurnInput[];
  readonly says: readonly string[];
}

const TEXT: readonly Row[] = [
  {
    name: '[B-01] says one text in several deltas',
    model: [text('Hel'), text('lo'), text('!'), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'text-delta 0.0 "Hel"',
      'text-delta 0.0 "lo"',
      'text-delta 0.0 "!"',
      'text-end 0.0 "Hello!"',
      'part-end 0.0',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[C-14] keeps deltas of nothing but whitespace',
    model: [text('\n'), text('a'), text(' '), text('b'), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'text-delta 0.0 "\\n"',
      'text-delta 0.0 "a"',
      'text-delta 0.0 " "',
      'text-delta 0.0 "b"',
      'text-end 0.0 "\\na b"',
      'part-end 0.0',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[C-13] has no item where the model wrote nothing',
    model: [finish()],
    says: ['turn-end completed'],
  },
  {
    name: '[C-13] says nothing of empty deltas, before or within a text',
    model: [text(''), refusal(''), reasoning(''), text('a'), text(''), refusal(''), reasoning(''), text('b'), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'text-delta 0.0 "a"',
      'text-delta 0.0 "b"',
      'text-end 0.0 "ab"',
      'part-end 0.0',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[S-09] puts a refusal into a part of its own beside the text',
    model: [text('Well'), refusal('I '), refusal('cannot.'), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'text-delta 0.0 "Well"',
      'text-end 0.0 "Well"',
      'part-end 0.0',
      'part-start 0.1 refusal',
      'text-delta 0.1 "I "',
      'text-delta 0.1 "cannot."',
      'text-end 0.1 "I cannot."',
      'part-end 0.1',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[S-09] numbers the annotations of a text, wherever among the deltas they come',
    model: [cite(CITATION), text('Hi'), cite(CITATION), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'annotation 0.0 0',
      'text-delta 0.0 "Hi"',
      'annotation 0.0 1',
      'text-end 0.0 "Hi"',
      'part-end 0.0',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
];

const ORDER: readonly Row[] = [
  {
    name: '[P-03] closes the reasoning before the text opens',
    model: [reasoning('Hm'), reasoning('m'), text('Hi'), finish()],
    says: [
      'item-start 0 reasoning',
      'part-start 0.0 summary_text',
      'text-delta 0.0 "Hm"',
      'text-delta 0.0 "m"',
      'text-end 0.0 "Hmm"',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 message',
      'part-start 1.0 output_text',
      'text-delta 1.0 "Hi"',
      'text-end 1.0 "Hi"',
      'part-end 1.0',
      'item-end 1 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-02] keeps the text before and after a tool call as items of their own, in order',
    model: [text('Let me look.'), call(0, '{}', { id: 'call_a', name: 'look_up' }), text('Found.'), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'text-delta 0.0 "Let me look."',
      'text-end 0.0 "Let me look."',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 function_call',
      'arguments-delta 1 {}',
      'item-start 2 message',
      'part-start 2.0 output_text',
      'text-delta 2.0 "Found."',
      'arguments-end 1 look_up {}',
      'item-end 1 completed',
      'text-end 2.0 "Found."',
      'part-end 2.0',
      'item-end 2 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-02, B-42] gives a second model call items of its own, though it numbers its calls from 0 again',
    model: [call(0, '{"q":1}', { name: 'look_up' }), finish(), call(0, '{"q":2}', { name: 'send' }), finish()],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {"q":1}',
      'arguments-end 0 look_up {"q":1}',
      'item-end 0 completed',
      'item-start 1 function_call',
      'arguments-delta 1 {"q":2}',
      'arguments-end 1 send {"q":2}',
      'item-end 1 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-08] closes what is open where the upstream never says that it finished',
    model: [call(0, '{}', { name: 'look_up' }), text('Hi')],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'item-start 1 message',
      'part-start 1.0 output_text',
      'text-delta 1.0 "Hi"',
      'arguments-end 0 look_up {}',
      'item-end 0 completed',
      'text-end 1.0 "Hi"',
      'part-end 1.0',
      'item-end 1 completed',
      'turn-end completed',
    ],
  },
];

const CALLS: readonly Row[] = [
  {
    name: '[P-05, B-09, C-15] keeps interleaved parallel calls apart',
    model: [
      call(0, '{"a"', { id: 'call_a', name: 'look_up' }),
      call(1, '{"b"', { id: 'call_b', name: 'send' }),
      call(0, ':1}'),
      call(1, ':2}'),
      finish(),
    ],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {"a"',
      'item-start 1 function_call',
      'arguments-delta 1 {"b"',
      'arguments-delta 0 :1}',
      'arguments-delta 1 :2}',
      'arguments-end 0 look_up {"a":1}',
      'item-end 0 completed',
      'arguments-end 1 send {"b":2}',
      'item-end 1 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-05] opens a call once though each delta repeats its id and name',
    model: [
      call(0, '{"a"', { id: 'call_a', name: 'look_up' }),
      call(0, ':1}', { id: 'call_a', name: 'look_up' }),
      finish(),
    ],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {"a"',
      'arguments-delta 0 :1}',
      'arguments-end 0 look_up {"a":1}',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-05] gives a call without arguments `{}`, as a delta too',
    model: [call(0, '', { name: 'look_up' }), finish()],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up {}',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-05] completes arguments of nothing but whitespace to `{}`',
    model: [call(0, ' ', { name: 'look_up' }), finish()],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0  ',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up  {}',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[D-13] drops a call that is not allowed, with its later deltas, and keeps the others',
    plan: { allowedTools: new Set(['look_up']) },
    model: [
      call(0, '{"a"', { name: 'send' }),
      call(1, '{}', { name: 'look_up' }),
      call(0, ':1}', { name: 'look_up' }),
      finish(),
    ],
    says: [
      'call-dropped send',
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up {}',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[D-13] does not close the text for a call that it drops',
    plan: { allowedTools: new Set() },
    model: [text('Hel'), call(0, '{}', { name: 'send' }), text('lo'), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'text-delta 0.0 "Hel"',
      'call-dropped send',
      'text-delta 0.0 "lo"',
      'text-end 0.0 "Hello"',
      'part-end 0.0',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[D-13] drops calls by their number for one model call only',
    plan: { allowedTools: new Set(['look_up']) },
    model: [call(0, '{}', { name: 'send' }), finish(), call(0, '{}', { name: 'look_up' }), finish()],
    says: [
      'call-dropped send',
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up {}',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
];

const CUT_OFF: readonly Row[] = [
  {
    name: '[S-11, B-03, D-06] leaves the text incomplete where the model ran out of tokens',
    model: [reasoning('Hm'), text('Hel'), finish('length')],
    says: [
      'item-start 0 reasoning',
      'part-start 0.0 summary_text',
      'text-delta 0.0 "Hm"',
      'text-end 0.0 "Hm"',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 message',
      'part-start 1.0 output_text',
      'text-delta 1.0 "Hel"',
      'text-end 1.0 "Hel"',
      'part-end 1.0',
      'item-end 1 incomplete',
      'turn-end incomplete',
    ],
  },
  {
    name: '[S-11, D-06] leaves only the last of several calls incomplete, with the arguments that it got',
    model: [call(0, '{}', { name: 'look_up' }), call(1, '{"b', { name: 'send' }), finish('content_filter')],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'item-start 1 function_call',
      'arguments-delta 1 {"b',
      'arguments-end 0 look_up {}',
      'item-end 0 completed',
      'arguments-end 1 send {"b',
      'item-end 1 incomplete',
      'turn-end incomplete',
    ],
  },
  {
    name: '[S-11] does not complete the arguments of a call that was cut off before they came',
    model: [call(0, '', { name: 'look_up' }), finish('length')],
    says: ['item-start 0 function_call', 'arguments-end 0 look_up ', 'item-end 0 incomplete', 'turn-end incomplete'],
  },
  {
    name: '[S-11, D-06] stays cut off though the upstream finishes once more',
    model: [text('Hel'), finish('length'), finish('stop')],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'text-delta 0.0 "Hel"',
      'text-end 0.0 "Hel"',
      'part-end 0.0',
      'item-end 0 incomplete',
      'turn-end incomplete',
    ],
  },
  {
    name: '[P-04] closes what is open when the turn fails, with one error and one end',
    model: [call(0, '{"a', { name: 'look_up' }), text('Hel'), FAIL, FAIL],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {"a',
      'item-start 1 message',
      'part-start 1.0 output_text',
      'text-delta 1.0 "Hel"',
      'arguments-end 0 look_up {"a',
      'item-end 0 incomplete',
      'text-end 1.0 "Hel"',
      'part-end 1.0',
      'item-end 1 incomplete',
      'error upstream_error',
      'turn-end failed',
    ],
  },
  {
    name: '[P-04] keeps the items of the first round when a later one fails',
    model: [call(0, '{}', { name: 'look_up' }), finish(), FAIL],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up {}',
      'item-end 0 completed',
      'error upstream_error',
      'turn-end failed',
    ],
  },
  {
    name: '[D-07] says nothing after the end',
    model: [END, text('Hi'), call(0, '{}'), cite(CITATION), finish(), START, KEEPALIVE, FAIL],
    says: ['turn-end completed'],
  },
];

describe.each([
  ['a text', TEXT],
  ['the order of items', ORDER],
  ['tool calls', CALLS],
  ['a turn that is cut off', CUT_OFF],
])('%s', (_, rows) => {
  it.each(rows)('$name', ({ model, plan, says }) => {
    expect(said(model, plan)).toEqual(says);
  });
});

describe('the opening', () => {
  it('[A-02, A-03] says that the turn started and is in progress', () => {
    expect(feed([START])).toEqual([
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-progress', sequence: 1 },
    ]);
  });

  it('[M-14] says `queued` in between where the host wants it', () => {
    expect(feed([START], { queuedEvent: true })).toEqual([
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-queued', sequence: 1 },
      { type: 'turn-progress', sequence: 2 },
    ]);
  });

  it('[P-04] stands before the error of a turn that fails before it starts', () => {
    expect(feed([FAIL]).map(line)).toEqual(['turn-start', 'turn-progress', 'error upstream_error', 'turn-end failed']);
  });

  it('[P-15] is followed by keepalives with numbers of their own, which close nothing', () => {
    expect(feed([START, KEEPALIVE, text('a'), KEEPALIVE, text('b')])).toMatchObject([
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-progress', sequence: 1 },
      { type: 'keepalive', sequence: 2 },
      { type: 'item-start', sequence: 3 },
      { type: 'part-start', sequence: 4 },
      { type: 'text-delta', sequence: 5 },
      { type: 'keepalive', sequence: 6 },
      { type: 'text-delta', sequence: 7, partIndex: 0 },
    ]);
  });
});

describe('the whole of an event', () => {
  const place = { index: 0, itemId: `msg_${SEED}0000` };
  const message = { id: place.itemId, type: 'message', role: 'assistant' };
  const empty = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  const hello = { ...empty, text: 'Hello' };

  it('[A-02, A-03, B-01] is as follows for a plain text', () => {
    const output = [{ ...message, status: 'completed', content: [hello] }];
    const part = 'output_text';
    expect(turn([text('Hel'), text('lo'), finish()])).toEqual([
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-progress', sequence: 1 },
      { type: 'item-start', sequence: 2, index: 0, item: { ...message, status: 'in_progress', content: [] } },
      { type: 'part-start', sequence: 3, ...place, partIndex: 0, part: empty },
      { type: 'text-delta', sequence: 4, ...place, partIndex: 0, part, text: 'Hel', logprobs: [] },
      { type: 'text-delta', sequence: 5, ...place, partIndex: 0, part, text: 'lo', logprobs: [] },
      { type: 'text-end', sequence: 6, ...place, partIndex: 0, part, text: 'Hello', logprobs: [] },
      { type: 'part-end', sequence: 7, ...place, partIndex: 0, part: hello },
      { type: 'item-end', sequence: 8, index: 0, item: output[0] },
      {
        type: 'turn-end',
        sequence: 9,
        status: 'completed',
        reason: null,
        error: null,
        completedAt: AT,
        output,
        usage: NO_USAGE,
      },
    ]);
  });

  it('[B-09, C-03, P-05] is as follows for a call, whose name stands at the end of its arguments too', () => {
    const place = { index: 0, itemId: `fc_${SEED}0000` };
    const item = { id: place.itemId, type: 'function_call', call_id: 'call_a', name: 'look_up' };
    expect(turn([call(0, '{"a":1}', { id: 'call_a', name: 'look_up' }), finish()]).slice(2, -1)).toEqual([
      { type: 'item-start', sequence: 2, index: 0, item: { ...item, status: 'in_progress', arguments: '' } },
      { type: 'arguments-delta', sequence: 3, ...place, text: '{"a":1}' },
      { type: 'arguments-end', sequence: 4, ...place, name: 'look_up', arguments: '{"a":1}' },
      { type: 'item-end', sequence: 5, index: 0, item: { ...item, status: 'completed', arguments: '{"a":1}' } },
    ]);
  });

  it('[S-09] is as follows for an annotation', () => {
    const events = turn([text('Hi'), cite(CITATION), finish()]);
    expect(events.filter(({ type }) => type === 'annotation')).toEqual([
      { type: 'annotation', sequence: 5, ...place, partIndex: 0, annotationIndex: 0, annotation: CITATION },
    ]);
  });
});

describe('items', () => {
  const reasoned = { id: `rs_${SEED}0000`, type: 'reasoning', status: 'completed' };

  it('[P-03] put the reasoning into the summary, or into the content beside an empty one', () => {
    const model = [reasoning('Hm'), reasoning('m'), finish()];
    expect([outputOf(model), outputOf(model, { reasoning: 'reasoning_text' })]).toEqual([
      [{ ...reasoned, summary: [{ type: 'summary_text', text: 'Hmm' }] }],
      [{ ...reasoned, summary: [], content: [{ type: 'reasoning_text', text: 'Hmm' }] }],
    ]);
  });

  it('[P-03] announce the reasoning without parts, in the shape that it will keep', () => {
    const announced = (plan: Partial<TurnPlan>) => turn([reasoning('Hm')], plan)[2];
    const start = { type: 'item-start', sequence: 2, index: 0 };
    expect([announced({}), announced({ reasoning: 'reasoning_text' })]).toEqual([
      { ...start, item: { ...reasoned, status: 'in_progress', summary: [] } },
      { ...start, item: { ...reasoned, status: 'in_progress', summary: [], content: [] } },
    ]);
  });

  it('[S-09] keep text, annotations and refusal of a message in its parts', () => {
    const second = { ...CITATION, url: 'https://c.d' };
    expect(outputOf([cite(CITATION), text('Hi'), cite(second), refusal('No.'), finish()])).toEqual([
      {
        id: `msg_${SEED}0000`,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'Hi', annotations: [CITATION, second], logprobs: [] },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
    ]);
  });

  it('[S-09] gather the log probabilities of all deltas, of those without text too', () => {
    const probable = (token: string): LogProb => ({ token, logprob: -0.5, bytes: [1], top_logprobs: [] });
    const delta = (text: string, ...tokens: string[]): ModelEvent => ({
      type: 'text-delta',
      text,
      logprobs: tokens.map(probable),
    });
    const events = turn([delta('ab', 'a', 'b'), text('-'), delta('', 'c'), delta('d', 'd'), finish()]);
    const told = events.flatMap((event) =>
      event.type === 'text-delta' || event.type === 'text-end' ? [event.logprobs] : [],
    );
    const all = ['a', 'b', 'c', 'd'].map(probable);
    expect(told).toEqual([all.slice(0, 2), [], all.slice(2, 3), all.slice(3), all]);
  });

  it('[C-03] keep the upstream’s call ids where each is given once', () => {
    const model = [call(0, '', { id: 'call_a' }), call(1, '', { id: 'chatcmpl-tool-b' }), finish()];
    expect(callIdsOf(model)).toEqual(['call_a', 'chatcmpl-tool-b']);
  });

  it('[C-03, P-05] get call ids of ours where the upstream’s is missing, empty or taken, over all model calls', () => {
    const model = [
      call(0, '', { id: 'call_a' }),
      call(1, ''),
      call(2, '', { id: '' }),
      call(3, '', { id: 'call_a' }),
      finish(),
      call(0, '', { id: 'call_a' }),
      call(1, '', { id: 'call_b' }),
      finish(),
    ];
    expect(callIdsOf(model)).toEqual([
      'call_a',
      `call_${SEED}0001`,
      `call_${SEED}0002`,
      `call_${SEED}0003`,
      `call_${SEED}0004`,
      'call_b',
    ]);
  });
});

describe('how a turn ends', () => {
  function howEnded(model: readonly TurnInput[]) {
    const { status, reason, error, completedAt } = ended(model);
    return { status, reason, error, completedAt };
  }

  it.each<[string, readonly TurnInput[], ReturnType<typeof howEnded>]>([
    ['[B-01] completed', [text('Hi'), finish()], { status: 'completed', reason: null, error: null, completedAt: AT }],
    [
      '[B-03, S-11] incomplete after `length`',
      [text('Hi'), finish('length')],
      { status: 'incomplete', reason: 'max_output_tokens', error: null, completedAt: null },
    ],
    [
      '[B-04, S-11] incomplete after `content_filter`',
      [text('Hi'), finish('content_filter')],
      { status: 'incomplete', reason: 'content_filter', error: null, completedAt: null },
    ],
    [
      '[S-11] incomplete after `length` though nothing was written',
      [finish('length')],
      { status: 'incomplete', reason: 'max_output_tokens', error: null, completedAt: null },
    ],
    [
      '[S-11] as its last model call did',
      [call(0, '{}'), finish(), text('Hi'), finish('length')],
      { status: 'incomplete', reason: 'max_output_tokens', error: null, completedAt: null },
    ],
    [
      '[P-04] failed, even after it was cut off',
      [text('Hi'), finish('length'), FAIL],
      { status: 'failed', reason: null, error: ERROR, completedAt: null },
    ],
  ])('%s', (_, model, how) => {
    expect(howEnded(model)).toEqual(how);
  });
});

describe('usage', () => {
  const first = used(usage(1, 2, 3, 4, 5));
  const second = used(usage(10, 20, 30, 40, 50));

  it.each<[string, readonly TurnInput[], Usage]>([
    ['[S-10] is zero where the upstream tells none', [text('Hi'), finish()], NO_USAGE],
    ['[S-10] of a model call is what it told last', [first, text('Hi'), second, finish()], usage(10, 20, 30, 40, 50)],
    [
      '[S-10, B-42] is summed over the model calls, field by field',
      [call(0, '{}'), first, finish(), text('Hi'), second, finish()],
      usage(11, 22, 33, 44, 55),
    ],
    [
      '[S-10] counts a model call once though another tells none',
      [call(0, '{}'), first, finish(), text('Hi'), finish()],
      usage(1, 2, 3, 4, 5),
    ],
    ['[S-10] counts the model call that failed', [text('Hi'), first, FAIL], usage(1, 2, 3, 4, 5)],
    ['[S-10, P-08] counts a model call that never said that it finished', [text('Hi'), first], usage(1, 2, 3, 4, 5)],
    ['[S-10, P-08] counts a model call that told nothing else', [first], usage(1, 2, 3, 4, 5)],
    ['[S-10, P-08] counts what is told after the finish', [text('Hi'), finish(), first], usage(1, 2, 3, 4, 5)],
  ])('%s', (_, model, total) => {
    expect(ended(model).usage).toEqual(total);
  });
});

describe('limits', () => {
  function howFar(model: readonly TurnInput[], plan: Partial<TurnPlan>) {
    const { status, error } = ended(model, plan);
    return [status, error?.code];
  }

  // Ten UTF-8 bytes each; `é` and the call's own id and name count as bytes too.
  it.each<[string, readonly TurnInput[]]>([
    ['text', [text('éééé'), text('ab')]],
    ['refusals', [refusal('éééé'), refusal('ab')]],
    ['reasoning', [reasoning('éééé'), reasoning('ab')]],
    ['annotations', [cite({ ...CITATION, url: 'a:éé', title: 'éé' })]],
    ['arguments', [call(0, '"é"', { id: 'abc', name: 'abc' })]],
    ['different items', [reasoning('ab'), text('ab'), call(0, '{}', { id: 'ab', name: 'ab' })]],
    ['different model calls', [text('abcde'), finish(), text('abcde')]],
  ])('[P-14] allow %s up to the last byte of the output, and fail the turn one byte past it', (_, model) => {
    expect([howFar(model, { outputBytes: 10 }), howFar(model, { outputBytes: 9 })]).toEqual([
      ['completed', undefined],
      ['failed', 'output_too_large'],
    ]);
  });

  it('[P-14] allow each call arguments up to the last byte, and fail the turn one byte past it', () => {
    const model = [call(0, '中'), call(1, '中'), call(0, '中'), call(1, '中'), finish()];
    expect([howFar(model, { argumentBytes: 6 }), howFar(model, { argumentBytes: 5 })]).toEqual([
      ['completed', undefined],
      ['failed', 'output_too_large'],
    ]);
  });

  it('[P-14, P-04] close what is open, once, and stop listening', () => {
    const plan = { outputBytes: 9, argumentBytes: 1 };
    expect(said([call(0, '{}', { id: 'abcd', name: 'abcd' }), text('Hi'), finish()], plan)).toEqual([
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'arguments-end 0 abcd {}',
      'item-end 0 incomplete',
      'error output_too_large',
      'turn-end failed',
    ]);
  });

  it('[P-14] say which limit it was', () => {
    const messages = [{ outputBytes: 1 }, { argumentBytes: 1 }].map((plan) => ended([call(0, '{}')], plan).error);
    const error = { type: 'server_error', param: null, code: 'output_too_large' };
    expect(messages).toEqual([
      { ...error, message: "The model wrote more than this server's limit for a response." },
      { ...error, message: "The model wrote more than this server's limit for the arguments of a tool call." },
    ]);
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

  it.each<[string, TurnInput]>([
    ['more text', { type: 'text-delta', text: 'b', logprobs: [probable] }],
    ['more arguments', call(0, ':1}')],
    ['another call', call(2, '{}', { name: 'look_up' })],
    ['a call that is dropped', call(3, '{}', { name: 'banned' })],
    ['a refusal', refusal('No.')],
    ['reasoning', reasoning('Hm')],
    ['an annotation', cite(CITATION)],
    ['usage', used(usage(1, 2, 3, 4, 5))],
    ['a finish', finish('length')],
    ['a keepalive', KEEPALIVE],
    ['a failure', FAIL],
    ['the end', END],
  ])('[P-01] leaves the state it was given as it was on %s, and so answers the same twice', (_, input) => {
    const plan = { ...PLAN, allowedTools: new Set(['look_up', 'send']) };
    const [state] = step(startState(plan), written);
    const before = structuredClone(state);
    const inputs = [input, text('more'), finish()];
    const answers = [step(frozen(state), frozen(inputs)), step(state, inputs)];
    expect({ state, answer: answers[1] }).toEqual({ state: before, answer: answers[0] });
  });

  it('[P-01] leaves the events of earlier steps as they were', () => {
    const [state, events] = step(startState(PLAN), written);
    const before = structuredClone(events);
    step(state, [text('more'), call(0, ':1}'), cite(CITATION), finish(), END]);
    expect(events).toEqual(before);
  });

  it('says nothing and stays the same without inputs', () => {
    const [state] = step(startState(PLAN), written);
    expect(step(state, [])).toEqual([state, []]);
  });
});
