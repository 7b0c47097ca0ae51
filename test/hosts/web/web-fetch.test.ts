/** The Web handler without a server: a Request in, a Response out. */
import { memoryStore, type OpenResponsesOptions, openResponses, type Upstream } from 'express-open-responses/core';
import { errorIn, parsed } from '../../http/client.ts';
import { HOUR_LONG_DRAIN } from '../../support/patience.ts';
import { type EndlessModel, endlessModel, until } from '../../support/unread-client.ts';

const SILENT: Upstream = {
  name: 'silent',
  async *stream() {
    yield [{ type: 'finish', reason: 'stop' }];
  },
};

function handlerOf(options: OpenResponsesOptions = {}) {
  const api = openResponses({ upstream: SILENT, store: memoryStore(), ...options });
  return Object.assign(api.fetch, { drain: api.drain });
}

function post(path: string, body: object = { model: 'm', input: 'Hi', stream: true }, signal?: AbortSignal): Request {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  return new Request(`http://app${path}`, signal ? { ...init, signal } : init);
}

/** A stream of an endless model, and its reader. */
async function streaming(signal?: AbortSignal) {
  const model: EndlessModel = endlessModel();
  const handler = handlerOf({ upstream: model.upstream, limits: { model: { outputBytes: 2 ** 30 } } });
  const response = await handler(post('/responses', undefined, signal));
  const reader = response.body?.getReader();
  if (!reader) throw new Error('There is no body.');
  return { model, handler, reader };
}

/** Lets everything happen that waits for nothing. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}

describe('openResponses', () => {
  it.each([
    ['/v1', 'http://app/v1/models', 200],
    ['/v1', 'http://app/v1/models/?a=b', 200],
    ['/v1', 'http://app/models', 404],
    ['/v1', 'http://app/v10/models', 404],
    ['/v1', 'http://app/v1', 404],
    ['/v1', 'http://app/v1/v1/models', 404],
    ['/openai/v1', 'http://app/openai/v1/models', 200],
    ['', 'http://app/models', 200],
    [undefined, 'http://app/models', 200],
    [undefined, 'http://app/v1/models', 404],
  ])('[X-03] Web handler at %j answers %s with %d', async (basePath, url, status) => {
    expect((await handlerOf({ basePath })(new Request(url))).status).toBe(status);
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('[X-03] Web handler says 404 in the envelope to %s', async (method) => {
    const seen: unknown[] = [];
    const hooks = { onError: (error: { code: string }) => void seen.push(error.code) };
    const response = await handlerOf({ hooks })(new Request('http://app/models?x=1', { method }));
    const error = errorIn(parsed(await response.text()));
    const expected = { message: `Invalid URL (${method} /models)`, type: 'invalid_request_error', param: null };
    expect([response.status, error, seen]).toEqual([404, { ...expected, code: 'not_found' }, ['not_found']]);
  });

  it.each([
    ['', null],
    ['?include[]=code_interpreter_call.outputs', 'logs'],
    ['?include[]=reasoning.encrypted_content&include[]=code_interpreter_call.outputs', 'logs'],
    ['?include=code_interpreter_call.outputs', 'logs'],
  ])('[B-38, X-03] Web handler reads every value of a list: %j', async (query, shown) => {
    const store = memoryStore();
    const item = { type: 'code_interpreter_call', id: 'ci_1', code: '1', outputs: 'logs' };
    const kept = { scope: 'mine', id: 'resp_1', createdAt: Date.now(), input: [], output: [item], resource: {} };
    await store.put(kept);
    const handler = handlerOf({ store, scope: () => 'mine' });
    const { output } = parsed(await (await handler(new Request(`http://app/responses/resp_1${query}`))).text());
    expect(output).toEqual([{ ...item, outputs: shown }]);
  });

  it('[X-03] Web handler has no chat completions where the upstream does not speak them', async () => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
    expect((await handlerOf()(post('/chat/completions', body))).status).toBe(404);
  });

  it('[X-03][P-10] Web handler takes from the model only what is read', async () => {
    const { model, reader } = await streaming();
    await settled();
    const before = model.taken;
    for (let read = 0; read < 10; read += 1) await reader.read();
    await settled();
    const after = model.taken;
    await reader.cancel();
    expect([before <= 1, after >= 9, after <= 11]).toEqual([true, true, true]);
  });

  it('[X-03][P-10] Web handler leaves the model where the body is cancelled, and has nothing left to drain', async () => {
    const { model, handler, reader } = await streaming();
    await reader.read();
    await reader.cancel();
    await until(() => !model.isOpen);
    await handler.drain(HOUR_LONG_DRAIN);
    expect(model.isOpen).toBe(false);
  });

  it('[X-03][P-10] Web handler leaves the model where the request is aborted, and ends the body', async () => {
    const client = new AbortController();
    const { model, reader } = await streaming(client.signal);
    await reader.read();
    client.abort();
    await until(() => !model.isOpen);
    expect((await reader.read()).done).toBe(true);
  });

  it('[X-03][P-10] Web handler ends the body quietly where the model fails because the request is aborted', async () => {
    const client = new AbortController();
    const failing: Upstream = {
      name: 'failing',
      async *stream(_, { signal }) {
        yield [{ type: 'text-delta', text: 'word' }];
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    };
    const response = await handlerOf({ upstream: failing })(post('/responses', undefined, client.signal));
    const text = response.text();
    setImmediate(() => client.abort());
    expect((await text).includes('"delta":"word"')).toBe(true);
  });

  it('[X-03][P-10] Web handler leaves the model where the request was aborted before the answer began', async () => {
    const client = new AbortController();
    const reasons: unknown[] = [];
    const requested = new Promise<void>((resolve) => {
      const hanging: Upstream = {
        name: 'hanging',
        async *stream(_, { signal }) {
          resolve();
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
      };
      const answer = handlerOf({ upstream: hanging })(post('/responses', undefined, client.signal));
      answer.then(({ status, body }) => reasons.push([status, body]));
    });
    await requested;
    client.abort();
    await until(() => reasons.length > 0);
    expect(reasons).toEqual([[499, null]]);
  });

  it('[X-03][P-10] Web handler leaves at once the model of a request that was aborted before it came', async () => {
    const model = endlessModel();
    const handler = handlerOf({ upstream: model.upstream });
    await handler(post('/responses', undefined, AbortSignal.abort()));
    await until(() => !model.isOpen);
    await handler.drain();
    expect(model.taken).toBeLessThanOrEqual(1);
  });

  it('[X-03] Web handler breaks off a body that nobody reads, at the end of a drain', async () => {
    const { model, handler, reader } = await streaming();
    await handler.drain({ timeoutMs: 20 });
    await until(() => !model.isOpen);
    await expect(reader.read()).rejects.toThrow('The client was cut off: it does not read.');
  });

  it('[X-03] Web handler tells the host, and not the client, of a body that something in front has read', async () => {
    const request = post('/responses');
    await request.text();
    const error = new TypeError(
      'openResponses: the body of the request has been read; read a clone() of the request in front of fetch',
    );
    await expect(handlerOf()(request)).rejects.toThrow(error);
    const locked = post('/responses');
    locked.body?.getReader();
    await expect(handlerOf()(locked)).rejects.toThrow(error);
  });

  it('[X-03] Web handler gives the host what its own scope throws', async () => {
    const scope = () => {
      throw new Error('Who are you?');
    };
    await expect(handlerOf({ scope })(new Request('http://app/models'))).rejects.toThrow('Who are you?');
  });

  it.each<[object, string]>([
    [
      { basePath: '/v1/' },
      "openResponses: basePath must be a path such as '/v1', without a slash at its end, got '/v1/'",
    ],
    [{ basePath: 'v1' }, "openResponses: basePath must be a path such as '/v1', without a slash at its end, got 'v1'"],
    [{ scope: 'me' }, "openResponses: scope must be a function, got 'me'"],
    [
      { limits: { request: { bodyBytes: 0 } } },
      'openResponses: limits.request: bodyBytes must be a positive number, got 0',
    ],
    [{ base: '/v1' }, "openResponses: unknown option 'base'; known are"],
  ])('[X-03] Web handler refuses %j at creation', (options, message) => {
    expect(() => openResponses(options)).toThrow(new RegExp(`^${message.replace(/[()[\].?]/g, '\\$&')}`));
  });

  it('[X-03] Web handler ends an answer whose headers are not valid', async () => {
    const admit = async () => ({ headers: { 'x-tenant': 'Zo\u2603' }, count() {} });
    const budget = { admit, resume: () => ({ headers: {}, count() {} }) };
    const handler = handlerOf({ budget, limits: { turns: { concurrentTurns: 1, queuedTurns: 0 } } });
    await expect(handler(post('/responses'))).rejects.toThrow('ByteString');
    await expect(handler(post('/responses'))).rejects.toThrow('ByteString');
  });

  it('[X-03] Web handler works without options', () => {
    const { OPENAI_BASE_URL } = process.env;
    process.env.OPENAI_BASE_URL = 'http://127.0.0.1:1/v1';
    const api = openResponses();
    if (OPENAI_BASE_URL === undefined) delete process.env.OPENAI_BASE_URL;
    else process.env.OPENAI_BASE_URL = OPENAI_BASE_URL;
    expect([typeof api.fetch, typeof api.drain]).toEqual(['function', 'function']);
  });
});
