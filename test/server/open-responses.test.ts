/** One call for the whole: places, tenants, files, shutdown and status are those of all APIs together. */
import { on, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import express, { type Request as ExpressRequest } from 'express';
import {
  chatCompletionsUpstream,
  memoryStore,
  openResponses,
  type Upstream,
  type WebSocketRequest,
} from 'express-open-responses';
import { openResponses as openWithoutExpress } from 'express-open-responses/core';
import { type FileStore, filesApi, filesRouter, memoryFiles } from 'express-open-responses/files';
import { createInspector } from 'express-open-responses/inspector';
import { createVectorStores, memoryVectors } from 'express-open-responses/vector-stores';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';
import { WebSocket } from 'ws';
import { requestIn, requestText } from '../../src/apis/background/stored-request.ts';
import { stateSealer } from '../../src/apis/endpoint/provider-state.ts';
import { chatCompletionsRouter, messagesRouter, type OpenResponsesOptions, responsesRouter } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { startFakeUpstream } from '../../src/testing/index.ts';
import { type Gate, gate } from '../support/gate.ts';
import { listening } from '../support/listening.ts';
import { HOUR_LONG_DRAIN } from '../support/patience.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A model that answers when its gate opens. */
function heldModel() {
  const goOn: Gate = gate();
  const begun: string[] = [];
  const upstream: Upstream = {
    name: 'held',
    async *stream({ model }) {
      begun.push(model);
      await goOn.opened;
      yield [
        { type: 'text-delta', text: 'Done.' },
        { type: 'finish', reason: 'stop' },
      ];
    },
    async *chat() {
      await goOn.opened;
      yield* [];
    },
  };
  return { upstream, begun, goOn };
}

async function serve(options: OpenResponsesOptions, authorize?: Parameters<typeof attachResponsesWebSocket>[2]) {
  const api = openResponses({ store: memoryStore(), logger: false, ...options });
  const server: Server = createServer(express().use('/v1', api.router));
  const { url, close } = await listening(server);
  closers.push(close);
  const webSocket = attachResponsesWebSocket(server, api, authorize);
  closers.push(() => webSocket.close());
  const post = async (path: string, body: JsonObject, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${url}/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'm', ...body }),
    });
    return { status: answer.status, body: (await answer.json()) as JsonObject };
  };
  const upload = async (text: string) => {
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob([text]), 'a.txt');
    const answer = await fetch(`${url}/v1/files`, { method: 'POST', body: form });
    return (await answer.json()) as { readonly id: string };
  };
  const ask = async (message: JsonObject, headers: Readonly<Record<string, string>> = {}) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers });
    closers.push(() => socket.terminate());
    await once(socket, 'open');
    const messages = on(socket, 'message');
    socket.send(JSON.stringify({ type: 'response.create', model: 'm', ...message }));
    for await (const [data] of messages) {
      const event = JSON.parse(String(data)) as JsonObject & { readonly type: string };
      if (event.type === 'error' || event.type === 'response.completed') return event;
    }
    throw new Error('The connection has ended.');
  };
  return { api, server, url, post, upload, ask, webSocket };
}

const says: Upstream = {
  name: 'says',
  async *stream() {
    yield [
      { type: 'text-delta', text: 'Hi.' },
      { type: 'finish', reason: 'stop' },
    ];
  },
};

/** An object with a `close` that is counted. */
function closable<Part extends object>(part: Part, closed: string[], name: string, fails = false) {
  const close = async () => {
    closed.push(name);
    if (fails) throw new Error(`${name} does not close`);
  };
  return Object.assign(part, { close });
}

const embeddings = { name: 'none', embed: async (texts: readonly string[]) => texts.map(() => new Float32Array([1])) };

describe('the places of a tenant', () => {
  it('are one set over all APIs and the WebSocket', async () => {
    const { upstream, begun, goOn } = heldModel();
    const limits = { turns: { concurrentTurnsPerTenant: 1, queuedTurns: 0 } };
    const { post, ask, api } = await serve({ upstream, limits });
    const first = post('/responses', { input: 'Hi' });
    while (begun.length === 0) await new Promise(setImmediate);
    const messages = [{ role: 'user', content: 'Hi' }];
    const refused = [
      (await post('/responses', { input: 'Hi' })).status,
      (await post('/chat/completions', { messages })).status,
      (await post('/messages', { messages, max_tokens: 9 })).status,
      (await ask({ input: 'Hi' })).status,
    ];
    const { responses } = await api.status();
    goOn.open();
    expect([(await first).status, refused, responses]).toEqual([
      200,
      [429, 429, 429, 429],
      { inFlight: 1, background: 0, waiting: 0 },
    ]);
  });
});

describe('uploaded files', () => {
  it('are found by requests where only filesApi is named', async () => {
    const fake = await startFakeUpstream();
    closers.push(() => fake.close());
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k' });
    const { upload, post } = await serve({ upstream, apis: [filesApi({ files: memoryFiles() })] });
    const { id } = await upload('Hello');
    const content = [{ type: 'input_file', file_id: id }];
    expect((await post('/responses', { input: [{ role: 'user', content }] })).status).toBe(200);
  });

  it('are removed from the vector stores beside them at once when they are deleted', async () => {
    const files = memoryFiles();
    const vectorStores = createVectorStores({ files, index: memoryVectors(), embeddings, logger: false });
    const { url, upload, post, api } = await serve({ upstream: says, apis: [filesApi({ files }), vectorStores.api] });
    closers.push(() => api.close());
    const { id } = await upload('Cats purr.');
    const store = (await post('/vector_stores', { file_ids: [id] })).body;
    await fetch(`${url}/v1/files/${id}`, { method: 'DELETE' });
    const listed = await (await fetch(`${url}/v1/vector_stores/${store.id}/files`)).json();
    expect((listed as JsonObject).data).toEqual([]);
  });

  it.each<[string, (one: FileStore, other: FileStore) => OpenResponsesOptions]>([
    ['the option files', (one, other) => ({ files: other, apis: [filesApi({ files: one })] })],
    ['two APIs', (one, other) => ({ apis: [filesApi({ files: one }), filesApi({ files: other })] })],
  ])('cannot be in another store than requests look into, by %s', (_, options) => {
    expect(() => openResponses({ upstream: says, ...options(memoryFiles(), memoryFiles()) })).toThrow(
      /^openResponses: files must be one store for all, or requests do not find what was uploaded, got 'memory' of /,
    );
  });

  it('that another tenant uploaded are refused with what to look for', async () => {
    const files = memoryFiles();
    const scope = (req: ExpressRequest) => String(req.get('x-user'));
    const options = { upstream: says, store: memoryStore(), files, scope, logger: false as const };
    const app = express().use('/v1', filesRouter({ files, logger: false }), responsesRouter(options));
    const { url, close } = await listening(createServer(app));
    closers.push(close);
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['x']), 'a.txt');
    const uploaded = await fetch(`${url}/v1/files`, { method: 'POST', body: form });
    const { id } = (await uploaded.json()) as { readonly id: string };
    const input = [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }];
    const answer = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': 'ada' },
      body: JSON.stringify({ model: 'm', input }),
    });
    const { error } = (await answer.json()) as { readonly error: { readonly message: string } };
    expect([uploaded.status, answer.status, error.message]).toEqual([
      200,
      400,
      `No such File object: '${id}'. If its upload was answered, look whether the Files API and this API have the same option 'scope'; with openResponses they have one.`,
    ]);
  });
});

describe('close', () => {
  it('drains, closes the server, and then everything that was given, once and in spite of failures', async () => {
    const { upstream: model, begun, goOn } = heldModel();
    const closed: string[] = [];
    const tools = { name: 'tools', list: () => [], call: async () => ({ content: '' }) };
    const remoteMcp = { open: async () => Promise.reject(new Error('none')), closed: false };
    const files = closable(memoryFiles(), closed, 'files');
    const { api, server, post, ask } = await serve({
      upstream: closable(model, closed, 'upstream'),
      store: closable(memoryStore(), closed, 'store', true),
      tools: [closable(tools, closed, 'tools')],
      remoteMcp: closable(remoteMcp, closed, 'remoteMcp') as never,
      documents: closable({ name: 'none', read: async () => '' }, closed, 'documents'),
      fileFetcher: closable({ fetch }, closed, 'fileFetcher') as never,
      apis: [filesApi({ files })],
    });
    const running = post('/responses', { input: 'Hi' });
    while (begun.length === 0) await new Promise(setImmediate);
    const closing = api.close({ server, ...HOUR_LONG_DRAIN }).catch((error: Error) => error.message);
    const refused = await post('/responses', { input: 'Hi' });
    const before = [...closed];
    goOn.open();
    const answered = (await running).status;
    expect([before, refused.status, answered, await closing, server.listening, closed.toSorted()]).toEqual([
      [],
      503,
      200,
      'store does not close',
      false,
      ['documents', 'fileFetcher', 'files', 'remoteMcp', 'store', 'tools', 'upstream'],
    ]);
    await expect(ask({ input: 'Hi' })).rejects.toThrow();
    await expect(api.close()).rejects.toThrow('store does not close');
  });

  it('closes everything even where the drain fails, and says so', async () => {
    const closed: string[] = [];
    const engine = {
      name: 'broken',
      takesOver: false,
      start() {},
      submit: async () => {},
      release: async () => {},
      close: () => Promise.reject(new Error('engine does not close')),
    };
    const api = openResponses({
      upstream: closable({ ...says }, closed, 'upstream'),
      background: { engine: engine as never },
    });
    await expect(api.close()).rejects.toThrow('engine does not close');
    expect(closed).toEqual(['upstream']);
  });

  it('ends the connections of the WebSocket', async () => {
    const { api, server, url } = await serve({ upstream: says });
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`);
    await once(socket, 'open');
    const [[code]] = await Promise.all([once(socket, 'close'), api.close({ server })]);
    expect([code, server.listening, server.listenerCount('upgrade')]).toEqual([1001, false, 0]);
  });
});

describe('the end', () => {
  it.each([
    [createServer(), 'close: give the HTTP server as { server }'],
    [{ timeout: 5 }, "close: unknown option 'timeout'; known are timeoutMs, server"],
    [{ timeoutMs: -1 }, 'close: timeoutMs must be a number of milliseconds, got -1'],
  ])('does not begin over bad options', async (options, message) => {
    const api = openResponses({ upstream: says });
    await expect(api.close(options as object)).rejects.toThrow(message);
    expect((await api.status()).status).toBe('ok');
    await api.close();
  });
});

describe('the status', () => {
  it('has the store of files and its uploads, and is degraded where it does not answer', async () => {
    const files = memoryFiles();
    const broken = Object.assign(memoryFiles(), { usage: () => Promise.reject(new Error('gone')) });
    const seen = await Promise.all(
      [files, broken].map((each) => openResponses({ upstream: says, apis: [filesApi({ files: each })] }).status()),
    );
    expect(seen.map(({ status, apis }) => [status, apis])).toEqual([
      ['ok', { files: { ok: true, kind: 'memory', uploads: 0 } }],
      ['degraded', { files: { ok: false, kind: 'memory', uploads: 0 } }],
    ]);
    expect(await filesRouter({ files: broken }).status()).toMatchObject({ status: 'degraded', files: { ok: false } });
  });

  it('has the index of vector stores, and is degraded where it does not answer', async () => {
    const files = memoryFiles();
    const index = memoryVectors();
    const embeddings = { baseURL: 'http://127.0.0.1:9/v1', model: 'm' };
    const vectorStores = createVectorStores({ files, index, embeddings, logger: false });
    closers.push(() => vectorStores.close());
    const api = openResponses({ upstream: says, apis: [vectorStores.api] });
    const before = await api.status();
    index.getStore = () => Promise.reject(new Error('gone'));
    const after = await api.status();
    expect([before, after].map(({ status, apis }) => [status, apis['vector stores']])).toEqual([
      ['ok', { ok: true, kind: 'memory' }],
      ['degraded', { ok: false, kind: 'memory' }],
    ]);
  });

  it('is draining once new requests are refused', async () => {
    const { upstream, begun, goOn } = heldModel();
    const { post, api } = await serve({ upstream });
    const first = post('/responses', { input: 'Hi' });
    while (begun.length === 0) await new Promise(setImmediate);
    const drained = api.drain(HOUR_LONG_DRAIN);
    const { status } = await api.status();
    goOn.open();
    expect([status, (await first).status]).toEqual(['draining', 200]);
    await drained;
  });

  it('has the connections of a WebSocket', async () => {
    const { url, webSocket } = await serve({ upstream: says });
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`);
    await once(socket, 'open');
    expect(await webSocket.status()).toMatchObject({ status: 'ok', connections: 1, responses: { inFlight: 0 } });
    socket.terminate();
  });
});

describe('an upload', () => {
  /** An upload whose client has not sent everything yet. */
  function openUpload(url: string) {
    const rest = gate();
    const boundary = 'b';
    const part = (name: string, more = '') =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`;
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from(`${part('purpose')}user_data\r\n${part('file', '; filename="a.txt"')}Hel`));
        await rest.opened;
        controller.enqueue(Buffer.from(`lo\r\n--${boundary}--\r\n`));
        controller.close();
      },
    });
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
    const answer = fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    return { rest, answer };
  }

  it.each(['filesRouter', 'openResponses'])(
    'that runs is waited for by the drain of %s, and a new one is refused',
    async (kind) => {
      const files = memoryFiles();
      const router = filesRouter({ files, logger: false });
      const api = openResponses({ upstream: says, logger: false, apis: [filesApi({ files })] });
      const [mounted, part] = kind === 'filesRouter' ? [router, router] : [api.router, api];
      const { url, close } = await listening(createServer(express().use('/v1', mounted)));
      closers.push(close);
      const { rest, answer } = openUpload(`${url}/v1/files`);
      const uploads = async () =>
        kind === 'filesRouter' ? (await router.status()).files : (await api.status()).apis.files;
      while ((await uploads())?.uploads !== 1) await new Promise(setImmediate);
      const drained = part.drain(HOUR_LONG_DRAIN);
      const late = openUpload(`${url}/v1/files`);
      late.rest.open();
      const refused = (await late.answer).status;
      rest.open();
      const answered = (await answer).status;
      await drained;
      expect([refused, answered]).toEqual([503, 200]);
    },
  );

  it('that does not end in time is refused, and nothing of it is kept', async () => {
    const files = memoryFiles();
    const router = filesRouter({ files, logger: false, scope: () => 'a' });
    const { url, close } = await listening(createServer(express().use('/v1', router)));
    closers.push(close);
    const { rest, answer } = openUpload(`${url}/v1/files`);
    while ((await router.status()).files.uploads !== 1) await new Promise(setImmediate);
    const [{ status }] = await Promise.all([answer, router.drain({ timeoutMs: 1 })]);
    rest.open();
    expect([status, await files.usage('a')]).toEqual([503, { files: 0, bytes: 0 }]);
  });
});

describe('the request that the functions of the host receive', () => {
  it('says whether it came over HTTP or over a WebSocket', async () => {
    const seen: string[] = [];
    const { post, ask } = await serve({
      upstream: says,
      tools: ({ via }) => {
        seen.push(via);
        return [];
      },
    });
    await post('/responses', { input: 'Hi' });
    await ask({ input: 'Hi' });
    const api = openWithoutExpress({
      upstream: says,
      store: memoryStore(),
      tools: ({ via }) => {
        seen.push(via);
        return [];
      },
    });
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'm', input: 'Hi' });
    await api.fetch(new Request('http://app/responses', { method: 'POST', headers, body }));
    expect(seen).toEqual(['http', 'websocket', 'http']);
  });
});

describe('the request of a response that another process began', () => {
  it('says so to the functions of the host', () => {
    const sealed = stateSealer('a secret of sixteen bytes');
    const key = { scope: 'ada', id: 'resp_1' };
    const headers = new Headers({ 'x-team': 'support' });
    const begun = {
      body: { model: 'm' },
      params: {},
      query: {},
      headers,
      requestId: 'req_1',
      signal: new AbortController().signal,
    };
    const { request } = requestIn(requestText({ ...begun, scope: 'ada' }, { id: key.id }, sealed), key, sealed);
    expect(request).toEqual({
      via: 'restored',
      method: 'POST',
      url: '/responses',
      headers: { 'x-team': 'support' },
      body: { model: 'm' },
    });
  });
});

describe('the tenant', () => {
  const scope = (req: ExpressRequest) => String(req.get('x-user'));

  it('of a connection is whom authorize names, as over HTTP', async () => {
    const authorize = ({ headers }: WebSocketRequest) => ({ scope: String(headers['x-user']) });
    const { post, ask } = await serve({ upstream: says, scope }, { authorize });
    const { body } = await post('/responses', { input: 'Hi' }, { 'x-user': 'ada' });
    const follow = { input: 'And?', previous_response_id: body.id };
    const [own, other] = [await ask(follow, { 'x-user': 'ada' }), await ask(follow, { 'x-user': 'bob' })];
    expect([own.type, other.type]).toEqual(['response.completed', 'error']);
  });

  it('of a connection cannot be left open where the host names it over HTTP', async () => {
    const api = openResponses({ upstream: says, scope, logger: false });
    expect(() => attachResponsesWebSocket(createServer(), api)).toThrow(
      /^attachResponsesWebSocket: authorize must return \{ scope \} for each connection, .*, got undefined$/,
    );
    const { url } = await serve({ upstream: says, scope }, { authorize: () => true });
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`);
    const [{ message }] = (await once(socket, 'error')) as [Error];
    expect(message).toBe('Unexpected server response: 500');
  });

  it('that a connection has and HTTP has not is a warning, once', async () => {
    const lines: string[] = [];
    const warn = (...line: readonly unknown[]) => void lines.push(line.join(' '));
    const logger = { debug() {}, info() {}, error() {}, warn };
    const { ask } = await serve({ upstream: says, logger }, { authorize: () => ({ scope: 'ada' }) });
    await ask({ input: 'Hi' });
    await ask({ input: 'Hi' });
    expect(lines).toEqual([expect.stringContaining('Give openResponses a scope that returns the same.')]);
  });

  it('of a request that handle is given is whom scope names', async () => {
    const store = memoryStore();
    const api = openWithoutExpress<{ readonly user: string }>({ upstream: says, store, scope: ({ user }) => user });
    const { signal } = new AbortController();
    const create = { method: 'POST', path: '/responses', headers: {}, body: { model: 'm', input: 'Hi' }, signal };
    const reply = await api.handle({ ...create, request: { user: 'ada' } });
    const { id } = JSON.parse(String(reply?.body));
    await expect(api.handle(create)).rejects.toThrow('handle: request is missing, and scope needs it');
    expect((await store.get({ scope: 'ada', id }))?.id).toBe(id);
  });
});

describe('an inspector', () => {
  it('records the requests of all APIs, and its pages end with them', async () => {
    const inspector = createInspector();
    const { post, api } = await serve({ upstream: says, inspector });
    await post('/responses', { input: 'Hi' });
    await post('/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9 });
    const server = createServer(inspector.router);
    const { url, close } = await listening(server);
    closers.push(close);
    const { rows } = (await (await fetch(`${url}/api/responses`)).json()) as { rows: readonly { api: string }[] };
    const live = await fetch(`${url}/api/live`);
    await api.close();
    await live.text();
    expect(rows.map((row) => row.api)).toEqual(['messages json', 'responses json']);
  });
});

describe('an option that a router has no use for', () => {
  it('is a warning at the start, and none with openResponses', () => {
    const lines: string[] = [];
    const logger = {
      debug() {},
      info() {},
      warn: (...line: readonly unknown[]) => void lines.push(line.join(' ')),
      error() {},
    };
    const upstream: Upstream = { ...says, async *chat() {} };
    const options = { upstream, store: memoryStore(), background: { durable: true }, logger };
    chatCompletionsRouter(options);
    messagesRouter({ ...options, show: { reasoning: 'text' } });
    attachResponsesWebSocket(createServer(), options);
    messagesRouter({ ...options, logger: false });
    responsesRouter(options);
    openResponses(options);
    const rest = 'or serve all APIs with openResponses, each of which takes what it needs.';
    expect(lines.map((line) => line.replace(/^.*?(?=\w+: )/, '').replace(/ ?\[object Object\] ?/, ''))).toEqual([
      `chatCompletionsRouter: background has no effect here. Leave it out, ${rest}`,
      `messagesRouter: background, show.reasoning have no effect here. Leave them out, ${rest}`,
      `attachResponsesWebSocket: background has no effect here. Leave it out, ${rest}`,
    ]);
  });
});
