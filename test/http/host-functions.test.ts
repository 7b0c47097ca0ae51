/** Functions and objects of the host that fail where an answer has begun, or that answer in unusual forms. */
import { jest } from '@jest/globals';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  type Guard,
  type ModelEvent,
  memoryStore,
  messagesRouter,
  type ResponseStore,
  type RouterOptions,
  responsesRouter,
  type ToolProvider,
  type Upstream,
} from '../../src/index.ts';
import { tokenBudget } from '../../src/policies/budgets/index.ts';
import { NO_USAGE } from '../../src/protocol/events.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { balanced } from '../../src/upstreams/routing/index.ts';
import { listening, NOBODY } from '../support/listening.ts';

const CHUNK = { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'Hi' } }] };

const upstream: Upstream = {
  name: 'host',
  async *stream() {
    yield [{ type: 'text-delta', text: 'Hi' }];
    yield [{ type: 'finish', reason: 'stop' }];
  },
  async *chat() {
    yield { whole: false, data: [JSON.stringify(CHUNK)] };
    yield { whole: false, data: ['[DONE]'] };
  },
};

const BODIES = {
  responses: { model: 'm', input: 'Hello', stream: true },
  'responses/input_tokens': { model: 'm', input: 'Hello' },
  'responses/compact': { model: 'm', input: 'Hello' },
  messages: { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: true },
  'chat/completions': { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: true },
};

interface Setup {
  readonly path?: keyof typeof BODIES;
  readonly body?: object;
  readonly before?: RequestHandler;
}

/** What the client and the host's error handler receive, and how many responses run afterwards. */
async function asked(options: RouterOptions, { path = 'responses', body, before = passOn }: Setup = {}) {
  const create = { responses: responsesRouter, messages: messagesRouter, chat: chatCompletionsRouter }[
    path.split('/')[0] as 'responses' | 'messages' | 'chat'
  ];
  const router = create({ upstream, store: memoryStore(), logger: false, ...options });
  const errors: string[] = [];
  const answerError: ErrorRequestHandler = (error, _req, res, _next) => {
    errors.push(error.message);
    res.status(500).end();
  };
  const { url, close } = await listening(express().use(before, router, answerError));
  const headers = { 'content-type': 'application/json' };
  const sent = JSON.stringify({ ...BODIES[path], ...body });
  const answer = await fetch(`${url}/${path}`, { method: 'POST', headers, body: sent });
  const text = await answer.text();
  const { inFlight } = (await router.status()).responses;
  await close();
  return { status: answer.status, text, errors, inFlight };
}

const passOn: RequestHandler = (_req, _res, next) => next();

function fail(): never {
  throw new Error('no');
}

describe('an answer that cannot be given', () => {
  it('is over where the host cannot name the dialect of its errors', async () => {
    const given = { path: 'chat/completions', body: { messages: 1 } } as const;
    expect(await asked({ dialect: fail }, given)).toEqual({ status: 500, text: '', errors: ['no'], inFlight: 0 });
    const { status, inFlight } = await asked({ dialect: fail }, { path: 'chat/completions' });
    expect({ status, inFlight }).toEqual({ status: 200, inFlight: 0 });
  });

  it('leaves no timer where the host cannot name the dialect of its events', async () => {
    const set = jest.spyOn(globalThis, 'setInterval');
    const dialect = jest.fn<() => 'openai'>(fail).mockReturnValueOnce('openai');
    expect(await asked({ dialect })).toEqual({ status: 500, text: '', errors: ['no'], inFlight: 0 });
    // Node marks a timer that is over.
    expect(set.mock.results.filter(({ value }) => !Reflect.get(Object(value), '_destroyed'))).toEqual([]);
    set.mockRestore();
  });

  it('is over where its head cannot be written', async () => {
    const before: RequestHandler = (_req, res, next) => {
      jest.spyOn(res, 'writeHead').mockImplementationOnce(fail);
      next();
    };
    expect(await asked({}, { before })).toEqual({ status: 500, text: '', errors: ['no'], inFlight: 0 });
  });
});

/** Not a promise, but what `await` takes for one. */
function later<Value>(value: Value): Promise<Value> {
  const then = (resolve: (value: Value) => void) => void setImmediate(resolve, value);
  // The cast: some clients of databases return such objects in the place of promises.
  return { then } as unknown as Promise<Value>;
}

describe('objects that only have `then`', () => {
  it('may be verdicts of guards', async () => {
    const guard: Guard = { name: 'slow', mode: 'enforce', inspect: () => later({ action: 'pass' }) };
    expect((await asked({ guards: { input: [guard] } })).text).toContain('response.completed');
  });

  it('may be answers of stores', async () => {
    const { get, put, delete: remove } = memoryStore();
    const store: ResponseStore = {
      name: 'slow',
      get: (key) => later(get(key)) as ReturnType<ResponseStore['get']>,
      put: (response) => later(put(response)) as ReturnType<ResponseStore['put']>,
      delete: (key) => later(remove(key)) as ReturnType<ResponseStore['delete']>,
    };
    expect((await asked({ store })).text).toContain('response.completed');
  });
});

describe('an upstream whose answer ends without `finish`', () => {
  const cut = (...batches: readonly ModelEvent[][]): Upstream => ({
    name: 'own',
    async *stream() {
      yield* batches;
    },
  });
  const text: ModelEvent[] = [{ type: 'text-delta', text: 'Hi' }];
  const call: ModelEvent[] = [
    { type: 'tool-call-delta', call: 0, id: 'call_1', name: 'go', arguments: '{}' },
    { type: 'tool-call-delta', call: 1, id: 'call_2', name: 'go', arguments: '{' },
  ];
  const message = 'The model server broke off its answer.';

  it('[P-08] is a failed response with what was written, and is not stored', async () => {
    const store = memoryStore();
    const { status, text: answer, inFlight } = await asked({ upstream: cut(text), store }, { body: { stream: false } });
    const { id, status: ended, error, output } = JSON.parse(answer);
    const stored = await store.get({ scope: 'anonymous', id });
    expect({ status, ended, message: error.message, output: output.length, stored, inFlight }).toEqual({
      ...{ status: 200, ended: 'failed', message, output: 1, stored: undefined, inFlight: 0 },
    });
    const streamed = await asked({ upstream: cut(text) });
    expect(streamed.text).toMatch(
      /"type":"response.failed".*upstream_truncated|upstream_truncated.*"type":"response.failed"/s,
    );
  });

  it('[P-08] is refused where there is no output', async () => {
    for (const stream of [false, true]) {
      const { status, text: answer } = await asked({ upstream: cut() }, { body: { stream } });
      expect([status, JSON.parse(answer).error.code]).toEqual([502, 'upstream_truncated']);
    }
  });

  it('[P-08] runs none of its calls', async () => {
    const ran = jest.fn(() => 'ran');
    const tools = functionTools({ go: { execute: ran } });
    const { text: answer } = await asked({ upstream: cut(call), tools });
    expect([answer.includes('upstream_truncated'), ran.mock.calls.length]).toEqual([true, 0]);
  });

  it('[P-08] is a failed response behind a call that the user has approved, too', async () => {
    const answers: ModelEvent[][] = [[...call.slice(0, 1), { type: 'finish', reason: 'stop' }], text];
    const ran = jest.fn(() => 'ran');
    const router = responsesRouter({
      upstream: { name: 'own', stream: () => cut(answers.shift() ?? []).stream({} as never, {} as never) },
      ...{ tools: functionTools({ go: { execute: ran } }), approval: () => true, store: memoryStore(), logger: false },
    });
    const { url, close } = await listening(express().use(router));
    const respond = async (body: object) => {
      const headers = { 'content-type': 'application/json' };
      const sent = { method: 'POST', headers, body: JSON.stringify({ model: 'm', ...body }) };
      return (await fetch(`${url}/responses`, sent)).json() as Promise<JsonObject>;
    };
    const { id, output } = await respond({ input: 'Go.' });
    const [request] = (output as JsonObject[]).filter(({ type }) => type === 'mcp_approval_request');
    const approval = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true };
    const { status, error } = await respond({ previous_response_id: id, input: [approval] });
    await close();
    expect([status, (error as JsonObject).message, ran.mock.calls.length]).toEqual(['failed', message, 1]);
  });

  it('[P-08] names the missing event to the host', async () => {
    const onError = jest.fn();
    await asked({ upstream: cut(text), hooks: { onError } });
    const [error] = onError.mock.calls[0] as [Error];
    expect(String(error.cause)).toContain('without a `finish` event');
  });

  it('[P-08] is an error of the Messages API', async () => {
    for (const stream of [false, true]) {
      const { text: answer } = await asked(
        { upstream: cut(text) },
        { path: 'messages', body: { max_tokens: 9, stream } },
      );
      expect([answer.includes(message), answer.includes('message_stop')]).toEqual([true, false]);
    }
  });

  it('[P-08] is no summary of a conversation', async () => {
    const { status, text: answer } = await asked(
      { upstream: cut(text), scope: () => 'a' },
      { path: 'responses/compact' },
    );
    expect([status, JSON.parse(answer).error.code]).toEqual([502, 'upstream_truncated']);
  });
});

const KEYS = 'an object with the names as its keys, and no promise, Headers or Map';

describe('what functions of the host return by mistake', () => {
  const go = functionTools({ go: { execute: () => 'ran' } });

  it.each<[string, () => unknown, string]>([
    ['a promise', async () => [go], '[Promise]'],
    ['a promise that rejects', async () => Promise.reject(new Error('no')), '[Promise]'],
    ['one provider', () => go, '[Object]'],
    ['nothing', () => undefined, 'undefined'],
    ['a list with something else in it', () => [undefined], '[Array]'],
  ])('[X-07] is refused as tools: %s', async (_, tools, got) => {
    const { status, errors, inFlight } = await asked({ tools: tools as () => readonly ToolProvider[] });
    const message = `tools: must return a list of tool providers, got ${got}`;
    expect({ status, errors, inFlight }).toEqual({ status: 500, errors: [message], inFlight: 0 });
  });

  it('[X-07] ends no process where it is a promise that rejects', async () => {
    const rejections: unknown[] = [];
    const note = (error: unknown) => void rejections.push(error);
    process.on('unhandledRejection', note);
    const called = jest.fn(() => Promise.reject(new Error('no')));
    // The cast: the mistake.
    const rejects = called as never;
    const budget = tokenBudget({ cost: rejects });
    const guards = { output: [{ name: 'mine', inspect: () => ({ action: 'pass' }) as const, scan: rejects }] };
    const routed = balanced([{ upstream, model: rejects }], { breaker: false });
    const uses = [
      () => asked({ scope: rejects }),
      async () => (await budget.admit('a')).count({ model: 'm', usage: NO_USAGE, cost: undefined }),
      () => asked({ guards }),
      () => asked({ upstream: routed }),
    ];
    const calls: boolean[] = [];
    for (const use of uses) {
      called.mockClear();
      await use();
      calls.push(called.mock.calls.length > 0);
    }
    // After a turn of the loop Node knows what nobody handles.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect([calls, rejections]).toEqual([[true, true, true, true], []]);
  });

  it.each<[string, () => unknown, string]>([
    ['a text', () => '7', "'7'"],
    ['no number', () => Number.NaN, 'NaN'],
    ['a negative number', () => -1, '-1'],
    ['nothing', async () => undefined, 'undefined'],
  ])('[X-07] is refused as a count of tokens: %s', async (_, count, got) => {
    for (const by of ['countTokens', 'upstream.countTokens']) {
      const onError = jest.fn();
      // The cast: the mistake.
      const countTokens = count as () => Promise<number>;
      const options = by === 'countTokens' ? { countTokens } : { upstream: { ...upstream, countTokens } };
      // An upstream's undefined means that it cannot count.
      if (got === 'undefined' && by !== 'countTokens') continue;
      const { status } = await asked({ ...options, hooks: { onError } }, { path: 'responses/input_tokens' });
      const [error] = onError.mock.calls[0] as [Error];
      const message = `${by}: must return a number of tokens, got ${got}`;
      expect([status, (error.cause as Error).message]).toEqual([500, message]);
    }
  });

  it('[X-07] is a whole count where it is a fraction, as of a length', async () => {
    const { text } = await asked({ countTokens: () => 1.5 }, { path: 'responses/input_tokens' });
    expect(Number.isInteger(JSON.parse(text).input_tokens)).toBe(true);
  });

  it.each<[string, () => unknown, string]>([
    ['a promise', async () => ({ 'x-a': '1' }), KEYS],
    ['a promise that rejects', async () => Promise.reject(new Error('no')), KEYS],
    ['Headers', () => new Headers({ 'x-a': '1' }), KEYS],
    ['a Map', () => new Map([['x-a', '1']]), KEYS],
    ['nothing', () => undefined, 'an object or a function'],
  ])('[X-07] is refused as headers, and not left out: %s', async (_, headers, rule) => {
    const onError = jest.fn();
    // The cast: the mistake.
    const own = chatCompletionsUpstream({ baseURL: NOBODY.baseURL, headers: headers as () => Record<string, string> });
    const { status } = await asked({ upstream: own, hooks: { onError } });
    const [error] = onError.mock.calls[0] as [Error];
    const message = `chatCompletionsUpstream: headers must return ${rule}`;
    expect([status, (error.cause as Error).message]).toEqual([500, message]);
    await own.close?.();
  });

  it('[X-07] is refused as headers of an upstream when it is created, too', () => {
    const headers = new Headers() as unknown as Record<string, string>;
    expect(() => chatCompletionsUpstream({ baseURL: NOBODY.baseURL, headers })).toThrow(`headers must be ${KEYS}`);
  });
});
