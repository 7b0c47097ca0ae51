/** A Responses server whose end events hold more than its deltas: nothing of it is lost, and nothing comes twice. */

import { functionTools, messagesRouter } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { type App, startApp } from '../support/app.ts';
import { eventStream } from '../support/replay.ts';
import { askForJson, askForStream, post } from '../support/responses-client.ts';
import { responseEnd, responseStart, responsesEvent, responsesStream, textItem } from './responses-bytes.ts';

let fake: FakeUpstream;
let app: App;
let notes: string[];

beforeEach(async () => {
  notes = [];
  fake = await startFakeUpstream();
  const hooks = { onNote: ({ code }: { code: string }) => void notes.push(code), onError() {} };
  const options = { upstream: responsesUpstream({ baseURL: fake.baseURL, retries: 0 }), hooks };
  app = await startApp({ options, others: [messagesRouter(options)] });
});
afterEach(() => Promise.all([app.close(), fake.close()]));

const cite = (url: string, start_index = 0, end_index = 5): JsonObject => ({
  type: 'url_citation',
  url,
  title: 'T',
  start_index,
  end_index,
});
const text = (words: string, ...annotations: readonly JsonObject[]): JsonObject => ({
  type: 'output_text',
  text: words,
  annotations,
  logprobs: [],
});
const refusal = (words?: string): JsonObject => ({ type: 'refusal', refusal: words });
const message = (...content: readonly JsonObject[]): JsonObject => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content,
});
const call = (json: string): JsonObject => ({
  id: 'fc_1',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_1',
  name: 'look',
  arguments: json,
});
const custom = (input: string): JsonObject => ({
  id: 'ctc_1',
  type: 'custom_tool_call',
  status: 'completed',
  call_id: 'call_2',
  name: 'patch',
  input,
});

const about = (type: string, more: JsonObject, output_index = 0) =>
  responsesEvent({ type: `response.${type}`, output_index, ...more });
const added = (item: JsonObject, index = 0) => {
  const empty = { ...item, ...('content' in item ? { content: [] } : { arguments: '', input: '' }) };
  return about('output_item.added', { item: { ...empty, status: 'in_progress' } }, index);
};
const done = (item: JsonObject, index = 0) => about('output_item.done', { item }, index);
const says = (delta: string, content_index = 0) => about('output_text.delta', { content_index, delta });
const cites = (annotation: JsonObject) => about('output_text.annotation.added', { content_index: 0, annotation });
const partAdded = (part: JsonObject, content_index = 0) => about('content_part.added', { content_index, part });
const partDone = (part: JsonObject, content_index = 0) => about('content_part.done', { content_index, part });
const ended = (...output: readonly JsonObject[]) => responseEnd('completed', { output });

/** What an item says; each part of a message is its text, the urls that it cites, or its refusal. */
function told(item: JsonObject): unknown {
  if (item.type === 'function_call') return item.arguments;
  if (item.type === 'custom_tool_call') return { input: item.input };
  if (item.type !== 'message') return item.type;
  // The cast: an answer of this server, which is checked elsewhere.
  return (item.content as readonly JsonObject[]).map((part) => {
    if (part.type === 'refusal') return { refusal: part.refusal };
    const urls = (part.annotations as readonly JsonObject[]).map(({ url }) => url);
    return [part.text, ...urls];
  });
}

const tools = [
  { type: 'function', name: 'look' },
  { type: 'custom', name: 'patch' },
];

/** The items of the answer to such a stream; the answer in JSON is the same. */
async function answered(...events: readonly string[]): Promise<readonly unknown[]> {
  const stream = eventStream(responseStart() + events.join(''));
  fake.reply(stream, stream);
  const { response } = await askForStream(app.url, { tools });
  const whole = await askForJson(app.url, { tools });
  expect([response.status, whole.status]).toEqual(['completed', 'completed']);
  const items = response.output.map((item) => told(item as unknown as JsonObject));
  expect(whole.output.map((item) => told(item as unknown as JsonObject))).toEqual(items);
  return items;
}

const CITED = text('hello', cite('http://a'));
const HELLO = [added(message()), partAdded(text('')), says('hel'), says('lo')];
const HEL = HELLO.slice(0, 3);

describe('the end events of a Responses server', () => {
  it.each<[string, readonly string[]]>([
    ['content_part.done', [...HELLO, partDone(CITED), done(message(text('hello'))), ended()]],
    ['output_item.done', [...HELLO, done(message(CITED)), ended()]],
    ['the final response', [...HELLO, done(message(text('hello'))), ended(message(CITED))]],
    ['all of them', [...HELLO, partDone(CITED), done(message(CITED)), ended(message(CITED))]],
    [
      'all of them, and in an event of its own',
      [...HELLO, cites(cite('http://a')), partDone(CITED), done(message(CITED)), ended(message(CITED))],
    ],
    [
      'an event that names no item, and its end',
      [
        ...HELLO,
        responsesEvent({ type: 'response.output_text.annotation.added', annotation: cite('http://a') }),
      ].concat(done(message(CITED)), ended(message(CITED))),
    ],
    [
      'an event that spells it differently, and its end',
      [...HELLO, cites({ ...cite('http://a'), title: null }), done(message(CITED)), ended(message(CITED))],
    ],
  ])('[V-03] cite each page once: in %s', async (_, events) => {
    expect(await answered(...events)).toEqual([[['hello', 'http://a']]]);
  });

  it('[V-03] cite what the stream has not cited', async () => {
    const whole = message(text('hello', cite('http://a'), cite('http://b', 1), cite('http://b', 2)));
    const answer = await answered(...HELLO, cites(cite('http://b', 1)), done(whole), ended(whole));
    expect(answer).toEqual([[['hello', 'http://b', 'http://a', 'http://b']]]);
  });

  it('[V-03] cite a page as often as they say', async () => {
    const whole = message(text('hello', cite('http://a'), cite('http://a')));
    const twice = [[['hello', 'http://a', 'http://a']]];
    expect(await answered(...HELLO, done(whole), ended(whole))).toEqual(twice);
    expect(
      await answered(...HELLO, cites(cite('http://a')), cites(cite('http://a')), done(whole), ended(whole)),
    ).toEqual(twice);
    expect(await answered(ended(whole))).toEqual(twice);
  });

  it('[V-03] cite a page of each part', async () => {
    const parts = [CITED, text(' there', cite('http://b'))];
    const second = [partAdded(text(''), 1), says(' the', 1)];
    const whole = message(...parts);
    expect(await answered(...HELLO, partDone(CITED), ...second, done(whole), ended(whole))).toEqual([
      [['hello there', 'http://a', 'http://b']],
    ]);
  });

  it.each<[string, readonly string[]]>([
    ['output_text.done', [...HEL, about('output_text.done', { content_index: 0, text: 'hello' }), ended()]],
    ['content_part.done', [...HEL, partDone(text('hello')), ended()]],
    ['output_item.done', [...HEL, done(message(text('hello'))), ended()]],
    ['the final response', [...HEL, done(message(text('hel'))), ended(message(text('hello')))]],
    ['the final response alone', [...HEL, ended(message(text('hello')))]],
    [
      'all of them',
      [
        ...HEL,
        about('output_text.done', { content_index: 0, text: 'hello' }),
        partDone(text('hello')),
        done(message(text('hello'))),
        done(message(text('hello'))),
        ended(message(text('hello'))),
      ],
    ],
    [
      'output_text.done, of which there was nothing yet',
      [
        ...HEL.slice(0, 2),
        about('output_text.done', { content_index: 0, text: 'hello' }),
        done(message(text('hello'))),
        ended(message(text('hello'))),
      ],
    ],
  ])('[Q-03] have the end of the text: %s', async (name, events) => {
    expect(await answered(...events)).toEqual([[['hello']]]);
    expect(notes).toEqual(name.startsWith('the final') ? ['output_differs', 'output_differs'] : []);
  });

  it.each<[string, readonly string[]]>([
    ['other words', [done(message(text('Hello!')))]],
    ['fewer words', [done(message(text('h')))]],
    [
      'the same part under a late start',
      [partAdded(text('')), about('output_text.done', { text: 'hel' }), partDone(text('hel'))],
    ],
    ['the text of a part only', [partAdded(text(''), 1), says('lo', 1), partDone(text('lo'), 1)]],
  ])('[Q-03] take nothing back and repeat nothing: %s', async (name, events) => {
    expect(await answered(...HEL, ...events, ended())).toEqual([[[name.startsWith('the text') ? 'hello' : 'hel']]]);
  });

  it('[Q-03] put nothing behind what came after the message', async () => {
    const events = [
      ...HEL,
      added(call('{}'), 1),
      done(call('{}'), 1),
      done(message(text('hello'))),
      ended(message(text('hello')), call('{}')),
    ];
    expect([await answered(...events), notes[0]]).toEqual([[[['hel']], '{}'], 'output_differs']);
  });

  it.each<[string, readonly string[]]>([
    ['refusal.done', [about('refusal.done', { content_index: 0, refusal: 'no more' })]],
    ['content_part.done', [partDone(refusal('no more'))]],
    ['output_item.done', [done(message(refusal('no more')))]],
    [
      'all of them',
      [
        about('refusal.done', { content_index: 0, refusal: 'no more' }),
        partDone(refusal('no more')),
        done(message(refusal('no more'))),
      ],
    ],
  ])('[Q-03] have the refusal: %s', async (_, events) => {
    for (const begun of [[], [about('refusal.delta', { content_index: 0, delta: 'no' })]]) {
      const answer = await answered(added(message()), partAdded(refusal('')), ...begun, ...events, ended());
      expect([answer, notes]).toEqual([[[{ refusal: 'no more' }]], []]);
    }
  });

  it.each<[string, readonly string[]]>([
    ['refusal.delta', [about('refusal.delta', { content_index: 1, delta: 'no' })]],
    ['refusal.done', [about('refusal.done', { content_index: 1, refusal: 'no more' })]],
    ['content_part.done', [partDone(refusal('no more'), 1)]],
    ['nothing', []],
  ])('[Q-03] have the refusal behind a text: %s', async (_, events) => {
    const whole = message(text('hel'), refusal('no more'));
    const answer = await answered(...HEL, partAdded(refusal(''), 1), ...events, done(whole), ended(whole));
    expect([answer, notes]).toEqual([[[['hel'], { refusal: 'no more' }]], []]);
  });

  it.each([[undefined], [null], [{ text: 'no' }]])('[Q-03] refuse nothing where the refusal is %j', async (words) => {
    const odd = message({ type: 'refusal', refusal: words });
    expect(await answered(done(odd), ended())).toEqual([]);
    expect(await answered(done(message(...(odd.content as []), text('hello'))), ended())).toEqual([[['hello']]]);
  });

  it.each<[string, readonly string[], string]>([
    ['function_call_arguments.done', [about('function_call_arguments.done', { arguments: '{"a":1}' })], ''],
    [
      'function_call_arguments.done, as an object',
      [about('function_call_arguments.done', { arguments: { a: 1 } })],
      '',
    ],
    ['its end', [about('function_call_arguments.done', { arguments: '{"a":1}' })], '{"a":'],
    ['output_item.done', [done(call('{"a":1}'))], '{"a":'],
    ['both', [about('function_call_arguments.done', { arguments: '{"a":1}' }), done(call('{"a":1}'))], '{"a":'],
    [
      'one after the other',
      [about('function_call_arguments.done', { arguments: '{"a":' }), done(call('{"a":1}'))],
      '{"a',
    ],
    ['the deltas', [about('function_call_arguments.done', {}), done(call(''))], '{"a":1}'],
  ])('[Q-03] have the arguments: %s', async (_, events, delta) => {
    const begun = [added(call('')), about('function_call_arguments.delta', { delta })];
    expect(await answered(...begun, ...events, ended())).toEqual(['{"a":1}']);
  });

  it.each<[string, readonly string[]]>([
    ['custom_tool_call_input.done', [about('custom_tool_call_input.done', { input: 'say "hi"' }), ended()]],
    ['output_item.done', [done(custom('say "hi"')), ended()]],
    ['the final response', [ended(custom('say "hi"'))]],
    [
      'all of them',
      [
        about('custom_tool_call_input.done', { input: 'say "hi"' }),
        done(custom('say "hi"')),
        ended(custom('say "hi"')),
      ],
    ],
  ])('[Q-03] have the free text of a call: %s', async (_, events) => {
    for (const delta of ['', 'say', 'say "hi"']) {
      const begun = [added(custom('')), about('custom_tool_call_input.delta', { delta })];
      expect(await answered(...begun, ...events)).toEqual([{ input: 'say "hi"' }]);
    }
  });

  const EMPTY = about('output_item.added', { item: call('{}') });
  /** The final response without the event around it. */
  const bare = (item: JsonObject) =>
    `data: ${JSON.stringify({ object: 'response', status: 'completed', output: [item] })}\n\n`;
  const SKY = '{"at":"sky"}';
  const argumentsDone = (json?: unknown) => about('function_call_arguments.done', { arguments: json });

  it.each<[string, readonly string[], string]>([
    ['function_call_arguments.done', [argumentsDone(SKY), ended()], SKY],
    ['function_call_arguments.done, as an object', [argumentsDone({ at: 'sky' }), ended()], SKY],
    ['output_item.done', [done(call(SKY)), ended()], SKY],
    ['output_item.done behind an end without any', [argumentsDone(), done(call(SKY)), ended(call(SKY))], SKY],
    ['the final response', [ended(call(SKY))], SKY],
    ['the final response behind ends without any', [argumentsDone(''), done(call('')), ended(call(SKY))], SKY],
    ['the final response, without its wrapper', [bare(call(SKY))], SKY],
    ['all of them', [argumentsDone(SKY), done(call(SKY)), ended(call(SKY))], SKY],
    ['a cut-off answer', [done(call('{"at":"s')), ended()], '{"at":"s'],
    ['none of them', [ended()], '{}'],
    ['none of them, which are empty', [argumentsDone(''), done(call('')), ended()], '{}'],
    ['none of them, without a wrapper', [bare(call(''))], '{}'],
    ['none of them, which are the same', [argumentsDone('{}'), done(call('{ }')), ended(call('{}'))], '{}'],
  ])('[V-19] [Q-03] have the arguments of a call that begins with an empty object: %s', async (name, events, json) => {
    const deltas = [[], [about('function_call_arguments.delta', { delta: '{}' })]];
    for (const more of deltas) expect(await answered(EMPTY, ...more, ...events)).toEqual([json]);
    expect(notes.length > 0).toBe(/^the final response($| behind)/.test(name));
  });

  it('[V-19] [Q-03] have the arguments of each of two calls that begin with an empty object', async () => {
    const other = { ...call('{}'), id: 'fc_2', call_id: 'call_3' };
    const begun = [EMPTY, argumentsDone(), added(other, 1), done(other, 1)];
    expect(await answered(...begun, ended(call(SKY), other))).toEqual([SKY, '{}']);
    const words = [added(message(), 2), about('output_text.delta', { content_index: 0, delta: 'hi' }, 2)];
    expect(await answered(...begun, ...words, ended(call(SKY)))).toEqual([SKY, '{}', [['hi']]]);
    expect(await answered(...begun, ...words, ended())).toEqual(['{}', '{}', [['hi']]]);
  });

  it.each([
    ['{"a":{"a":1}}', '{"a":{"a":1}}'],
    ['{"a":1}', '{"a":1}'],
    ['', '{"a":1}'],
  ])('[V-19] [Q-03] show whether the last delta repeats those before it: %j', async (json, expected) => {
    const begun = ['{"a":', '{"a":1}'].map((delta) => about('function_call_arguments.delta', { delta }));
    expect(await answered(added(call('')), ...begun, done(call(json)), ended())).toEqual([expected]);
    expect(await answered(added(call('')), ...begun, ended(call(json)))).toEqual([expected]);
  });

  it('[V-19] [Q-03] have the arguments with which a tool of the host runs', async () => {
    const runs: unknown[] = [];
    const execute = (input: unknown) => {
      runs.push(input);
      return 'Sun';
    };
    const own = await startApp({
      options: {
        upstream: responsesUpstream({ baseURL: fake.baseURL, retries: 0 }),
        tools: [functionTools({ look: { parameters: {}, execute } })],
      },
    });
    const DONE = eventStream(responsesStream([textItem(0, 'Sunny.')]));
    const answers = [
      [EMPTY, argumentsDone(SKY), done(call(SKY)), ended()],
      [EMPTY, ended(call(SKY))],
    ];
    for (const events of answers) {
      fake.reply(eventStream(responseStart() + events.join('')), DONE);
      await post(own.url);
    }
    await own.close();
    expect(runs).toEqual([{ at: 'sky' }, { at: 'sky' }]);
  });

  const INPUT = 'say "hi"';
  it.each<[string, readonly string[]]>([
    ['output_item.done', [done(custom(INPUT)), ended()]],
    ['the final response', [ended(custom(INPUT))]],
    [
      'the final response, behind an item without any',
      [done({ ...custom(''), input: undefined }), ended(custom(INPUT))],
    ],
    ['the final response, behind an item whose text is empty', [done(custom('')), ended(custom(INPUT))]],
    ['all of them', [done(custom(INPUT)), ended(custom(INPUT))]],
  ])('[Q-03] have the free text of a call whose first end event lacks it: %s', async (_, events) => {
    for (const input of [undefined, null, '']) {
      for (const delta of ['', 'say', INPUT]) {
        const begun = [added(custom('')), about('custom_tool_call_input.delta', { delta })];
        const answer = await answered(...begun, about('custom_tool_call_input.done', { input }), ...events);
        expect(answer).toEqual([{ input: INPUT }]);
      }
    }
  });

  it.each(['', INPUT])(
    '[Q-03] may all lack the free text of a call, which is that of its deltas: %j',
    async (delta) => {
      const begun = [added(custom('')), about('custom_tool_call_input.delta', { delta })];
      const ends = [about('custom_tool_call_input.done', {}), done(custom(''))];
      for (const more of [[], ends.slice(0, 1), ends])
        expect(await answered(...begun, ...more, ended())).toEqual([{ input: delta }]);
    },
  );

  it('[Q-03] may all be missing behind the free text of a call, but for that of the response', async () => {
    const begun = [added(custom('')), about('custom_tool_call_input.delta', { delta: 'say "hi"' })];
    expect(await answered(...begun, ended())).toEqual([{ input: 'say "hi"' }]);
    const look = [added(call(''), 1), done(call('{}'), 1)];
    expect(await answered(...begun, ...look, ended())).toEqual([{ input: 'say "hi"' }, '{}']);
  });

  it('[Q-03] [S-11] leave the free text incomplete where the response is', async () => {
    const begun = [added(custom('')), about('custom_tool_call_input.delta', { delta: 'rm -rf /' })];
    const cut = responseEnd('incomplete', { incomplete_details: { reason: 'max_output_tokens' }, output: [] });
    fake.reply(eventStream(responseStart() + begun.join('') + cut));
    const { response } = await askForStream(app.url, { tools });
    expect([response.status, response.output]).toEqual([
      'incomplete',
      [expect.objectContaining({ type: 'custom_tool_call', status: 'incomplete', input: 'rm -rf /' })],
    ]);
  });

  it('[Q-03] reach the Messages API, too', async () => {
    fake.reply(
      eventStream([responseStart(), ...HEL, done(message(text('hello', cite('http://a')))), ended()].join('')),
    );
    const answer = await fetch(`${app.url}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', max_tokens: 50, messages: [{ role: 'user', content: 'Hi.' }] }),
    });
    const body = await answer.text();
    expect([body.includes('"text":"hello"'), body.includes('http://a')]).toEqual([true, true]);
  });
});
