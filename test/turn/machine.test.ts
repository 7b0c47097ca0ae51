/** What the turn machine says, case by case: inputs in, events out. */

import type { ErrorBody } from '../../src/protocol/errors.ts';
import type {
  FinishReason,
  IncompleteReason,
  ModelEvent,
  TurnEvent,
  TurnInput,
  Usage,
} from '../../src/protocol/events.ts';
import { NO_USAGE } from '../../src/protocol/events.ts';
import type { Annotation, ListedTool, LogProb, OutputItem, ToolOutput, UrlCitation } from '../../src/protocol/items.ts';
import { logProbsText } from '../../src/protocol/log-probs.ts';
import { executionError } from '../../src/protocol/tool-calls/call-error.ts';
import { unreachable } from '../../src/protocol/unreachable.ts';
import { step } from '../../src/turn/machine.ts';
import { startState, type TurnPlan } from '../../src/turn/state.ts';
import { expectLaws } from '../support/laws.ts';

const SEED = '0123456789abcdef0123456789abcdef';
const AT = 1_700_000_000;
const PLAN: TurnPlan = {
  seal: String,
  seed: SEED,
  reasoning: 'summary_text',
  queuedEvent: false,
  outputBytes: 1_000_000,
  argumentBytes: 1_000_000,
  owners: new Map(),
  ownedAs: 'mcp_call',
};

/** `look_up` and `mcp__mail__send` are run by the server, under other names; all else by the client. */
const OWNED: Partial<TurnPlan> = {
  owners: new Map([
    ['look_up', { server: 'files', name: 'look.up' }],
    ['mcp__mail__send', { server: 'mail', name: 'send' }],
  ]),
};
const OWNED_AS_FUNCTION_CALL: Partial<TurnPlan> = { ...OWNED, ownedAs: 'function_call' };

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
const search = (search: string, query: string): ModelEvent => ({
  type: 'search-start',
  search,
  action: { type: 'search', query, queries: [query] },
});
const found = (search: string, failed = false): ModelEvent => ({
  type: 'search-end',
  search,
  failed,
  sources: [{ type: 'url', url: 'https://a.b' }],
  state: 'sealed',
});
const used = (usage: Usage): ModelEvent => ({ type: 'usage', usage });
const finish = (reason: FinishReason = 'stop'): ModelEvent => ({ type: 'finish', reason });
const result = (index: number, output: ToolOutput = 'Found.', failed = false): TurnInput => ({
  type: 'tool-result',
  index,
  output,
  failed,
});
const LISTED: ListedTool = { name: 'look.up', input_schema: { type: 'object' } };
const listed = (server: string, ...tools: readonly ListedTool[]): TurnInput => ({
  type: 'tools-listed',
  server,
  tools,
});
const stop = (reason: IncompleteReason): TurnInput => ({ type: 'stop', reason });

/** Usage in which every field tells its own. */
function usage(input: number, cached: number, output: number, reasoning: number, total: number): Usage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
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
    case 'part-delta':
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
      return event.item.type === 'mcp_list_tools'
        ? `item-end ${event.index} ${event.item.tools.map(({ name }) => name)}`
        : `item-end ${event.index} ${'status' in event.item ? event.item.status : event.item.type}`;
    case 'list-progress':
    case 'list-end':
      return `${event.type} ${event.index}`;
    case 'call-state':
      return `${event.kind} ${event.index} ${event.state}`;
    case 'call-dropped':
      return `call-dropped ${event.name}`;
    case 'error':
      return `error ${event.error.code}`;
    case 'turn-end':
      return `turn-end ${event.reason ?? event.status}`;
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
      'part-delta 0.0 "Hel"',
      'part-delta 0.0 "lo"',
      'part-delta 0.0 "!"',
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
      'part-delta 0.0 "\\n"',
      'part-delta 0.0 "a"',
      'part-delta 0.0 " "',
      'part-delta 0.0 "b"',
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
      'part-delta 0.0 "a"',
      'part-delta 0.0 "b"',
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
      'part-delta 0.0 "Well"',
      'text-end 0.0 "Well"',
      'part-end 0.0',
      'part-start 0.1 refusal',
      'part-delta 0.1 "I "',
      'part-delta 0.1 "cannot."',
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
      'part-delta 0.0 "Hi"',
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
      'part-delta 0.0 "Hm"',
      'part-delta 0.0 "m"',
      'text-end 0.0 "Hmm"',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 message',
      'part-start 1.0 output_text',
      'part-delta 1.0 "Hi"',
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
      'part-delta 0.0 "Let me look."',
      'text-end 0.0 "Let me look."',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 function_call',
      'arguments-delta 1 {}',
      'item-start 2 message',
      'part-start 2.0 output_text',
      'part-delta 2.0 "Found."',
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
      'part-delta 1.0 "Hi"',
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
      'part-delta 0.0 "Hel"',
      'call-dropped send',
      'part-delta 0.0 "lo"',
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
      'part-delta 0.0 "Hm"',
      'text-end 0.0 "Hm"',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 message',
      'part-start 1.0 output_text',
      'part-delta 1.0 "Hel"',
      'text-end 1.0 "Hel"',
      'part-end 1.0',
      'item-end 1 incomplete',
      'turn-end max_output_tokens',
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
      'turn-end content_filter',
    ],
  },
  {
    name: '[S-11] does not complete the arguments of a call that was cut off before they came',
    model: [call(0, '', { name: 'look_up' }), finish('length')],
    says: [
      'item-start 0 function_call',
      'arguments-end 0 look_up ',
      'item-end 0 incomplete',
      'turn-end max_output_tokens',
    ],
  },
  {
    name: '[S-11, D-06] stays cut off though the upstream finishes once more',
    model: [text('Hel'), finish('length'), finish('stop')],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'part-delta 0.0 "Hel"',
      'text-end 0.0 "Hel"',
      'part-end 0.0',
      'item-end 0 incomplete',
      'turn-end max_output_tokens',
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
      'part-delta 1.0 "Hel"',
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

const PICTURES: readonly Row[] = [
  {
    name: '[V-07] shows an image from beginning to end, between the text before and after it',
    model: [text('a'), { type: 'image', result: 'UklGRg==', details: {} }, text('b'), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'part-delta 0.0 "a"',
      'text-end 0.0 "a"',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 image_generation_call',
      'image_generation_call 1 in_progress',
      'image_generation_call 1 generating',
      'image_generation_call 1 completed',
      'item-end 1 completed',
      'item-start 2 message',
      'part-start 2.0 output_text',
      'part-delta 2.0 "b"',
      'text-end 2.0 "b"',
      'part-end 2.0',
      'item-end 2 completed',
      'turn-end completed',
    ],
  },
];

const SEARCHES: readonly Row[] = [
  {
    name: '[X-07] shows a search from beginning to end, between the text before and after it',
    model: [text('a'), search('s', 'fog'), found('s'), text('b'), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'part-delta 0.0 "a"',
      'text-end 0.0 "a"',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 web_search_call',
      'web_search_call 1 in_progress',
      'web_search_call 1 searching',
      'web_search_call 1 completed',
      'item-end 1 completed',
      'item-start 2 message',
      'part-start 2.0 output_text',
      'part-delta 2.0 "b"',
      'text-end 2.0 "b"',
      'part-end 2.0',
      'item-end 2 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[X-07] keeps parallel searches apart, in whatever order they end, and reports a failure by the item only',
    model: [search('s', 'fog'), search('t', 'sun'), found('t', true), found('s'), found('s'), found('u'), finish()],
    says: [
      'item-start 0 web_search_call',
      'web_search_call 0 in_progress',
      'web_search_call 0 searching',
      'item-start 1 web_search_call',
      'web_search_call 1 in_progress',
      'web_search_call 1 searching',
      'item-end 1 failed',
      'web_search_call 0 completed',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[X-07] [S-11] fails a search that never ended, where the model was cut off',
    model: [search('s', 'fog'), finish('length'), found('s'), search('t', 'sun')],
    says: [
      'item-start 0 web_search_call',
      'web_search_call 0 in_progress',
      'web_search_call 0 searching',
      'item-end 0 failed',
      'turn-end max_output_tokens',
    ],
  },
  {
    name: '[X-07] fails a search that never ended, where the turn fails',
    model: [search('s', 'fog'), FAIL],
    says: [
      'item-start 0 web_search_call',
      'web_search_call 0 in_progress',
      'web_search_call 0 searching',
      'item-end 0 failed',
      'error upstream_error',
      'turn-end failed',
    ],
  },
  {
    name: '[X-07] fails a search that never ended, where the model did not say that it had finished',
    model: [search('s', 'fog')],
    says: [
      'item-start 0 web_search_call',
      'web_search_call 0 in_progress',
      'web_search_call 0 searching',
      'item-end 0 failed',
      'turn-end completed',
    ],
  },
  {
    name: '[X-07] counts what was found against the limit of a response',
    plan: { outputBytes: 80 },
    model: [search('s', 'fog'), found('s'), text('no')],
    says: [
      'item-start 0 web_search_call',
      'web_search_call 0 in_progress',
      'web_search_call 0 searching',
      'web_search_call 0 completed',
      'item-end 0 completed',
      'error output_too_large',
      'turn-end failed',
    ],
  },
];

const SERVER_CALLS: readonly Row[] = [
  {
    name: '[B-11, T-03, D-16] shows a call that the server runs, its result, and what the model makes of it',
    model: [call(0, '{"q"', { name: 'look_up' }), call(0, ':1}'), finish(), result(0), text('Here.'), finish()],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {"q"',
      'arguments-delta 0 :1}',
      'arguments-end 0 look_up {"q":1}',
      'mcp_call 0 completed',
      'item-end 0 completed',
      'item-start 1 message',
      'part-start 1.0 output_text',
      'part-delta 1.0 "Here."',
      'text-end 1.0 "Here."',
      'part-end 1.0',
      'item-end 1 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[B-12, T-03] completes the turn though a call failed',
    model: [call(0, '{}', { name: 'look_up' }), finish(), result(0, 'No such file.', true)],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up {}',
      'mcp_call 0 failed',
      'item-end 0 failed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-05] gives a call without arguments `{}`, as a delta too',
    model: [call(0, '', { name: 'look_up' }), finish(), result(0)],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up {}',
      'mcp_call 0 completed',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-05, T-05] keeps parallel calls apart, in whatever order their arguments and results come',
    model: [
      call(0, '{"a"', { name: 'look_up' }),
      call(1, '{"b"', { name: 'mcp__mail__send' }),
      call(0, ':1}'),
      call(1, ':2}'),
      finish(),
      result(1),
      KEEPALIVE,
      result(0, 'No.', true),
    ],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {"a"',
      'item-start 1 mcp_call',
      'mcp_call 1 in_progress',
      'arguments-delta 1 {"b"',
      'arguments-delta 0 :1}',
      'arguments-delta 1 :2}',
      'arguments-end 0 look_up {"a":1}',
      'arguments-end 1 mcp__mail__send {"b":2}',
      'mcp_call 1 completed',
      'item-end 1 completed',
      'keepalive',
      'mcp_call 0 failed',
      'item-end 0 failed',
      'turn-end completed',
    ],
  },
  {
    name: '[B-10, T-04, A-13] ends the client’s calls with the model call, and the server’s with their results',
    model: [
      text('Well.'),
      call(0, '{"a":1}', { name: 'look_up' }),
      call(1, '{"b":2}', { name: 'ask' }),
      finish(),
      result(1),
    ],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'part-delta 0.0 "Well."',
      'text-end 0.0 "Well."',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 mcp_call',
      'mcp_call 1 in_progress',
      'arguments-delta 1 {"a":1}',
      'item-start 2 function_call',
      'arguments-delta 2 {"b":2}',
      'arguments-end 1 look_up {"a":1}',
      'arguments-end 2 ask {"b":2}',
      'item-end 2 completed',
      'mcp_call 1 completed',
      'item-end 1 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[T-03] ignores results that no call waits for: too early, for an item or a call of the client, none, again',
    model: [
      text('Well.'),
      call(0, '{}', { name: 'look_up' }),
      result(1, 'too early'),
      call(1, '{}', { name: 'ask' }),
      finish(),
      ...[0, 2, 3, -1, 1e9].map((index) => result(index, 'nobody’s')),
      result(1),
      result(1, 'again', true),
    ],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'part-delta 0.0 "Well."',
      'text-end 0.0 "Well."',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 mcp_call',
      'mcp_call 1 in_progress',
      'arguments-delta 1 {}',
      'item-start 2 function_call',
      'arguments-delta 2 {}',
      'arguments-end 1 look_up {}',
      'arguments-end 2 ask {}',
      'item-end 2 completed',
      'mcp_call 1 completed',
      'item-end 1 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-04, D-07] leaves calls incomplete that wait when the turn fails, and does not take their results afterwards',
    model: [
      call(0, '{}', { name: 'look_up' }),
      call(1, '{}', { name: 'mcp__mail__send' }),
      finish(),
      result(0),
      FAIL,
      result(1),
    ],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {}',
      'item-start 1 mcp_call',
      'mcp_call 1 in_progress',
      'arguments-delta 1 {}',
      'arguments-end 0 look_up {}',
      'arguments-end 1 mcp__mail__send {}',
      'mcp_call 0 completed',
      'item-end 0 completed',
      'item-end 1 incomplete',
      'error upstream_error',
      'turn-end failed',
    ],
  },
  {
    name: '[P-04] leaves a call incomplete whose arguments come when the turn fails',
    model: [call(0, '{"a', { name: 'look_up' }), FAIL],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {"a',
      'arguments-end 0 look_up {"a',
      'item-end 0 incomplete',
      'error upstream_error',
      'turn-end failed',
    ],
  },
  {
    name: '[S-11, D-06] does not wait for the result of a call that was cut off',
    model: [
      call(0, '{}', { name: 'look_up' }),
      call(1, '{"b', { name: 'look_up' }),
      finish('length'),
      result(0),
      result(1),
    ],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {}',
      'item-start 1 mcp_call',
      'mcp_call 1 in_progress',
      'arguments-delta 1 {"b',
      'arguments-end 0 look_up {}',
      'arguments-end 1 look_up {"b',
      'item-end 1 incomplete',
      'mcp_call 0 completed',
      'item-end 0 completed',
      'turn-end max_output_tokens',
    ],
  },
  {
    name: '[D-06, P-08] fails a call that nobody ran, where the turn ends though the upstream never finished',
    model: [call(0, '{}', { name: 'look_up' })],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up {}',
      'mcp_call 0 failed',
      'item-end 0 failed',
      'turn-end completed',
    ],
  },
  {
    name: '[S-11, D-06] fails a whole call that nobody ran because the model was cut off after it',
    model: [call(0, '{}', { name: 'look_up' }), text('Let'), finish('length')],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {}',
      'item-start 1 message',
      'part-start 1.0 output_text',
      'part-delta 1.0 "Let"',
      'arguments-end 0 look_up {}',
      'text-end 1.0 "Let"',
      'part-end 1.0',
      'item-end 1 incomplete',
      'mcp_call 0 failed',
      'item-end 0 failed',
      'turn-end max_output_tokens',
    ],
  },
  {
    name: '[D-13, T-04] drops a call that is not allowed though the server could run it',
    plan: { allowedTools: new Set(['mcp__mail__send']) },
    model: [call(0, '{}', { name: 'look_up' }), call(1, '{}', { name: 'mcp__mail__send' }), finish(), result(0)],
    says: [
      'call-dropped look_up',
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {}',
      'arguments-end 0 mcp__mail__send {}',
      'mcp_call 0 completed',
      'item-end 0 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[B-23, T-03, P-02] lists the tools of a server, of one without tools too, and closes the text before',
    model: [
      text('Let me'),
      listed('files', LISTED),
      listed('mail'),
      call(0, '{}', { name: 'look_up' }),
      finish(),
      result(3),
    ],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'part-delta 0.0 "Let me"',
      'text-end 0.0 "Let me"',
      'part-end 0.0',
      'item-end 0 completed',
      'item-start 1 mcp_list_tools',
      'list-progress 1',
      'list-end 1',
      'item-end 1 look.up',
      'item-start 2 mcp_list_tools',
      'list-progress 2',
      'list-end 2',
      'item-end 2 ',
      'item-start 3 mcp_call',
      'mcp_call 3 in_progress',
      'arguments-delta 3 {}',
      'arguments-end 3 look_up {}',
      'mcp_call 3 completed',
      'item-end 3 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[S-11, D-06] lists no tools behind the item that was cut off, which must stay the last',
    model: [text('Let'), finish('length'), listed('files', LISTED), call(0, '{}', { name: 'look_up' }), finish()],
    says: [
      'item-start 0 message',
      'part-start 0.0 output_text',
      'part-delta 0.0 "Let"',
      'text-end 0.0 "Let"',
      'part-end 0.0',
      'item-end 0 incomplete',
      'turn-end max_output_tokens',
    ],
  },
  {
    name: '[A-30, T-02] ends incomplete where the server let the model go no further',
    model: [call(0, '{}', { name: 'look_up' }), finish(), result(0, 'Not run.', true), stop('max_tool_iterations')],
    says: [
      'item-start 0 mcp_call',
      'mcp_call 0 in_progress',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up {}',
      'mcp_call 0 failed',
      'item-end 0 failed',
      'turn-end max_tool_iterations',
    ],
  },
];

const SERVER_CALLS_AS_FUNCTION_CALLS: readonly Row[] = [
  {
    name: '[T-03, M-06] puts the output behind its call, as an item of its own',
    model: [call(0, '{"q":1}', { name: 'look_up' }), finish(), result(0), text('Here.'), finish()],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {"q":1}',
      'arguments-end 0 look_up {"q":1}',
      'item-end 0 completed',
      'item-start 1 function_call_output',
      'item-end 1 completed',
      'item-start 2 message',
      'part-start 2.0 output_text',
      'part-delta 2.0 "Here."',
      'text-end 2.0 "Here."',
      'part-end 2.0',
      'item-end 2 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[T-04, T-05, P-05] puts the outputs of parallel calls behind all of them, and none behind the client’s',
    model: [
      call(0, '{}', { name: 'look_up' }),
      call(1, '{}', { name: 'ask' }),
      call(2, '', { name: 'mcp__mail__send' }),
      finish(),
      result(0),
      result(1, 'nobody’s'),
      result(2, 'It broke.', true),
      result(2, 'again'),
    ],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'item-start 1 function_call',
      'arguments-delta 1 {}',
      'item-start 2 function_call',
      'arguments-end 0 look_up {}',
      'item-end 0 completed',
      'arguments-end 1 ask {}',
      'item-end 1 completed',
      'arguments-delta 2 {}',
      'arguments-end 2 mcp__mail__send {}',
      'item-end 2 completed',
      'item-start 3 function_call_output',
      'item-end 3 completed',
      'item-start 4 function_call_output',
      'item-end 4 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[P-04] has no output for a call that waits when the turn fails',
    model: [call(0, '{}', { name: 'look_up' }), finish(), FAIL, result(0)],
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
    name: '[D-06, P-08] has an output that says so for a call that nobody ran, where the upstream never finished',
    model: [call(0, '{}', { name: 'look_up' })],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'arguments-end 0 look_up {}',
      'item-end 0 completed',
      'item-start 1 function_call_output',
      'item-end 1 completed',
      'turn-end completed',
    ],
  },
  {
    name: '[S-11, D-06] puts no output behind the item that was cut off, which must stay the last',
    model: [call(0, '{}', { name: 'look_up' }), text('Let'), finish('length'), result(0)],
    says: [
      'item-start 0 function_call',
      'arguments-delta 0 {}',
      'item-start 1 message',
      'part-start 1.0 output_text',
      'part-delta 1.0 "Let"',
      'arguments-end 0 look_up {}',
      'item-end 0 completed',
      'text-end 1.0 "Let"',
      'part-end 1.0',
      'item-end 1 incomplete',
      'turn-end max_output_tokens',
    ],
  },
];

describe.each([
  ['a text', TEXT],
  ['the order of items', ORDER],
  ['tool calls', CALLS],
  ['a turn that is cut off', CUT_OFF],
  ["searches of the model's own server", SEARCHES],
  ['pictures', PICTURES],
])('%s', (_, rows) => {
  it.each(rows)('$name', ({ model, plan, says }) => {
    expect(said(model, plan)).toEqual(says);
  });
});

describe.each([
  ['calls that the server runs', SERVER_CALLS, OWNED],
  ['calls that the server runs, shown as function calls', SERVER_CALLS_AS_FUNCTION_CALLS, OWNED_AS_FUNCTION_CALL],
])('%s', (_, rows, owned) => {
  it.each(rows)('$name', ({ model, plan, says }) => {
    expect(said(model, { ...owned, ...plan })).toEqual(says);
  });
});

describe('the opening', () => {
  it('[A-02, A-03] reports that the turn started and is in progress', () => {
    expect(feed([START])).toEqual([
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-progress', sequence: 1 },
    ]);
  });

  it('[M-14] emits `queued` in between if the host wants it', () => {
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
      { type: 'part-delta', sequence: 5 },
      { type: 'keepalive', sequence: 6 },
      { type: 'part-delta', sequence: 7, partIndex: 0 },
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
      { type: 'part-delta', sequence: 4, ...place, partIndex: 0, part, text: 'Hel', logprobs: '' },
      { type: 'part-delta', sequence: 5, ...place, partIndex: 0, part, text: 'lo', logprobs: '' },
      { type: 'text-end', sequence: 6, ...place, partIndex: 0, part, text: 'Hello', logprobs: '' },
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
      { type: 'arguments-delta', sequence: 3, ...place, call: 'function_call', text: '{"a":1}' },
      {
        type: 'arguments-end',
        sequence: 4,
        ...place,
        call: 'function_call',
        name: 'look_up',
        arguments: '{"a":1}',
      },
      { type: 'item-end', sequence: 5, index: 0, item: { ...item, status: 'completed', arguments: '{"a":1}' } },
    ]);
  });

  describe('that reports a call that the server runs', () => {
    const place = { index: 0, itemId: `mcp_${SEED}0000` };
    const call1 = call(0, '{"q":1}', { id: 'call_a', name: 'look_up' });
    const open = {
      id: place.itemId,
      type: 'mcp_call',
      status: 'in_progress',
      approval_request_id: null,
      arguments: '',
      error: null,
      name: 'look.up',
      output: null,
      server_label: 'files',
    };
    const begun = [
      { type: 'item-start', sequence: 2, index: 0, item: open },
      { type: 'call-state', sequence: 3, ...place, kind: 'mcp_call', state: 'in_progress' },
      { type: 'arguments-delta', sequence: 4, ...place, call: 'mcp_call', text: '{"q":1}' },
      { type: 'arguments-end', sequence: 5, ...place, call: 'mcp_call', name: 'look_up', arguments: '{"q":1}' },
    ];

    it('[B-11, T-03, T-07] is as follows where it completes, under the names that the server has for its tools', () => {
      const done = { ...open, status: 'completed', arguments: '{"q":1}', output: 'Found.' };
      expect(turn([call1, finish(), result(0)], OWNED).slice(2, -1)).toEqual([
        ...begun,
        { type: 'call-state', sequence: 6, ...place, kind: 'mcp_call', state: 'completed' },
        { type: 'item-end', sequence: 7, index: 0, item: done },
      ]);
    });

    it('[B-12, T-03] is as follows where it fails', () => {
      const failed = { ...open, status: 'failed', arguments: '{"q":1}', error: executionError('No such file.') };
      expect(turn([call1, finish(), result(0, 'No such file.', true)], OWNED).slice(2, -1)).toEqual([
        ...begun,
        { type: 'call-state', sequence: 6, ...place, kind: 'mcp_call', state: 'failed' },
        { type: 'item-end', sequence: 7, index: 0, item: failed },
      ]);
    });

    it('[P-04] is as follows where the turn fails first', () => {
      const abandoned = { ...open, status: 'incomplete', arguments: '{"q":1}' };
      expect(turn([call1, finish(), FAIL], OWNED).slice(2, -2)).toEqual([
        ...begun,
        { type: 'item-end', sequence: 6, index: 0, item: abandoned },
      ]);
    });

    it('[T-03, M-06] is as follows where it is shown as function call and output', () => {
      const call = { id: `fc_${SEED}0000`, type: 'function_call', call_id: 'call_a', name: 'look_up' };
      // Written after the first model call has finished, so its id is of the next.
      const output = { id: `fco_${SEED}0001r1`, type: 'function_call_output', call_id: 'call_a' };
      const place = { index: 0, itemId: call.id };
      const parts = [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }];
      expect(turn([call1, finish(), result(0, parts, true)], OWNED_AS_FUNCTION_CALL).slice(2, -1)).toEqual([
        { type: 'item-start', sequence: 2, index: 0, item: { ...call, status: 'in_progress', arguments: '' } },
        { type: 'arguments-delta', sequence: 3, ...place, call: 'function_call', text: '{"q":1}' },
        {
          type: 'arguments-end',
          sequence: 4,
          ...place,
          call: 'function_call',
          name: 'look_up',
          arguments: '{"q":1}',
        },
        { type: 'item-end', sequence: 5, index: 0, item: { ...call, status: 'completed', arguments: '{"q":1}' } },
        { type: 'item-start', sequence: 6, index: 1, item: { ...output, status: 'in_progress', output: '' } },
        { type: 'item-end', sequence: 7, index: 1, item: { ...output, status: 'completed', output: parts } },
      ]);
    });
  });

  it('[B-23, T-03] is as follows for a list of tools', () => {
    const item = { id: `mcpl_${SEED}0000`, type: 'mcp_list_tools', server_label: 'files' };
    const place = { index: 0, itemId: item.id };
    expect(turn([listed('files', LISTED), finish()]).slice(2, -1)).toEqual([
      { type: 'item-start', sequence: 2, index: 0, item: { ...item, tools: [] } },
      { type: 'list-progress', sequence: 3, ...place },
      { type: 'list-end', sequence: 4, ...place },
      { type: 'item-end', sequence: 5, index: 0, item: { ...item, tools: [LISTED] } },
    ]);
  });

  it('[S-09] is as follows for an annotation', () => {
    const events = turn([text('Hi'), cite(CITATION), finish()]);
    expect(events.filter(({ type }) => type === 'annotation')).toEqual([
      { type: 'annotation', sequence: 5, ...place, partIndex: 0, annotationIndex: 0, annotation: CITATION },
    ]);
  });

  it('[V-03] puts an annotation without a place where the text has come to', () => {
    const file = { type: 'file_citation', file_id: 'f', filename: 'a.txt', index: 0 } as const;
    const atEnd = (annotation: Annotation): ModelEvent => ({ type: 'annotation', annotation, atEnd: true });
    const events = turn([text('Hi'), atEnd(CITATION), text(' there'), atEnd(file), finish()]);
    const annotations = events.flatMap((event) => (event.type === 'annotation' ? [event.annotation] : []));
    expect(annotations).toEqual([
      { ...CITATION, start_index: 2, end_index: 2 },
      { ...file, index: 8 },
    ]);
  });

  it('[V-07] counts pictures and citations of files as output', () => {
    const picture: ModelEvent = { type: 'image', result: 'x'.repeat(100), details: {} };
    const file = { type: 'file_citation', file_id: 'f'.repeat(50), filename: 'a'.repeat(50), index: 0 } as const;
    const ends = [[picture], [{ type: 'annotation', annotation: file } as const]].flatMap((model) =>
      [102, 99].map((outputBytes) => ended([...model, finish()], { outputBytes }).status),
    );
    expect(ends).toEqual(['completed', 'failed', 'completed', 'failed']);
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
      event.type === 'part-delta' || event.type === 'text-end' ? [event.logprobs] : [],
    );
    const all = ['a', 'b', 'c', 'd'].map(probable);
    expect(told).toEqual([all.slice(0, 2), [], all.slice(2, 3), all.slice(3), all].map(logProbsText));
  });

  it('[S-09] [Q-03] take log probabilities as a list or as its JSON', () => {
    const list: readonly LogProb[] = [{ token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [] }];
    const of = (logprobs: string | readonly LogProb[]) =>
      turn([{ type: 'text-delta', text: 'a', logprobs }, { type: 'text-delta', text: '', logprobs }, finish()]);
    expect(of(logProbsText(list))).toEqual(of(list));
    expect(of(list)).toContainEqual(
      expect.objectContaining({ type: 'part-end', part: expect.objectContaining({ logprobs: [...list, ...list] }) }),
    );
  });

  it('[T-02, P-01] have ids that identify their model call, from the second on', () => {
    const model = [
      reasoning('Hm'),
      call(0, '{}', { name: 'look_up' }),
      finish(),
      result(1),
      reasoning('Hm'),
      call(0, '{}', { name: 'ask' }),
      call(1, '{}', { name: 'look_up' }),
      finish(),
      // Its place depends on the rendering; a result that no call waits for is ignored.
      result(4),
      result(5),
      text('Hi'),
      finish(),
    ];
    const ids = (plan: Partial<TurnPlan>) => outputOf(model, plan).map(({ id }) => id.replace(SEED, '_'));
    expect([ids(OWNED), ids(OWNED_AS_FUNCTION_CALL)]).toEqual([
      ['rs__0000', 'mcp__0001', 'rs__0002r1', 'fc__0003r1', 'mcp__0004r1', 'msg__0005r2'],
      ['rs__0000', 'fc__0001', 'fco__0002r1', 'rs__0003r1', 'fc__0004r1', 'fc__0005r1', 'fco__0006r2', 'msg__0007r2'],
    ]);
  });

  it('[T-08] hold the text of a result, and name in its place what is not text', () => {
    const parts = [
      { type: 'input_text', text: 'A cat:' },
      { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,AA==' },
    ];
    const [completed, failed, empty] = outputOf(
      [
        ...[0, 1, 2].map((number) => call(number, '{}', { name: 'look_up' })),
        finish(),
        result(0, parts),
        result(1, parts, true),
        result(2, []),
      ],
      OWNED,
    );
    const told = 'A cat:\n[image/png, 1 bytes]\n[application/pdf, 1 bytes]';
    expect([completed, failed, empty]).toMatchObject([
      { output: told, error: null },
      { output: null, error: executionError(told) },
      { output: '', error: null },
    ]);
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
      `call_${SEED}001`,
      `call_${SEED}002`,
      `call_${SEED}003`,
      `call_${SEED}004`,
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
      '[B-04, C-17, S-11] incomplete after `content_filter`',
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
      '[B-27, T-02] incomplete where the server stopped it for its calls',
      [call(0, '{}'), finish(), stop('max_tool_calls')],
      { status: 'incomplete', reason: 'max_tool_calls', error: null, completedAt: null },
    ],
    [
      '[A-30, T-02] incomplete where the server stopped it for its rounds',
      [call(0, '{}'), finish(), stop('max_tool_iterations')],
      { status: 'incomplete', reason: 'max_tool_iterations', error: null, completedAt: null },
    ],
    [
      '[P-04] failed, even after the server stopped it',
      [call(0, '{}'), finish(), stop('max_tool_calls'), FAIL],
      { status: 'failed', reason: null, error: ERROR, completedAt: null },
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
    ['[S-10] is zero if the upstream reports none', [text('Hi'), finish()], NO_USAGE],
    [
      '[S-10] of a model call is its last reported usage',
      [first, text('Hi'), second, finish()],
      usage(10, 20, 30, 40, 50),
    ],
    [
      '[S-10, B-42] is summed over the model calls, field by field',
      [call(0, '{}'), first, finish(), text('Hi'), second, finish()],
      usage(11, 22, 33, 44, 55),
    ],
    [
      '[S-10] counts a model call once though another reports none',
      [call(0, '{}'), first, finish(), text('Hi'), finish()],
      usage(1, 2, 3, 4, 5),
    ],
    ['[S-10] counts the model call that failed', [text('Hi'), first, FAIL], usage(1, 2, 3, 4, 5)],
    ['[S-10, P-08] counts a model call that never said that it finished', [text('Hi'), first], usage(1, 2, 3, 4, 5)],
    ['[S-10, P-08] counts a model call that reported nothing else', [first], usage(1, 2, 3, 4, 5)],
    [
      '[S-10, P-08] counts usage that is reported after the finish',
      [text('Hi'), finish(), first],
      usage(1, 2, 3, 4, 5),
    ],
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
    const bare = { ...PLAN, seal: undefined };
    const plan = { ...bare, allowedTools: new Set(['look_up', 'send']) };
    const [state] =
      input.type === 'tool-result' ? step(startState({ ...bare, ...OWNED }), waiting) : step(startState(plan), written);
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

  it('emits nothing and stays the same without inputs', () => {
    const [state] = step(startState(PLAN), written);
    expect(step(state, [])).toEqual([state, []]);
  });
});
