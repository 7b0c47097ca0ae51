/** Functions and objects of the host that fail where an answer has begun, or that answer in unusual forms. */
import { jest } from '@jest/globals';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import {
  chatCompletionsRouter,
  type Guard,
  memoryStore,
  type ResponseStore,
  type RouterOptions,
  responsesRouter,
  type Upstream,
} from '../../src/index.ts';
import { listening } from '../support/listening.ts';

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
  'chat/completions': { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: true },
};

interface Setup {
  readonly path?: keyof typeof BODIES;
  readonly body?: object;
  readonly before?: RequestHandler;
}

/** What the client and the host's error handler receive, and how many responses run afterwards. */
async function asked(options: RouterOptions, { path = 'responses', body, before = passOn }: Setup = {}) {
  const create = path === 'responses' ? responsesRouter : chatCompletionsRouter;
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
