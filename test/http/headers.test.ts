/** The headers and the last bytes of an answer, and the headers that reach the model server. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { ask } from './client.ts';

let fake: FakeUpstream;
let app: App;

beforeEach(async () => {
  fake = await startFakeUpstream();
  app = await startApp({ upstream: fake });
});

afterEach(() => Promise.all([app.close(), fake.close()]));

/** Sends the text over a socket of its own, and returns each read until the server closes it. */
async function readsOf(text: string): Promise<readonly string[]> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  const reads: string[] = [];
  socket.setEncoding('utf8').on('data', (piece: string) => {
    reads.push(piece);
  });
  socket.write(text);
  await once(socket, 'close');
  return reads;
}

async function overSocket(text: string): Promise<string> {
  return (await readsOf(text)).join('');
}

function rawPost(body: string, headers = ''): string {
  const head = 'POST /v1/responses HTTP/1.1\r\nhost: app\r\nconnection: close\r\ncontent-type: application/json\r\n';
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
}

describe('an event stream', () => {
  it('[B-07] has headers that keep proxies from holding it back', async () => {
    const response = await ask(app.url, { stream: true });
    await response.text();
    const names = ['content-type', 'cache-control', 'x-accel-buffering', 'content-length', 'content-encoding'];
    expect([response.status, ...names.map((name) => response.headers.get(name))]).toEqual([
      200,
      'text/event-stream',
      'no-cache, no-transform',
      'no',
      null,
      null,
    ]);
  });

  it('[C-24] is whole when the socket closes, and closes at once', async () => {
    const answer = await overSocket(rawPost('{"model":"m","input":"Hi","stream":true}'));
    expect(answer.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n')).toBe(true);
    expect(answer).toContain('event: response.completed\n');
  });

  it('[C-24] ends in the same packet as its last event', async () => {
    const reads = await readsOf(rawPost('{"model":"m","input":"Hi","stream":true}'));
    expect(reads.at(-1)).toMatch(/event: response\.completed\n.*data: \[DONE\]\n\n\r\n0\r\n\r\n$/s);
  });

  it('[C-24] is whole for a client of HTTP/1.0, which knows no chunks', async () => {
    const answer = await overSocket(
      rawPost('{"model":"m","input":"Hi","stream":true}').replace('HTTP/1.1', 'HTTP/1.0'),
    );
    expect(answer.endsWith('data: [DONE]\n\n')).toBe(true);
  });
});

describe('the id of a request', () => {
  async function idOf(response: Response): Promise<string | null> {
    await response.text();
    return response.headers.get('x-request-id');
  }

  it('[B-43] is the client’s own, on every answer and at the model server', async () => {
    const headers = { 'x-request-id': 'trace:1.a-b_C' };
    const ids = [
      await idOf(await ask(app.url, {}, { headers })),
      await idOf(await ask(app.url, { stream: true }, { headers })),
      await idOf(await fetch(`${app.url}/responses/resp_missing`, { headers })),
      await idOf(await fetch(`${app.url}/models`, { headers })),
      await idOf(await ask(app.url, { model: 7 }, { headers })),
    ];
    const upstream = fake.requests.map((request) => request.headers['x-request-id']);
    const own = 'trace:1.a-b_C';
    expect([ids, upstream]).toEqual([
      [own, own, own, own, own],
      [own, own, own],
    ]);
  });

  it.each([
    ['not JSON', '{"model":', {}],
    ['no JSON at all', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['an encoding nobody knows', '{}', { 'content-encoding': 'rot13' }],
  ])('[B-43] is on the answer to a body that is %s', async (_, body, headers) => {
    const response = await ask(app.url, body, { headers: { 'x-request-id': 'mine', ...headers } });
    expect(await idOf(response)).toBe('mine');
  });

  it('[B-43] is made up where the client sends none, and the model server gets the same', async () => {
    const ids = [await idOf(await ask(app.url)), await idOf(await ask(app.url, { stream: true }))];
    expect(fake.requests.map((request) => request.headers['x-request-id'])).toEqual(ids);
    expect(ids).toEqual([expect.stringMatching(/^req_[0-9a-f]{32}$/), expect.stringMatching(/^req_[0-9a-f]{32}$/)]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it.each([
    ['of 128 characters is kept', 'x'.repeat(128), /^x{128}$/],
    ['of 129 characters is replaced', 'x'.repeat(129), /^req_/],
    ['with a space is replaced', 'a b', /^req_/],
    ['with a quote is replaced', 'a"b', /^req_/],
    ['of Latin letters beyond ASCII is replaced', 'caf\u00e9', /^req_/],
    ['with markup is replaced', '<script>', /^req_/],
    ['that is empty is replaced', '', /^req_/],
  ])('[B-43][P-14] %s', async (_, id, expected) => {
    expect(await idOf(await ask(app.url, {}, { headers: { 'x-request-id': id } }))).toMatch(expected);
  });
});

describe('the headers that reach the model server', () => {
  it('[P-14] are our own and an allow-list of the client’s', async () => {
    const headers = {
      authorization: 'Bearer client-secret',
      cookie: 'session=1',
      'x-api-key': 'client-secret',
      'api-key': 'client-secret',
      'openai-organization': 'org-evil',
      'x-forwarded-for': '10.0.0.1',
      'x-forwarded-host': 'evil.example',
      forwarded: 'for=10.0.0.1',
      'user-agent': 'client/1',
      accept: 'text/html',
      'accept-encoding': 'br',
      'x-anything': 'else',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'a=1',
      'x-request-id': 'mine',
    };
    await (await ask(app.url, {}, { headers })).text();
    const { host } = new URL(fake.baseURL);
    expect(fake.requests[0]?.headers).toEqual({
      host,
      connection: 'keep-alive',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'content-length': expect.stringMatching(/^\d+$/),
      accept: 'text/event-stream, application/json',
      authorization: 'Bearer upstream-key',
      traceparent: headers.traceparent,
      tracestate: 'a=1',
      'x-request-id': 'mine',
    });
  });

  it('[P-14] cannot be changed by a field of the request', async () => {
    const hostile = {
      base_url: 'http://evil.example',
      api_key: 'x',
      extra_headers: { a: 'b' },
      headers: { host: 'x' },
    };
    await (await ask(app.url, hostile)).text();
    expect(fake.requests[0]?.headers).toEqual(
      expect.objectContaining({ host: new URL(fake.baseURL).host, authorization: 'Bearer upstream-key' }),
    );
    expect(Object.keys(fake.requests[0]?.body as object).sort()).toEqual([
      'messages',
      'model',
      'stream',
      'stream_options',
    ]);
  });
});
