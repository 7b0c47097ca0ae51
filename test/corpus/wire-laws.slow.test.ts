/** The checks that all recordings go through, checked themselves: each way of breaking a good stream is noticed. */
import { chatCompletionsUpstream, functionTools } from '../../src/index.ts';
import { chatChunk, chatStream, textStream } from '../../src/testing/index.ts';
import { startApp } from '../support/app.ts';
import { expectValidEvent, expectValidResponse } from '../support/open-responses-schema.ts';
import { eventStream, type Replay, startReplay } from '../support/replay.ts';
import { accumulatedOutput, askForStream } from '../support/responses-client.ts';
import { describeShared } from '../support/shared.ts';
import { expectWireLaws, readWire } from '../support/wire-laws.ts';
import { expectWireError } from '../support/wire-schemas.ts';

/** An event as bare JSON, so that a test may spoil it. */
interface Bare {
  type: string;
  item?: { type: string };
  response?: { output: object[] };
}

const CALL = { index: 0, id: 'call_1', function: { name: 'look', arguments: '{}' } };
const FALL = { index: 1, id: 'call_2', function: { name: 'fall', arguments: '{}' } };
const SHOWN = {
  mcp_call: ['mcp_list_tools', 'mcp_call', 'mcp_call', 'message'],
  function_call: ['function_call', 'function_call', 'function_call_output', 'function_call_output', 'message'],
};
const WRITTEN = [
  chatChunk({ reasoning_content: 'Hm.' }),
  chatChunk({ content: 'Hello' }),
  chatChunk({ content: ' there' }),
  chatChunk({ tool_calls: [CALL] }),
  chatChunk({}, { finish_reason: 'tool_calls' }),
  'data: [DONE]\n\n',
].join('');

let replay: Replay;
let stream: string;

beforeAll(async () => {
  replay = await startReplay();
  replay.fake.reply(eventStream(WRITTEN));
  stream = (await askForStream(replay.url)).text;
});
afterAll(() => replay.close());

describe('the laws of the wire', () => {
  it('hold for a stream that nobody spoilt', () => {
    const { status, output } = expectWireLaws(readWire(stream));
    expect([status, output.map(({ type }) => type)]).toEqual(['completed', ['reasoning', 'message', 'function_call']]);
  });

  it.each<readonly [what: string, spoil: (text: string) => string, law: RegExp]>([
    ['a CRLF', (text) => text.replace('\n', '\r\n'), /LF only/],
    ['no [DONE]', (text) => text.replace('data: [DONE]\n\n', ''), /\[DONE\] is the last frame/],
    ['a data line too many', (text) => text.replace('\ndata: ', '\ndata: \ndata: '), /a frame is event and data/],
    ['an event line of another name', (text) => text.replace('event: response.created', 'event: x'), /names the type/],
    ['an event without a name', (text) => text.replace('event: response.created\n', ''), /a frame is event and data/],
  ])('are broken by %s', (_what, spoil, law) => {
    expect(() => readWire(spoil(stream))).toThrow(law);
  });

  it.each<readonly [what: string, spoil: (events: Bare[]) => unknown, law: RegExp]>([
    ['a lost event', (events) => events.splice(4, 1), /sequence is dense/],
    ['a number that comes twice', (events) => assign(events[4], { sequence_number: 3 }), /sequence is dense/],
    ['another response id', (events) => assign(events.at(-1)?.response, { id: 'resp_x' }), /was settled at first/],
    ['an end that never comes', (events) => events.pop(), /a turn starts once and ends once/],
    ['two ends', (events) => numbered(events, structuredClone(last(events))), /a turn starts once and ends once/],
    [
      'a lost announcement',
      (events) => dropped(events, 'response.output_item.added'),
      /announced before it is used|takes the next index/,
    ],
    [
      'a lost part',
      (events) => dropped(events, 'response.content_part.added'),
      /a part is announced before it is used/,
    ],
    ['a lost delta', (events) => dropped(events, 'response.output_text.delta'), /text-end repeats the deltas/],
    ['a lost end of a text', (events) => dropped(events, 'response.output_text.done'), /a text ends before its part/],
    ['a lost end of a part', (events) => dropped(events, 'response.content_part.done'), /a part ends before its item/],
    ['a lost end of an item', (events) => dropped(events, 'response.output_item.done'), /every item that starts ends/],
    [
      'an item id that changes',
      (events) => assign(of(events, 'response.output_text.delta'), { item_id: 'msg_x' }),
      /keeps its id/,
    ],
    [
      'an index that changes',
      (events) => assign(of(events, 'response.output_text.delta'), { content_index: 1 }),
      /keeps its index/,
    ],
    [
      'a place that is not there',
      (events) => assign(of(events, 'response.output_text.delta'), { output_index: 9 }),
      /an item is announced before/,
    ],
    [
      'arguments that differ',
      (events) => assign(of(events, 'response.function_call_arguments.done'), { arguments: '' }),
      /arguments-end repeats the deltas/,
    ],
    [
      'a call id that changes',
      (events) => assign(events.findLast(isCall)?.item, { call_id: 'call_2' }),
      /item-end repeats the events of the item/,
    ],
    [
      'an output in another order',
      (events) => last(events).response?.output.reverse(),
      /the items in order, as they ended/,
    ],
    [
      'an output that lacks an item',
      (events) => last(events).response?.output.pop(),
      /the items in order, as they ended/,
    ],
    ['an incomplete item of a completed response', cutOff, /a turn with an incomplete item is incomplete/],
    [
      'a completion without a time',
      (events) => assign(last(events).response, { completed_at: null }),
      /completedAt is for completed turns/,
    ],
  ])('are broken by %s', (_what, spoil, law) => {
    const events = JSON.parse(JSON.stringify(readWire(stream)));
    spoil(events);
    expect(() => expectWireLaws(events)).toThrow(law);
  });
});

describe('the laws of the wire, where the server runs the tools', () => {
  const tools = functionTools({
    look: { execute: () => 'Nothing there.' },
    fall: {
      execute: () => {
        throw new Error('It fell.');
      },
    },
  });

  it.each(['mcp_call', 'function_call'] as const)('[P-04] hold where calls are shown as %s', async (shownAs) => {
    const { fake } = replay;
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL });
    const app = await startApp({ options: { upstream, tools, show: { toolCalls: shownAs } } });
    fake.reply(eventStream(chatStream({ tool_calls: [CALL, FALL] })), eventStream(textStream('Done.')));
    const { events, response } = await askForStream(app.url).finally(() =>
      Promise.all([app.close(), upstream.close?.()]),
    );
    expect(response.output.map(({ type }) => type)).toEqual(SHOWN[shownAs]);
    expect(accumulatedOutput(events)).toEqual(response.output);
  });
});

describe('the schemas of the wire', () => {
  it.each<readonly [what: string, spoil: (text: string) => string]>([
    ['a key that is missing', (text) => text.replace('"logprobs":[]', '"none":0')],
    ['a key too many', (text) => text.replace('"sequence_number":4', '"sequence_number":4,"debug":true')],
    ['one of the 31 keys gone', (text) => text.replace('"background":false,', '')],
    ['an event nobody knows', (text) => text.replaceAll('response.created', 'response.begun')],
  ])('refuse %s', (_what, spoil) => {
    expect(() => readWire(spoil(stream))).toThrow('Not an event of the wire');
  });

  it('refuse an error that is not in the envelope', () => {
    expect(() => expectWireError({ message: 'No.', type: 'server_error', param: null, code: 'x' })).toThrow(
      'Not an error',
    );
  });
});

describeShared('the published schema', () => {
  it('refuses a response without one of its 31 keys, whichever', () => {
    const response: object = expectWireLaws(readWire(stream));
    const keys = Object.keys(response);
    expect(keys).toHaveLength(31);
    for (const key of keys) {
      const spoilt = { ...response, [key]: undefined };
      expect(() => expectValidResponse(JSON.parse(JSON.stringify(spoilt)))).toThrow(
        `must have required property '${key}'`,
      );
    }
  });

  it('refuses an event that lacks a field, and one it does not know', () => {
    const delta = { type: 'response.output_text.delta', sequence_number: 1, item_id: 'a', output_index: 0, delta: '' };
    expect(() => expectValidEvent(delta)).toThrow("must have required property 'content_index'");
    expect(() => expectValidEvent({ type: 'acme:thing' })).toThrow("nothing named 'acme:thing'");
  });
});

function assign(target: object | undefined, fields: object): void {
  if (!target) throw new Error('There is nothing to spoil.');
  Object.assign(target, fields);
}

function last(events: readonly Bare[]): Bare {
  const event = events.at(-1);
  if (!event) throw new Error('There is nothing to spoil.');
  return event;
}

function of(events: readonly Bare[], type: string): Bare | undefined {
  return events.find((event) => event.type === type);
}

function isCall(event: Bare): boolean {
  return event.item?.type === 'function_call';
}

/** Takes the first event of a type out and closes the gap in the numbers. */
function dropped(events: Bare[], type: string): void {
  events.splice(
    events.findIndex((event) => event.type === type),
    1,
  );
  renumber(events);
}

function numbered(events: Bare[], more: Bare): void {
  events.push(more);
  renumber(events);
}

function renumber(events: readonly Bare[]): void {
  for (const [index, event] of events.entries()) assign(event, { sequence_number: index });
}

/** The last item is left incomplete, consistently, in a response that says it is complete. */
function cutOff(events: readonly Bare[]): void {
  assign(events.findLast(isCall)?.item, { status: 'incomplete' });
  assign(last(events).response?.output.at(-1), { status: 'incomplete' });
}
