/** The final object of a Responses stream beside the stream itself: what was not shown yet is taken from it, with a note. */

import { functionTools, type RouterOptions } from '../../src/index.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import type { FakeAnswer } from '../../src/testing/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { ResponsesDecoder } from '../../src/upstreams/responses/decoder.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { type App, startApp } from '../support/app.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { eventStream } from '../support/replay.ts';
import { askForStream } from '../support/responses-client.ts';
import { describeShared, listShared, readShared } from '../support/shared.ts';
import {
  callItem,
  item,
  responseEnd,
  responseStart,
  responsesEvent,
  responsesStream,
  textItem,
} from './responses-bytes.ts';

let fake: FakeUpstream;
let app: App;
let notes: string[];

async function start(options: RouterOptions = {}): Promise<void> {
  notes = [];
  fake = await startFakeUpstream();
  const hooks = { onNote: ({ code }: { code: string }) => void notes.push(code), onError() {} };
  const upstream = responsesUpstream({ baseURL: fake.baseURL, retries: 0 });
  app = await startApp({ options: { upstream, hooks, ...options } });
}

beforeEach(() => start());
afterEach(() => Promise.all([app.close(), fake.close()]));

const message = (text: string, id = 'msg_there'): JsonObject => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
const call = (json: string, call_id = 'call_1'): JsonObject => ({
  id: `fc_${call_id}`,
  type: 'function_call',
  status: 'completed',
  call_id,
  name: 'look',
  arguments: json,
});
const thought = (more: JsonObject = {}): JsonObject => ({ id: 'rs_there', type: 'reasoning', summary: [], ...more });
const ended = (...output: readonly JsonObject[]) => responseEnd('completed', { output });

/** What an answer says, item by item, and what was noted of it. */
async function reported(body: string, split: FakeAnswer['split'] = 'whole') {
  fake.reply({ ...eventStream(body), split });
  const { response } = await askForStream(app.url, { tools: [{ type: 'function', name: 'look' }] });
  const written = response.output.map((each) => {
    if (each.type === 'message')
      return each.content.map((part) => ('text' in part ? part.text : part.refusal)).join('');
    return each.type === 'function_call' ? [each.call_id, each.arguments] : each.type;
  });
  return [response.status, written, notes];
}

// vLLM, where a call is forced: the call comes as text, and as a call in the final object only. Written as it writes them.
const FORCED = '[{"name": "look", "parameters": {"at": 1}}]';
const FORCED_CALL = responsesStream([textItem(0, ...FORCED)], ended(call('{"at": 1}')));

describe('the final object', () => {
  it.each<FakeAnswer['split']>(['whole', 'byte', [7, 300, 301, 1000]])(
    '[X-07] [P-08] has the call that the stream gave as text, in pieces too: %j',
    async (split) => {
      expect(await reported(FORCED_CALL, split)).toEqual([
        'completed',
        [FORCED, ['call_1', '{"at": 1}']],
        ['output_differs'],
      ]);
    },
  );

  it('[X-07] [T-02] has a call that the server runs, too', async () => {
    await Promise.all([app.close(), fake.close()]);
    await start({ tools: [functionTools({ look: { parameters: {}, execute: () => 'Sun' } })] });
    fake.reply(eventStream(FORCED_CALL), eventStream(responsesStream([textItem(0, 'Sunny.')])));
    const { output } = (await askForStream(app.url)).response;
    expect(output.map(({ type }) => type)).toEqual(['message', 'mcp_list_tools', 'mcp_call', 'message']);
  });

  it.each([
    ['no item at all', responseStart() + ended(thought(), message('Hi'), call('{}')), ['Hi', ['call_1', '{}']]],
    [
      'an item that never got further than its start',
      responseStart() +
        responsesEvent({ type: 'response.output_item.added', output_index: 0, item: message('') }) +
        ended(message('Hi')),
      ['Hi'],
    ],
    [
      'one of two messages',
      responsesStream([textItem(0, 'Hi')], ended(message('Hi'), message('there', 'msg_2'))),
      ['Hi', 'there'],
    ],
    [
      'one of two calls',
      responsesStream([callItem(0, 'call_2', 'look', '{"b":2}')], ended(call('{"a":1}'), call('{"b":2}', 'call_2'))),
      [
        ['call_2', '{"b":2}'],
        ['call_1', '{"a":1}'],
      ],
    ],
    [
      'the end of the arguments',
      responsesStream([callItem(0, 'call_1', 'look', '{"a":')], ended(call('{"a":1}'))),
      [['call_1', '{"a":1}']],
    ],
  ])('[X-07] has what the stream lacked: %s', async (_, body, written) => {
    expect(await reported(body)).toEqual(['completed', written, ['output_differs']]);
  });

  it.each([
    ['other words', responsesStream([textItem(0, 'Hi')], ended(message('Ho'))), ['Hi']],
    [
      'other arguments',
      responsesStream([callItem(0, 'call_1', 'look', '{"a":1}')], ended(call('{"b":1}'))),
      [['call_1', '{"a":1}']],
    ],
    [
      'less',
      responsesStream([textItem(0, 'Hi'), callItem(1, 'call_1', 'look', '{}')], ended(message('Hi'))),
      ['Hi', ['call_1', '{}']],
    ],
    [
      'a thought whose place is past',
      responsesStream([textItem(0, 'Hi')], ended(thought({ encrypted_content: 'x' }), message('Hi'))),
      ['Hi'],
    ],
  ])('[X-07] takes nothing back that was shown, and is noted: %s', async (_, body, written) => {
    expect(await reported(body)).toEqual(['completed', written, ['output_differs']]);
  });

  it.each([
    ['nothing', responsesStream([textItem(0, 'Hi')])],
    ['the same', responsesStream([textItem(0, 'H', 'i')], ended(message('Hi')))],
    ['the same under other ids', responsesStream([textItem(0, 'Hi')], ended(message('Hi', 'msg_other')))],
    ['an empty item more', responsesStream([textItem(0, 'Hi')], ended(thought(), message('Hi'), message('')))],
    ['an empty item less', responsesStream([item(0, thought(), {}), textItem(1, 'Hi')], ended(message('Hi')))],
  ])('[X-07] is not noted where it says %s', async (_, body) => {
    expect(await reported(body)).toEqual(['completed', expect.arrayContaining(['Hi']), []]);
  });

  it('[X-07] is read in work that grows with its length only', async () => {
    const items = (count: number) => Array.from({ length: count }, (_, index) => call('{}', `call_${index}`));
    await expectLinearWork(2000, (count) => {
      const decoder = new ResponsesDecoder(() => {});
      const events: ModelEvent[] = [];
      decoder.take({ type: 'response.completed', response: { status: 'completed', output: items(count) } }, events);
      expect(events.length).toBe(count + 1);
    });
  });
});

describeShared('a recorded stream whose final object has an output', () => {
  /** Their deltas were cut where they were recorded. */
  const DIFFERENT = ['openai-phase-1-1.sse', 'tools-shell-openai-e8295026.sse'];
  const streams = listShared('corpus/responses-stream', '.sse').map(
    (file) => [file, readShared(`corpus/responses-stream/${file}`)] as const,
  );

  it.each(streams)('[X-07] [Q-03] is noted only where the two differ: %s', (file, text) => {
    const codes: string[] = [];
    const decoder = new ResponsesDecoder(({ code }) => void codes.push(code));
    const lines = text.split(/\r?\n/).filter((line) => line.startsWith('data:') && !line.includes('[DONE]'));
    try {
      for (const line of lines) if (!decoder.done) decoder.take(JSON.parse(line.slice(5)), []);
    } catch {
      // Some of them fail.
    }
    expect(codes.includes('output_differs')).toBe(DIFFERENT.includes(file));
  });
});
