/** What hosts see of a body that the router reads by itself. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { connect } from 'node:net';
import express from 'express';
import { chatCompletionsUpstream, memoryStore, responsesRouter } from '../../src/index.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { listening } from '../support/listening.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const BODY = { model: 'm', input: 'Hi' };

let fake: FakeUpstream;

beforeEach(async () => {
  fake = await startFakeUpstream({ reply: { body: textStream('Hello') } });
});
afterEach(() => fake.close());

async function startApp(seen: unknown[]) {
  const user = new AsyncLocalStorage<string>();
  const app = express();
  app.use((req, res, next) => {
    res.once('finish', () => seen.push(req.body));
    user.run('anna', next);
  });
  const scope = () => {
    seen.push(user.getStore());
    return 'anna';
  };
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
  const onError = ({ code }: { readonly code: string | null }) => void seen.push(code);
  app.use('/v1', responsesRouter({ upstream, store: memoryStore(), scope, hooks: { onError } }));
  const { url, close } = await listening(app);
  return { url: `${url}/v1/responses`, close: () => Promise.all([close(), upstream.close?.()]) };
}

describe('a body that nobody has read', () => {
  it.each([
    ['in one piece', () => JSON.stringify(BODY)],
    ['in many pieces', () => JSON.stringify({ ...BODY, input: 'x'.repeat(300_000) })],
    ['with a byte order mark', () => `\ufeff${JSON.stringify(BODY)}`],
  ])('[X-01] keeps the host’s async context and stands in req.body, %s', async (_, text) => {
    const seen: unknown[] = [];
    const app = await startApp(seen);
    const { status } = await fetch(app.url, { method: 'POST', headers: JSON_TYPE, body: text() });
    await app.close();
    expect([status, seen]).toEqual([200, ['anna', JSON.parse(text().replace('\ufeff', ''))]]);
  });

  it('[X-01] that is empty lacks its fields, and is no syntax error', async () => {
    const app = await startApp([]);
    const response = await fetch(app.url, { method: 'POST', headers: JSON_TYPE, body: '' });
    const { error } = (await response.json()) as { readonly error: { readonly param: string } };
    await app.close();
    expect([response.status, error.param]).toEqual([400, 'model']);
  });

  it('[P-10] that breaks off is reported as an aborted request, and the app goes on', async () => {
    const seen: unknown[] = [];
    const app = await startApp(seen);
    const head =
      'POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{';
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.write(head, () => setTimeout(() => socket.destroy(), 20));
    await once(socket, 'close');
    const { status } = await fetch(app.url, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(BODY) });
    await app.close();
    expect([status, seen.filter((each) => each !== 'anna')]).toEqual([200, ['request_aborted', BODY]]);
  });
});
