/** Options: mistakes throw at creation, `undefined` means omitted, and routers with different ones live side by side. */
import express, { type Express } from 'express';
import { chatCompletionsUpstream, memoryStore, type RouterOptions, responsesRouter } from '../../src/index.ts';
import { chatChunk, type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { startApp } from '../support/app.ts';
import { listening } from '../support/listening.ts';
import { answerTextIn, ask, askJson, askStream, errorIn, lastResponse, parsed, send, typesOf } from './client.ts';

/** A host's app on a free port: runs with its origin, and closes it. */
async function withHost<Result>(host: Express, run: (origin: string) => Promise<Result>): Promise<Result> {
  const { url, close } = await listening(host);
  try {
    return await run(url);
  } finally {
    await close();
  }
}

describe('a bad option', () => {
  it.each<[unknown, string]>([
    [{ upstreams: {} }, "responsesRouter: unknown option 'upstreams'; known are upstream, store"],
    [
      { engine: {} },
      "responsesRouter: unknown option 'engine'; it belongs in background: { engine }; known are upstream, store",
    ],
    [
      { baseURL: 'http://localhost' },
      "responsesRouter: unknown option 'baseURL'; it belongs in upstream: chatCompletionsUpstream({ baseURL }); known are",
    ],
    [{ toString: 1 }, "responsesRouter: unknown option 'toString'; known are upstream, store"],
    [
      { upstream: 'http://localhost' },
      "responsesRouter: upstream must be an object with stream, such as chatCompletionsUpstream({ baseURL }), got 'http://localhost'",
    ],
    [
      { upstream: null },
      'responsesRouter: upstream must be an object with stream, such as chatCompletionsUpstream({ baseURL }), got null',
    ],
    [
      { upstream: {} },
      'responsesRouter: upstream must be an object with stream, such as chatCompletionsUpstream({ baseURL }), got {}',
    ],
    [{ store: new Map() }, 'responsesRouter: store must be an object with get, put, delete, got Map(0) {}'],
    [{ store: false }, 'responsesRouter: store must be an object with get, put, delete, got false'],
    [{ scope: 'user' }, "responsesRouter: scope must be a function, got 'user'"],
    [
      { show: { reasoning: 'full' } },
      "responsesRouter: show: reasoning must be one of 'summary', 'text', 'spec', got 'full'",
    ],
    [{ onStoreError: 'ignore' }, "responsesRouter: onStoreError must be one of 'fail', 'continue', got 'ignore'"],
    [{ show: 'all' }, "responsesRouter: show must be an object, got 'all'"],
    [{ show: { items: 'mcp_call' } }, "responsesRouter: show: unknown option 'items'; known are toolCalls,"],
    [{ show: { queued: 'yes' } }, "responsesRouter: show: queued must be true or false, got 'yes'"],
    [{ heartbeat: 15_000 }, 'responsesRouter: heartbeat must be an object or false, got 15000'],
    [{ heartbeat: true }, 'responsesRouter: heartbeat must be an object or false, got true'],
    [
      { heartbeat: { intervalMs: 0 } },
      'responsesRouter: heartbeat: intervalMs must be a number of milliseconds, over 0 and under 2^31, got 0',
    ],
    [
      { heartbeat: { intervalMs: '5' } },
      "responsesRouter: heartbeat: intervalMs must be a number of milliseconds, over 0 and under 2^31, got '5'",
    ],
    [{ heartbeat: { interval: 5 } }, "responsesRouter: heartbeat: unknown option 'interval'"],
    [
      { heartbeat: { style: 'dots' } },
      "responsesRouter: heartbeat: style must be one of 'comment', 'keepalive', 'ping'",
    ],
    [{ limits: 7 }, 'responsesRouter: limits must be an object, got 7'],
    [{ limits: { request: 7 } }, 'responsesRouter: limits: request must be an object, got 7'],
    [{ limits: { tools: { calls: 0 } } }, 'responsesRouter: limits.tools: calls must be a positive number, got 0'],
    [
      { limits: { request: { bodyBytes: -1 } } },
      'responsesRouter: limits.request: bodyBytes must be a positive number, got -1',
    ],
    [
      { limits: { request: { bodyBytes: '32mb' } } },
      "responsesRouter: limits.request: bodyBytes must be a positive number, got '32mb'",
    ],
    [
      { limits: { model: { idleTimeoutMs: Number.NaN } } },
      'responsesRouter: limits.model: idleTimeoutMs must be a number of milliseconds, over 0 and under 2^31, got NaN',
    ],
    [
      { limits: { bodyBytes: 1 } },
      "responsesRouter: limits: unknown option 'bodyBytes'; known are request, model, tools,",
    ],
    [
      { limits: { request: { bodySize: 1 } } },
      "responsesRouter: limits.request: unknown option 'bodySize'; known are bodyBytes,",
    ],
    [{ limits: { request: { inputItems: 1 } } }, "responsesRouter: limits.request: unknown option 'inputItems'"],
    [{ limits: { __proto__: null, constructor: 1 } }, "responsesRouter: limits: unknown option 'constructor'"],
    [
      { limits: { turns: { __proto__: null, constructor: 1 } } },
      "responsesRouter: limits.turns: unknown option 'constructor'",
    ],
    [{ hooks: () => {} }, 'responsesRouter: hooks must be an object of functions, got [Function: hooks]'],
    [{ hooks: { onError: 'log' } }, "responsesRouter: hooks: onError must be a function, got 'log'"],
    [{ hooks: { onEvent() {} } }, "responsesRouter: hooks: unknown option 'onEvent'"],
  ])('[X-01] of the router throws a TypeError that names it and quotes its value: %j', (options, message) => {
    expect(() => responsesRouter(options as RouterOptions)).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }),
    );
  });

  it.each<[unknown, string]>([
    [{ baseUrl: 'http://x' }, "chatCompletionsUpstream: unknown option 'baseUrl'; known are baseURL,"],
    [{ baseURL: 7 }, 'chatCompletionsUpstream: baseURL must be a string, got 7'],
    [{ baseURL: 'localhost:8000' }, "chatCompletionsUpstream: baseURL must be an http(s) URL, got 'localhost:8000'"],
    [{ baseURL: '' }, "chatCompletionsUpstream: baseURL must be an http(s) URL, got ''"],
    [
      { baseURL: 'file:///etc/passwd' },
      "chatCompletionsUpstream: baseURL must be an http(s) URL, got 'file:///etc/passwd'",
    ],
    [
      { baseURL: 'http://me:secret@x/v1' },
      'chatCompletionsUpstream: baseURL must hold no credentials; use apiKey or headers',
    ],
    [{ apiKey: 7 }, 'chatCompletionsUpstream: apiKey must be a string, got 7'],
    [
      { headers: 'a: b' },
      'chatCompletionsUpstream: headers must be an object or a function, got one that is not, which may be secret',
    ],
    [
      { forwardHeaders: 'cookie' },
      "chatCompletionsUpstream: forwardHeaders must be a list of header names, got 'cookie'",
    ],
    [
      { systemMessages: 'first' },
      "chatCompletionsUpstream: systemMessages must be one of 'keep', 'merge', got 'first'",
    ],
    [{ developerRole: 'user' }, "chatCompletionsUpstream: developerRole must be one of 'keep', 'system', got 'user'"],
    [{ reasoningReplay: 1 }, "chatCompletionsUpstream: reasoningReplay must be 'auto', true or false, got 1"],
    [{ thinkTags: null }, "chatCompletionsUpstream: thinkTags must be true, false or 'prompted', got null"],
    [{ maxTokensField: 'n' }, "chatCompletionsUpstream: maxTokensField must be one of 'max_tokens',"],
    [{ retries: -1 }, 'chatCompletionsUpstream: retries must be a whole number from 0, got -1'],
    [{ retries: 1.5 }, 'chatCompletionsUpstream: retries must be a whole number from 0, got 1.5'],
    [{ connectTimeoutMs: 0 }, 'chatCompletionsUpstream: connectTimeoutMs must be a positive whole number, got 0'],
  ])('[X-01] of the upstream throws a TypeError that names it and quotes its value: %j', (options, message) => {
    expect(() => chatCompletionsUpstream(options as object)).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }),
    );
  });

  it.each([[null], ['http://localhost'], [7], [[]]])('[X-01] is an options object that is none: %j', (options) => {
    expect(() => responsesRouter(options as never)).toThrow(TypeError);
    expect(() => chatCompletionsUpstream(options as never)).toThrow(TypeError);
  });

  it('[X-01] is none where it is undefined', () => {
    const { heartbeat, ...rest } = Object.fromEntries(
      ['upstream', 'store', 'scope', 'show', 'heartbeat', 'limits', 'onStoreError', 'hooks'].map((name) => [
        name,
        undefined,
      ]),
    );
    const nested = {
      limits: { request: { bodyBytes: undefined } },
      show: { queued: undefined },
      heartbeat: { style: undefined },
      hooks: { onError: undefined },
    };
    expect(() => [responsesRouter({ ...rest, heartbeat }), responsesRouter(nested as object)]).not.toThrow();
  });

  it('[X-01] of undefined keeps its default', async () => {
    const limits = { request: { bodyBytes: undefined } } as object;
    const app = await startApp({ options: { upstream: undefined, limits } });
    const { status } = await ask(app.url, `{"a":"${'x'.repeat(200_000)}"`);
    await app.close();
    expect(status).toBe(400);
  });
});

describe('a router with zero options', () => {
  const before = { ...process.env };
  let fake: FakeUpstream;

  beforeEach(async () => {
    fake = await startFakeUpstream();
  });

  afterEach(() => {
    for (const name of ['OPENAI_BASE_URL', 'OPENAI_API_KEY']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
    return fake.close();
  });

  async function requestedWith(key: string | undefined): Promise<unknown> {
    process.env.OPENAI_BASE_URL = fake.baseURL;
    if (key === undefined) delete process.env.OPENAI_API_KEY;
    else process.env.OPENAI_API_KEY = key;
    const host = express().use(responsesRouter());
    const status = await withHost(host, async (origin) => (await askJson(origin)).status);
    return [status, fake.requests.map(({ path, headers }) => [path, headers.authorization])];
  }

  it('[X-01] reads the environment as OpenAI’s SDKs do', async () => {
    expect(await requestedWith('env-key')).toEqual(['completed', [['/v1/chat/completions', 'Bearer env-key']]]);
  });

  it.each([[undefined], ['']])('[X-01] sends no key where there is none: %j', async (key) => {
    expect(await requestedWith(key)).toEqual(['completed', [['/v1/chat/completions', undefined]]]);
  });

  it('[X-01] reads it when it is created, not when the package is loaded, nor later', async () => {
    process.env.OPENAI_BASE_URL = fake.baseURL;
    const router = responsesRouter();
    process.env.OPENAI_BASE_URL = 'http://127.0.0.1:9/v1';
    const status = await withHost(express().use(router), async (origin) => (await askJson(origin)).status);
    expect(status).toBe('completed');
  });

  it('[X-01] shares one store with every other', async () => {
    process.env.OPENAI_BASE_URL = fake.baseURL;
    const host = express().use('/a', responsesRouter()).use('/b', responsesRouter());
    const status = await withHost(host, async (origin) => {
      const { id } = await askJson(`${origin}/a`);
      return (await send(`${origin}/b/responses/${id}`)).status;
    });
    expect(status).toBe(200);
  });
});

describe('routers side by side in one app', () => {
  let one: FakeUpstream;
  let other: FakeUpstream;

  beforeEach(async () => {
    one = await startFakeUpstream({ reply: { body: textStream('one') } });
    other = await startFakeUpstream({ reply: { body: textStream('other') } });
  });

  afterEach(() => Promise.all([one.close(), other.close()]));

  function router(fake: FakeUpstream, options: RouterOptions = {}) {
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k' });
    return responsesRouter({ upstream, store: memoryStore(), ...options });
  }

  it('[X-01] do not touch each other: upstream, store, limits, heartbeat, hooks, reasoning, concurrency, drain', async () => {
    const reported: string[] = [];
    const hooks = (name: string) => ({ onRequest: () => void reported.push(name) });
    const strict = { request: { bodyBytes: 200 }, model: { outputBytes: 2 } };
    const first = router(one, { limits: strict, hooks: hooks('first'), show: { queued: true } });
    const host = express()
      .use('/first', first)
      .use('/second', router(other, { hooks: hooks('second') }));

    const seen = await withHost(host, async (origin) => {
      const [a, b] = [await askStream(`${origin}/first`), await askStream(`${origin}/second`)];
      const id = lastResponse(b).id;
      const long = { input: 'x'.repeat(300) };
      const sizes = [await ask(`${origin}/first`, long), await ask(`${origin}/second`, long)];
      const kept = [await send(`${origin}/first/responses/${id}`), await send(`${origin}/second/responses/${id}`)];
      await first.drain();
      const drained = [await ask(`${origin}/first`), await ask(`${origin}/second`)];
      return {
        ends: [typesOf(a.events).at(-1), typesOf(b.events).at(-1)],
        queued: [typesOf(a.events).includes('queued'), typesOf(b.events).includes('queued')],
        texts: [answerTextIn(lastResponse(a)), answerTextIn(lastResponse(b))],
        sizes: sizes.map(({ status }) => status),
        kept: kept.map(({ status }) => status),
        drained: drained.map(({ status }) => status),
      };
    });

    expect([seen, reported]).toEqual([
      {
        ends: ['failed', 'completed'],
        queued: [true, false],
        texts: ['one', 'other'],
        sizes: [413, 200],
        kept: [404, 200],
        drained: [503, 200],
      },
      ['first', 'second', 'second', 'second'],
    ]);
  });

  it.each(['/', '/v1', '/v1/', '/a/b/c', '/with%20space', '/:tenant/v1'])(
    '[X-01] work at any path: %s',
    async (mount) => {
      const path = mount.replace(':tenant', 'acme').replace(/\/$/, '');
      const seen = await withHost(express().use(mount, router(one)), async (origin) => {
        const { id } = await askJson(`${origin}${path}`);
        const items = await send(`${origin}${path}/responses/${id}/input_items`);
        const deleted = await send(`${origin}${path}/responses/${id}`, 'DELETE');
        const models = await send(`${origin}${path}/models`);
        return [items.status, deleted.status, models.status];
      });
      expect(seen).toEqual([200, 200, 200]);
    },
  );

  it('[X-01] leave every other path and method to the host', async () => {
    const host = express()
      .use('/v1', router(one))
      .use((_req, res) => void res.status(418).send('the host'));
    const statuses = await withHost(host, async (origin) => {
      const paths = ['/v1/chat/completions', '/v1/other', '/responses', '/v1/responses', '/v1/responses/a/b'];
      return Promise.all(paths.map(async (path) => (await fetch(`${origin}${path}`)).status));
    });
    expect(statuses).toEqual([418, 418, 418, 418, 418]);
  });

  it('[X-01] stand behind the host’s own auth and logging', async () => {
    const log: string[] = [];
    const host = express().use(
      '/v1',
      (req, res, next) => {
        res.on('finish', () => log.push(`${req.method} ${res.statusCode}`));
        next();
      },
      (req, res, next) => void (req.headers.authorization === 'Bearer good' ? next() : res.status(401).send('No')),
      router(one),
    );
    const seen = await withHost(host, async (origin) => {
      const refused = await ask(`${origin}/v1`);
      const taken = await askStream(`${origin}/v1`, {}, { headers: { authorization: 'Bearer good' } });
      return [refused.status, await refused.text(), typesOf(taken.events).at(-1)];
    });
    expect([seen, log, one.requests.length]).toEqual([[401, 'No', 'completed'], ['POST 401', 'POST 200'], 1]);
  });

  it('[X-01] take the body that the host has already parsed', async () => {
    const host = express().use(express.json()).use('/v1', router(one));
    const seen = await withHost(host, async (origin) => {
      const { status } = await askJson(`${origin}/v1`, { input: 'parsed by the host' });
      const bad = await ask(`${origin}/v1`, { model: 7 });
      return [status, bad.status, errorIn(parsed(await bad.text())).param];
    });
    expect([seen, one.requests[0]?.body]).toEqual([
      ['completed', 400, 'model'],
      expect.objectContaining({ messages: [{ role: 'user', content: 'parsed by the host' }] }),
    ]);
  });

  it('[X-01] give what they cannot answer to the host’s error handler', async () => {
    const scope = () => {
      throw new Error('the session store is down');
    };
    const seen: unknown[] = [];
    const host = express().use('/v1', router(one, { scope }));
    host.use(((error, _req, res, _next) => {
      seen.push(error.message);
      res.status(599).end();
    }) satisfies express.ErrorRequestHandler);
    const status = await withHost(host, async (origin) => (await ask(`${origin}/v1`)).status);
    expect([status, seen]).toEqual([599, ['the session store is down']]);
  });

  it('[X-01] work with an upstream of the host’s own', async () => {
    const upstream = {
      name: 'own',
      async *stream() {
        yield [
          { type: 'text-delta', text: 'my own' },
          { type: 'finish', reason: 'stop' },
        ] as const;
      },
    };
    const seen = await withHost(express().use(router(one, { upstream })), async (origin) => [
      answerTextIn(await askJson(origin)),
      (await send(`${origin}/models`)).body,
    ]);
    expect(seen).toEqual(['my own', { object: 'list', data: [], models: [] }]);
  });

  it('[P-09] show a client nothing of what an upstream of the host’s own threw', async () => {
    const failing = (after: number) => ({
      name: 'own',
      async *stream() {
        if (after > 0) yield [{ type: 'text-delta', text: 'a' }] as const;
        throw new Error('password=hunter2');
      },
    });
    const reported: string[] = [];
    const hooks = { onError: ({ cause, code }: Error & { code: string }) => void reported.push(`${code}: ${cause}`) };
    const host = express()
      .use('/before', router(one, { upstream: failing(0), hooks }))
      .use('/after', router(one, { upstream: failing(1), hooks }));
    const seen = await withHost(host, async (origin) => [
      errorIn(await askJson(`${origin}/before`)),
      (await askJson(`${origin}/after`)).error,
    ]);
    const message = 'The server had an error while processing the request.';
    const error = { message, type: 'server_error', param: null, code: 'server_error' };
    expect(seen).toEqual([error, error]);
    expect(reported).toEqual(['server_error: Error: password=hunter2', 'server_error: Error: password=hunter2']);
  });

  it('[X-01] report to the hooks of one turn who, what and how', async () => {
    const reported: unknown[] = [];
    const hooks = {
      onRequest: (info: object) => void reported.push(['onRequest', info]),
      onResponse: (info: object) => void reported.push(['onResponse', info]),
      onNote: (note: object, info: object) => void reported.push(['onNote', note, info]),
    };
    one.reply({ body: chatChunk({ content: 'a' }, { finish_reason: 'length' }) });
    const host = express().use(router(one, { hooks, scope: () => 'tenant' }));
    const { id } = await withHost(host, (origin) =>
      askJson(origin, { tools: [{ type: 'web_search' }] }, { headers: { 'x-request-id': 'mine' } }),
    );
    const info = { requestId: 'mine', responseId: id, scope: 'tenant', model: 'm', stream: false, background: false };
    const usage = expect.objectContaining({ input_tokens: 0, output_tokens: 0, total_tokens: 0 });
    expect(reported).toEqual([
      [
        'onNote',
        { code: 'tool_dropped', message: expect.any(String) },
        { requestId: 'mine', scope: expect.any(String) },
      ],
      ['onRequest', info],
      [
        'onResponse',
        { ...info, status: 'incomplete', usage, upstreamModel: 'fake-model', durationMs: expect.any(Number) },
      ],
    ]);
  });
});
