/** Clients that leave, servers that shut down, and other hosts. */
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { openResponses } from '../../../src/core.ts';
import { chatCompletionsUpstream, type RouterOptions } from '../../../src/index.ts';
import { chatChunk, type FakeUpstream, startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import { messageStart, messagesStream, textBlock } from '../../upstreams/messages-bytes.ts';
import { ask, eventsIn, type MessagesApp, startMessages, USER } from './messages-app.ts';

const WAYS: readonly (readonly [name: string, options: (fake: FakeUpstream) => RouterOptions, body: string])[] = [
  ['through items', () => ({}), chatChunk({ content: 'word ' })],
  [
    'passed on',
    ({ baseURL }) => ({ upstream: anthropicUpstream({ baseURL, apiKey: 'k', retries: 0 }) }),
    messageStart() + textBlock(0, 'word '),
  ],
];

describe.each(WAYS)('an answer that is %s', (_name, options, body) => {
  let app: MessagesApp;
  beforeEach(async () => {
    app = await startMessages(options);
    app.fake.reply({ body, headers: { 'content-type': 'text/event-stream' }, stallAfterBytes: 100_000 });
  });
  afterEach(() => app.close());

  /** A stream of which the first events have been read. */
  async function begun(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    const reader = (await ask(app.url, { stream: true })).body?.getReader();
    if (!reader) throw new Error('There is no body.');
    await reader.read();
    return reader;
  }

  it('[X-12] [P-10] stops the model server when the client leaves', async () => {
    const reader = await begun();
    await reader.cancel();
    await expect(app.fake.closed(0)).resolves.toBeGreaterThan(0);
  });

  it('[X-12] ends in an error when the server shuts down', async () => {
    const reader = await begun();
    const drained = app.router.drain({ timeoutMs: 10 });
    const decoder = new TextDecoder();
    let text = '';
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += decoder.decode(piece.value);
    await drained;
    expect(eventsIn(text).at(-1)).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  });
});

it.each(WAYS)('[X-12] an answer that is %s frees its place', async (_name, options) => {
  const app = await startMessages((fake) => ({ ...options(fake), limits: { turns: { concurrentTurns: 1 } } }));
  const sse = { 'content-type': 'text/event-stream' };
  const isPassed = 'upstream' in options(app.fake);
  app.fake.reply({ body: isPassed ? messagesStream([textBlock(0, 'Hi.')]) : textStream('Hi.'), headers: sse });
  for (const stream of [true, true, false, true]) {
    const answer = await ask(app.url, { stream });
    await answer.text();
    // One whole message is no stream: a server of this API would answer in JSON.
    if (!isPassed || stream) expect(answer.status).toBe(200);
  }
  expect((await app.router.status()).responses).toMatchObject({ inFlight: 0 });
  await app.close();
});

describe('without Express', () => {
  let fake: FakeUpstream;
  beforeEach(async () => {
    fake = await startFakeUpstream({ reply: { body: textStream('Hi.') } });
  });
  afterEach(() => fake.close());

  const body = { model: 'm', max_tokens: 9, messages: [USER] };
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };

  it('[X-12] [X-03] the Web handler serves it', async () => {
    const handler = openResponses({
      upstream: chatCompletionsUpstream({ baseURL: fake.baseURL }),
      basePath: '/v1',
    }).fetch;
    const post = (sent: object) =>
      handler(new Request('http://a/v1/messages', { method: 'POST', headers, body: JSON.stringify(sent) }));
    expect(await (await post(body)).json()).toMatchObject({ type: 'message', content: [{ text: 'Hi.' }] });
    const refused = await post({ ...body, model: '' });
    expect(await refused.json()).toMatchObject({ type: 'error', request_id: refused.headers.get('request-id') });
  });

  it('[X-12] [X-03] it is a function from a request to a reply', async () => {
    const api = openResponses({ upstream: chatCompletionsUpstream({ baseURL: fake.baseURL }) });
    const { signal } = new AbortController();
    const request = { method: 'POST', path: '/messages', headers, body, signal };
    expect(JSON.parse(String((await api.handle(request))?.body))).toMatchObject({ type: 'message' });
    const bytes = (async function* () {
      yield Buffer.from('{');
    })();
    const broken = await api.handle({ ...request, body: undefined, bytes });
    expect(JSON.parse(String(broken?.body))).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
    expect(api.handle({ ...request, path: '/messages/batches' })).toBeUndefined();
  });
});
