/** A Chat Completions server that streams calls of custom tools: each has one input, which is guarded, in every API. */
import { chatCompletionsUpstream, messagesRouter } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { type App, startApp } from '../../support/app.ts';
import { chunkStream, completion, deltaChunk, jsonBody } from '../../support/provider-app.ts';
import { askForJson, askForStream } from '../../support/responses-client.ts';

let fake: FakeUpstream;
let app: App;

beforeEach(async () => {
  fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
  const options = { upstream, guards: { output: [pii()] }, hooks: { onError() {} } };
  app = await startApp({ options, others: [messagesRouter(options)] });
});
afterEach(() => Promise.all([app.close(), fake.close()]));

const tools = [
  { type: 'custom', name: 'patch' },
  { type: 'custom', name: 'shout' },
  { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } },
];

const begin = (name: string, input: unknown, more: JsonObject = { index: 0, id: 'call_1' }): JsonObject => ({
  ...more,
  type: 'custom',
  custom: { name, input },
});
const next = (input: string, more: JsonObject = { index: 0 }): JsonObject => ({ ...more, custom: { input } });

/** A stream with one entry of a call in each chunk. */
function stream(entries: readonly JsonObject[], finish = 'tool_calls') {
  const chunks = entries.map((entry) => deltaChunk({ tool_calls: [entry] }));
  return chunkStream(...chunks, deltaChunk({}, {}, { finish_reason: finish }));
}

/** The calls of a response, as their names and what they are called with. */
function callsIn(output: readonly object[]): readonly string[] {
  return (output as readonly JsonObject[]).map(
    ({ name, input, arguments: json, status }) => `${status} ${name} ${input ?? json}`,
  );
}

/** The calls of a message that is streamed. */
async function messageCalls(entries: readonly JsonObject[]): Promise<readonly unknown[]> {
  fake.reply(stream(entries));
  const answer = await fetch(`${app.url}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({
      model: 'm',
      max_tokens: 50,
      stream: true,
      messages: [{ role: 'user', content: 'Go.' }],
      tools: ['patch', 'shout', 'look'].map((name) => ({ name, input_schema: { type: 'object' } })),
    }),
  });
  const events = (await answer.text()).split('\n').filter((line) => line.startsWith('data: {'));
  const jsons: string[] = [];
  for (const line of events) {
    const { index, delta, content_block: block } = JSON.parse(line.slice('data: '.length));
    if (block?.type === 'tool_use') jsons[index] = '';
    if (delta?.type === 'input_json_delta') jsons[index] += delta.partial_json;
  }
  return jsons.map((json) => JSON.parse(json));
}

const CASES: readonly (readonly [string, readonly JsonObject[], readonly (readonly [string, string])[]])[] = [
  ['in pieces', [begin('patch', 'say '), next('"a\n'), next('"{}')], [['patch', 'say "a\n"{}']]],
  ['with a secret in two pieces', [begin('patch', 'cu jane.doe@ex'), next('ample.com')], [['patch', 'cu [EMAIL]']]],
  ['with an empty first piece', [begin('patch', ''), next('ab'), next('ab'), next('ab')], [['patch', 'ababab']]],
  [
    'with a whole object as each piece',
    [begin('patch', '{}'), next('{}'), next('{"a":1}')],
    [['patch', '{}{}{"a":1}']],
  ],
  ['with half a character in each piece', [begin('patch', 'a\ud83d'), next('\ude00')], [['patch', 'a😀']]],
  ['without index and ids', [begin('patch', 'a', {}), next('b', {}), next('c', {})], [['patch', 'abc']]],
  ['with its id and name in each piece', [begin('patch', 'a'), begin('patch', 'b')], [['patch', 'ab']]],
  ['whose name comes alone', [begin('patch', undefined), next('a'), next('b')], [['patch', 'ab']]],
  ['without any input', [begin('patch', '')], [['patch', '']]],
  [
    'one after the other',
    [
      begin('patch', 'a'),
      next('b'),
      begin('shout', '', { index: 1, id: 'call_2' }),
      next('c', { index: 1 }),
      next('d', { index: 1 }),
    ],
    [
      ['patch', 'ab'],
      ['shout', 'cd'],
    ],
  ],
  [
    'between each other',
    [
      begin('patch', 'a'),
      begin('shout', 'c', { index: 1, id: 'call_2' }),
      next('b'),
      next('d', { index: 1 }),
      next('!'),
    ],
    [
      ['patch', 'ab!'],
      ['shout', 'cd'],
    ],
  ],
  [
    'that all have one number',
    [begin('patch', 'a'), next('b'), begin('patch', 'c', { index: 0, id: 'call_2' }), next('d')],
    [
      ['patch', 'ab'],
      ['patch', 'cd'],
    ],
  ],
  [
    'without index and ids, one after the other',
    [begin('patch', 'a', {}), next('b', {}), begin('patch', 'c', {}), begin('shout', 'd', {})],
    [
      ['patch', 'ab'],
      ['patch', 'c'],
      ['shout', 'd'],
    ],
  ],
];

describe('calls of custom tools', () => {
  it.each(CASES)('[P-05] have one input each: %s', async (_, entries, calls) => {
    fake.reply(stream(entries), stream(entries));
    const { response, events } = await askForStream(app.url, { tools });
    const expected = calls.map(([name, input]) => `completed ${name} ${input}`);
    expect(callsIn(response.output)).toEqual(expected);
    expect(callsIn((await askForJson(app.url, { tools })).output)).toEqual(expected);
    const deltas = events.flatMap((event) => ('delta' in event ? [event.delta] : []));
    expect(deltas.join('')).toBe(calls.map(([, input]) => input).join(''));
    expect(await messageCalls(entries)).toEqual(calls.map(([, input]) => ({ input })));
  });

  it('[P-05] stand beside a function, whole, in JSON', async () => {
    const look = { id: 'call_2', type: 'function', function: { name: 'look', arguments: '{"a":1}' } };
    const calls = [begin('patch', 'a "b"', { id: 'call_1' }), look, begin('shout', 'c', { id: 'call_3' })];
    fake.reply(jsonBody(completion({ tool_calls: calls }, {}, { finish_reason: 'tool_calls' })));
    const { output } = await askForJson(app.url, { tools });
    expect(callsIn(output)).toEqual(['completed patch a "b"', 'completed look {"a":1}', 'completed shout c']);
  });

  it('[P-05] are shown as they arrive', async () => {
    fake.reply(stream([begin('patch', 'first piece, '), next('and the second one, '), next('then the end')]));
    const { events } = await askForStream(app.url, { tools });
    const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
    expect(deltas.length).toBeGreaterThan(1);
  });

  it.each([
    ['the length', 'length', 'max_output_tokens'],
    ['a filter', 'content_filter', 'content_filter'],
  ])('[P-05] [S-11] are incomplete where %s cuts the last one off', async (_, finish, reason) => {
    const second = { index: 1, id: 'call_2' };
    fake.reply(stream([begin('patch', 'rm -rf '), next('/tmp/x'), begin('shout', 'a', second)], finish));
    const { response } = await askForStream(app.url, { tools });
    expect([response.status, response.incomplete_details?.reason, callsIn(response.output)]).toEqual([
      'incomplete',
      reason,
      ['completed patch rm -rf /tmp/x', 'incomplete shout a'],
    ]);
  });

  it('[P-05] [S-11] are incomplete where the stream breaks off', async () => {
    const chunks = [begin('patch', 'rm -rf '), next('/tmp; ')].map((entry) => deltaChunk({ tool_calls: [entry] }));
    const body = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
    fake.reply({ body, headers: { 'content-type': 'text/event-stream' } });
    const { response } = await askForStream(app.url, { tools });
    // A guard holds back the last words, which may be half of a secret.
    expect([response.status, callsIn(response.output)]).toEqual([
      'failed',
      [expect.stringMatching(/^incomplete patch rm -rf /)],
    ]);
  });

  it('[P-05] may be followed by text in chunks of other ids', async () => {
    const call = { role: 'assistant', tool_calls: [begin('patch', 'a')] };
    const text = deltaChunk({ role: 'assistant', content: 'Done.' }, { id: 'd' });
    fake.reply(chunkStream(deltaChunk(call), text, deltaChunk({}, { id: 'e' }, { finish_reason: 'stop' })));
    const { response } = await askForStream(app.url, { tools });
    expect(response.output.map((item) => item.type)).toEqual(['custom_tool_call', 'message']);
    expect(callsIn(response.output)[0]).toBe('completed patch a');
  });
});
