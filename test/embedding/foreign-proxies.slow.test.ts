/** Each middleware, and all of them, in front of proxies that do not know this package. */
import { runTools } from '../../src/index.ts';
import { chatCompletion, type FakeUpstream, startFakeUpstream, toolCallStream } from '../../src/testing/index.ts';
import { type Case, cases, weather } from './cases.ts';
import { parsingExpress, startHost } from './hosts.ts';
import { bytesRequested, post, sayHello, startModelServer } from './model-server.ts';
import { expectValidRequest } from './openai-requests.ts';
import { fetchProxy, httpProxy, type ProxyMaker, sdkProxy } from './proxies.ts';

const proxies: Readonly<Record<string, ProxyMaker>> = {
  'http-proxy-middleware': httpProxy,
  'a bare fetch': fetchProxy,
  'OpenAI’s SDK': sdkProxy,
};
const CLIENT = { authorization: 'Bearer client', 'x-trace': 'client-trace' };

let fake: FakeUpstream;
beforeAll(async () => {
  fake = await startModelServer();
});
afterAll(() => fake.close());

/** One request through an app of these stages: what the client saw, and what the model server did. */
async function through(proxy: ProxyMaker, stages: ReturnType<Case['stages']>, body: unknown) {
  const app = await startHost(parsingExpress, [...stages, proxy(fake.baseURL)]);
  const before = fake.requests.length;
  const answer = await post(`${app.url}/llm`, body, CLIENT);
  await app.close();
  const [requested] = fake.requests.slice(before);
  return { answer, bytes: bytesRequested(fake, before), headers: requested?.headers ?? {} };
}

describe.each(Object.entries(proxies))('in front of %s', (_name, proxy) => {
  describe.each(cases)('$name', ({ stages, ...dialects }) => {
    it.each([
      ['chat', false],
      ['chat', true],
      ['responses', false],
      ['responses', true],
    ] as const)('[X-02] the proxy sees a plain request of the API (%s, streamed: %s)', async (dialect, stream) => {
      const { sent, seen } = dialects[dialect];
      const { answer, bytes, headers } = await through(proxy, stages(), { ...sent, ...(stream ? { stream } : {}) });
      const direct = await through(proxy, [], { ...seen, ...(stream ? { stream } : {}) });
      expectValidRequest(dialect, seen);
      expect({ answer, requested: bytes.map((text) => JSON.parse(text)), headers: comparable(headers) }).toEqual({
        answer: direct.answer,
        requested: [{ ...seen, ...(stream ? { stream } : {}) }],
        headers: comparable(direct.headers),
      });
    });
  });
});

/** Two rounds through `runTools` and the proxy, and what the model server was asked in the second. */
async function twoRounds(proxy: ProxyMaker, stream: boolean) {
  const call = { id: 'call_1', name: 'weather', arguments: '{}' };
  const called = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
  const server = await startFakeUpstream();
  server.reply({ body: stream ? toolCallStream([call]) : chatCompletion({ tool_calls: [called] }) }, sayHello);
  const app = await startHost(parsingExpress, [runTools({ tools: weather, handler: proxy(server.baseURL) })]);
  const answer = await post(app.url, { model: 'm', messages: [{ role: 'user', content: 'Hi.' }], stream }, CLIENT);
  await Promise.all([app.close(), server.close()]);
  const { choices } = stream ? { choices: [] } : JSON.parse(answer.text);
  const words = stream
    ? [...answer.text.matchAll(/"content":"([^"]+)"/g)].map(([, word]) => word).join('')
    : choices[0].message.content;
  const { messages } = JSON.parse(bytesRequested(server).at(-1) ?? '{}');
  return { rounds: server.requests.length, last: messages.at(-1), status: answer.status, words };
}

describe.each(Object.entries(proxies))('runTools over %s', (name, proxy) => {
  it.each([false, true])('[T-02] asks it once for each round (streamed: %s)', async (stream) => {
    expect(await twoRounds(proxy, stream)).toEqual({
      rounds: 2,
      last: { role: 'tool', tool_call_id: 'call_1', content: 'Sunny.' },
      status: 200,
      words: 'Hello!',
    });
  });

  it('[P-09] passes a refusal on in its own words', async () => {
    const server = await startFakeUpstream();
    server.reply({ status: 429, headers: { 'retry-after': '7' }, body: '{"error":{"message":"Slow down."}}' });
    const answers = [];
    for (const stages of [[], [runTools({ tools: weather, handler: proxy(server.baseURL) })]]) {
      const app = await startHost(parsingExpress, [...stages, proxy(server.baseURL)]);
      const { status, headers, text } = await post(app.url, {
        model: 'm',
        messages: [{ role: 'user', content: 'Hi.' }],
      });
      answers.push({ status, text, type: headers['content-type'], retryAfter: headers['retry-after'] });
      await app.close();
    }
    await server.close();
    // The SDK throws, and that is the host's to answer.
    expect([answers[1], answers[1]?.status]).toEqual([answers[0], name === 'OpenAI’s SDK' ? 500 : 429]);
  });
});

/** Without the port of each app. */
function comparable(headers: Readonly<Record<string, unknown>>): unknown {
  const { host, connection, ...rest } = headers;
  return rest;
}
