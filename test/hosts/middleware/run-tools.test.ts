/** Server-run tools behind a handler of the host's, which answers each model call in whatever way it likes. */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import express from 'express';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';
import { chatCompletionsUpstream, functionTools, guard, heartbeat, memoryStore, runTools } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { ApiError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import {
  chatCompletion,
  chatStream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../../src/testing/index.ts';
import { gate } from '../../support/gate.ts';
import { listening } from '../../support/listening.ts';
import { CHAT, type Host, type HostRequest, otherTraffic, type Step, withHost } from './host.ts';

const SSE = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const LOOK = { id: 'call_1', name: 'look', arguments: '{"at":"sky"}' };
const PICK = { id: 'call_2', name: 'pick', arguments: '{}' };

const tools = functionTools({
  look: { execute: ({ at }: JsonObject) => `seen ${at}` },
  now: { execute: () => '12:00' },
});

type Answer = (res: ServerResponse, req: HostRequest, next: (error?: unknown) => void) => unknown;

/** A handler that answers its calls in order and remembers the body of each. */
function handlerOf(...answers: readonly Answer[]) {
  const requested: JsonObject[] = [];
  const handler: Step = (req, res, next) => {
    // The cast: a middleware has read it.
    requested.push(req.body as JsonObject);
    const answer = answers[requested.length - 1];
    if (!answer) throw new Error(`call ${requested.length} was not expected`);
    return answer(res, req, next);
  };
  return { handler, requested };
}

const sends =
  (text: string, type: Readonly<Record<string, string>> = text.startsWith('{') ? JSON_TYPE : SSE): Answer =>
  (res) =>
    res.writeHead(200, type).end(text);

const wire = (...made: readonly (typeof LOOK)[]) =>
  made.map(({ id, ...called }) => ({ id, type: 'function', function: called }));
const callsJson = (...made: readonly (typeof LOOK)[]) => chatCompletion({ tool_calls: wire(...made) });
const tool = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });

/** What the client received: the assistant's words, its calls and why it ended, in whatever form. */
async function reportedIn(answer: Response) {
  const text = await answer.text();
  if (answer.status !== 200) return { status: answer.status, text };
  if (text.startsWith('{')) {
    const { choices, usage } = JSON.parse(text);
    const { content, tool_calls: calls } = choices[0].message;
    return { content, calls, finish: choices[0].finish_reason, total: usage.total_tokens };
  }
  const data = text.split('\n\n').filter((frame) => frame.startsWith('data: {'));
  const chunks = data.map((frame) => JSON.parse(frame.slice(6)));
  const deltas = chunks.flatMap(({ choices }) => choices ?? []);
  const content = deltas.map(({ delta }) => delta.content ?? '').join('') || null;
  const names = deltas.flatMap(({ delta }) =>
    (delta.tool_calls ?? []).map((call: JsonObject) => call.function as JsonObject),
  );
  const { usage } = chunks.findLast((chunk) => chunk.usage) ?? {};
  return {
    content,
    calls: names.flatMap(({ name }) => name ?? []),
    finish: deltas.findLast(({ finish_reason }) => finish_reason)?.finish_reason,
    total: usage?.total_tokens,
    done: text.endsWith('data: [DONE]\n\n'),
  };
}

/** One request with the tools in front of the handler. */
async function requested(answers: readonly Answer[], body: JsonObject = {}, options: JsonObject = {}) {
  const { handler, requested } = handlerOf(...answers);
  const middleware = runTools({ tools, store: memoryStore(), handler, ...options });
  return withHost([middleware as Step], async (host) => {
    const reported = await reportedIn(await host.post({ ...CHAT, ...body }));
    return { reported, requested, errors: host.errors };
  });
}

describe('runTools', () => {
  it('[T-02] [X-02] runs the calls and asks the handler again until it answers, for JSON', async () => {
    const { reported, requested: bodies } = await requested([sends(callsJson(LOOK)), sends(chatCompletion('Blue.'))]);
    expect(reported).toEqual({ content: 'Blue.', calls: undefined, finish: 'stop', total: 42 });
    expect(bodies.map(({ messages }) => messages)).toEqual([
      CHAT.messages,
      [...CHAT.messages, { role: 'assistant', content: null, tool_calls: wire(LOOK) }, tool('call_1', 'seen sky')],
    ]);
    expect(
      bodies.map(({ tools }) => (tools as readonly JsonObject[]).map((each) => (each.function as JsonObject).name)),
    ).toEqual([
      ['look', 'now'],
      ['look', 'now'],
    ]);
  });

  it('[T-02] [X-02] [S-10] does the same for a stream, and sums the usage over the rounds', async () => {
    const rounds = [
      sends(toolCallStream([LOOK])),
      sends(toolCallStream([{ ...LOOK, id: 'x', name: 'now' }])),
      sends(textStream('Blue.')),
    ];
    const { reported, requested: bodies } = await requested(rounds, {
      stream: true,
      stream_options: { include_usage: true },
    });
    expect({ reported, rounds: bodies.length }).toEqual({
      reported: { content: 'Blue.', calls: [], finish: 'stop', total: 63, done: true },
      rounds: 3,
    });
  });

  it('[T-05] runs parallel calls together, their results in the order of the calls', async () => {
    const both = gate();
    const running: string[] = [];
    const run = (name: string) => async () => {
      running.push(name);
      if (running.length === 2) both.open();
      await both.opened;
      return name;
    };
    const parallel = functionTools({ one: { execute: run('one') }, two: { execute: run('two') } });
    const calls = [
      { id: 'a', name: 'one', arguments: '{}' },
      { id: 'b', name: 'two', arguments: '{}' },
    ];
    const answers = [sends(callsJson(...calls)), sends(chatCompletion('Done.'))];
    const { requested: bodies } = await requested(answers, {}, { tools: parallel });
    expect(bodies[1]?.messages).toEqual([
      ...CHAT.messages,
      { role: 'assistant', content: null, tool_calls: wire(...calls) },
      tool('a', 'one'),
      tool('b', 'two'),
    ]);
  });

  it('[T-04] hands the client’s own calls back, and brings the results of ours into its next request', async () => {
    const client = [{ type: 'function', function: { name: 'pick', parameters: { type: 'object' } } }];
    const { handler, requested: bodies } = handlerOf(sends(callsJson(LOOK, PICK)), sends(chatCompletion('Red.')));
    const step = runTools({ tools, store: memoryStore(), handler }) as Step;
    await withHost([step], async ({ post }) => {
      const first = await reportedIn(await post({ ...CHAT, tools: client }));
      expect(first).toEqual({ content: null, calls: wire(PICK), finish: 'tool_calls', total: 21 });
      const messages = [
        ...CHAT.messages,
        { role: 'assistant', content: null, tool_calls: wire(PICK) },
        tool('call_2', 'red'),
      ];
      await post({ ...CHAT, messages, tools: client });
    });
    expect(bodies[1]?.messages).toEqual([
      ...CHAT.messages,
      { role: 'assistant', content: null, tool_calls: wire(LOOK, PICK) },
      tool('call_1', 'seen sky'),
      tool('call_2', 'red'),
    ]);
  });

  it('[T-02] ends with `length` at the limit of rounds', async () => {
    const again = [1, 2, 3].map((at) => sends(callsJson({ ...LOOK, id: `c${at}`, arguments: `{"at":${at}}` })));
    const { reported, requested: bodies } = await requested(again, {}, { limits: { tools: { iterations: 2 } } });
    expect({ finish: (reported as JsonObject).finish, rounds: bodies.length }).toEqual({ finish: 'length', rounds: 3 });
  });

  it('[X-01] is not there for requests without its tools: other APIs, no tools, `n > 1`', async () => {
    const { handler, requested: bodies } = handlerOf(...[1, 2, 3].map(() => sends('{"as":"it is"}', JSON_TYPE)));
    const store = memoryStore();
    const steps = [runTools({ tools, store, handler }), runTools({ tools: () => [], store, handler })] as Step[];
    const [with1, without] = steps as [Step, Step];
    const answered: string[] = [];
    const take = async ({ post }: Host, body: JsonObject) => void answered.push(await (await post(body)).text());
    await withHost([with1], async (host) => {
      await take(host, { model: 'm', input: 'Go.' });
      await take(host, { ...CHAT, n: 2 });
    });
    await withHost([without], (host) => take(host, CHAT));
    expect({ answered, bodies }).toEqual({
      answered: Array(3).fill('{"as":"it is"}'),
      bodies: [{ model: 'm', input: 'Go.' }, { ...CHAT, n: 2 }, CHAT],
    });
  });

  const hello = chatCompletion('Hello');
  /** Calls a tool, and answers where it has its result. */
  const answersTwice: express.RequestHandler = (req, res) => {
    const { messages } = req.body as { messages: readonly JsonObject[] };
    res.writeHead(200, JSON_TYPE).end(messages.length === 1 ? callsJson(LOOK) : hello);
  };
  const helloStream = textStream('Hello');
  const forms: Readonly<Record<string, Answer>> = {
    'end with JSON': (res) => void res.setHeader('Content-Type', 'application/json').end(hello),
    'writeHead with an object': (res) => res.writeHead(200, { 'Content-Type': 'application/json' }).end(hello),
    'writeHead with a reason': (res) => res.writeHead(200, 'Fine', { 'content-TYPE': 'application/json' }).end(hello),
    'writeHead with a flat list': (res) => res.writeHead(200, ['Content-Type', 'application/json'] as never).end(hello),
    'writeHead with pairs': (res) => res.writeHead(200, [['Content-Type', 'application/json']] as never).end(hello),
    'many writes': (res) => {
      res.setHeader('content-type', 'application/json');
      for (const byte of Buffer.from(hello)) res.write(Buffer.of(byte));
      res.end();
    },
    'writes that wait for each other': async (res) => {
      res.setHeader('content-type', 'application/json');
      for (const piece of [hello.slice(0, 9), hello.slice(9)])
        await new Promise<void>((resolve) => res.write(piece, () => resolve()));
      await new Promise<void>((resolve) => res.end(resolve));
    },
    'text of another encoding': (res) => res.writeHead(200, JSON_TYPE).end(Buffer.from(hello).toString('hex'), 'hex'),
    'flushed headers': (res) => {
      res.writeHead(200, SSE).flushHeaders();
      res.end(helloStream);
    },
    pipe: (res) => void Readable.from([...helloStream]).pipe(res.writeHead(200, SSE)),
    pipeline: (res) => pipeline(Readable.from([...helloStream]), res.writeHead(200, SSE)),
    'a stream without [DONE]': (res) => res.writeHead(200, SSE).end(helloStream.replace('data: [DONE]\n\n', '')),
    gzip: (res) => res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(gzipSync(hello)),
    deflate: (res) => res.writeHead(200, { ...SSE, 'content-encoding': 'deflate' }).end(deflateSync(helloStream)),
    'gzip by its old name': (res) =>
      res.writeHead(200, { ...SSE, 'content-encoding': 'x-gzip' }).end(gzipSync(helloStream)),
    brotli: (res) => res.writeHead(200, { ...SSE, 'Content-Encoding': 'br' }).end(brotliCompressSync(helloStream)),
    'next called behind the answer': (res, _req, next) => {
      res.writeHead(200, JSON_TYPE).end(hello);
      next();
    },
    'the socket used': (res) => {
      res.socket?.setNoDelay(true);
      res.writeHead(200, JSON_TYPE).end(hello);
    },
  };
  for (const [name, answer] of Object.entries(forms))
    it(`[X-02] reads an answer by ${name}, in the first round and behind a call`, async () => {
      const stream = { stream: true };
      const reported = [
        (await requested([answer])).reported,
        (await requested([sends(callsJson(LOOK)), answer])).reported,
        (await requested([answer], stream)).reported,
        (await requested([sends(toolCallStream([LOOK])), answer], stream)).reported,
      ].map((each) => [(each as JsonObject).content, (each as JsonObject).finish]);
      expect(reported).toEqual(Array(4).fill(['Hello', 'stop']));
    });

  it.each([
    ['JSON', false],
    ['a stream', true],
  ])(
    '[X-01] [G-02] shows of %s only what a guard inside the handler lets pass, in every round',
    async (_name, stream) => {
      const secret = 'Write to bob@example.com now.';
      const inner = guard({ guards: { output: [pii()] } });
      const answers = stream
        ? [chatStream({ content: secret }, { tool_calls: [{ index: 0, ...wire(LOOK)[0] }] }), textStream(secret)]
        : [chatCompletion({ content: secret, tool_calls: wire(LOOK) }), chatCompletion(secret)];
      const { handler } = handlerOf(...answers.map((text) => sends(text)));
      const guarded: Step = (req, res, next) =>
        inner(req, res, (error) => (error ? next(error) : handler(req, res, next)));
      const { content } = (await withHost(
        [runTools({ tools, store: memoryStore(), handler: guarded as never }) as Step],
        async ({ post }) => reportedIn(await post({ ...CHAT, stream })),
      )) as JsonObject;
      expect(content).toBe('Write to [EMAIL] now.Write to [EMAIL] now.');
    },
  );

  it('[X-01] [E-08] leaves to the handler what the client wants stored', async () => {
    const store = memoryStore();
    const { handler, requested } = handlerOf(sends(callsJson(LOOK)), sends(hello));
    const wanted = { store: true, metadata: { topic: 'sky' } };
    await withHost([runTools({ tools, store, handler }) as Step], async ({ post }) =>
      (await post({ ...CHAT, ...wanted })).text(),
    );
    expect(requested).toMatchObject([wanted, wanted]);
  });

  it.each<[string, (model: string) => express.RequestHandler]>([
    ['is a router with routes of its own', () => express.Router().use('/llm', express.Router().use(answersTwice))],
    ['is an app of its own', () => express().use('/llm', answersTwice) as unknown as express.RequestHandler],
    [
      'rewrites the path',
      (model) =>
        createProxyMiddleware({
          target: model,
          pathRewrite: { '^/llm': '/llm/llm' },
          on: { proxyReq: fixRequestBody },
        }) as express.RequestHandler,
    ],
    [
      "puts the host's key in the place of the client's",
      () => (req, res, next) => {
        if (req.headers.authorization !== 'Bearer client') return next(new Error('Unknown key.'));
        req.headers.authorization = 'Bearer host';
        delete req.headers['x-team'];
        return answersTwice(req, res, next);
      },
    ],
  ])('[X-01] [T-02] shows each model call the request as it came where the handler %s', async (_, handlerFor) => {
    const paths: string[] = [];
    const answers = [callsJson(LOOK), hello];
    const model = await listening((req, res) => {
      paths.push(String(req.url));
      req.resume();
      res.writeHead(200, JSON_TYPE).end(answers[paths.length - 1]);
    });
    const app = express().use(runTools({ tools, store: memoryStore(), handler: handlerFor(model.url) }));
    const host = await listening(app);
    const answer = await fetch(`${host.url}/llm/chat/completions`, {
      method: 'POST',
      headers: { ...JSON_TYPE, authorization: 'Bearer client', 'x-team': 'a' },
      body: JSON.stringify(CHAT),
    });
    expect(await reportedIn(answer)).toMatchObject({ content: 'Hello' });
    expect(new Set(paths).size).toBeLessThan(2);
    await Promise.all([host.close(), model.close()]);
  });

  it("[X-01] leaves what a handler puts into the app's own locals there", async () => {
    const app = express();
    const { handler } = handlerOf((res) => {
      (res as express.Response).locals.model = 'mine';
      return sends(hello)(res, {} as HostRequest, () => {});
    });
    let seen: unknown;
    app.use((_req, res, next) => {
      res.once('finish', () => {
        seen = res.locals.model;
      });
      next();
    });
    app.post('/chat/completions', runTools({ tools, store: memoryStore(), handler }) as express.RequestHandler);
    const { url, close } = await listening(app);
    await (
      await fetch(`${url}/chat/completions`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(CHAT) })
    ).text();
    await close();
    expect(seen).toBe('mine');
  });

  it.each([false, true])(
    '[X-01] shows the handler what middlewares in front have put on the response (streamed: %s)',
    async (stream) => {
      const mark = Symbol('of the host');
      type Marked = express.Response & {
        log?: object;
        [mark]?: string;
        reply?: (text: string) => unknown;
      };
      const log = { info() {} };
      const seen: unknown[] = [];
      const handler = (req: express.Request, res: Marked) => {
        const { log: handlerLog, [mark]: marked, reply } = res;
        seen.push([handlerLog === log, marked, typeof reply, res.getHeader('x-front'), res.getHeader('set-cookie')]);
        seen.push('__onFinished' in res);
        res.vary('accept').cookie('b', '2').set('link', '<b>');
        const calls = (req.body as { messages: readonly unknown[] }).messages.length === 1;
        if (stream) return res.type('text/event-stream').send(calls ? toolCallStream([LOOK]) : helloStream);
        return res.type('json').send(calls ? callsJson(LOOK) : hello);
      };
      const app = express().use((_req, res: Marked, next) => {
        Object.assign(res, { log, [mark]: 'mine', __onFinished: {} });
        // It would answer the client itself.
        res.reply = (text) => res.type('json').send(text);
        res.set('x-front', '1').vary('origin').append('link', ['<a>', '<c>']).cookie('a', '1');
        next();
      });
      app.post(
        '/chat/completions',
        runTools({ tools, store: memoryStore(), handler: handler as express.RequestHandler }) as express.RequestHandler,
      );
      const { url, close } = await listening(app);
      const body = JSON.stringify({ ...CHAT, stream });
      const answer = await fetch(`${url}/chat/completions`, { method: 'POST', headers: JSON_TYPE, body });
      const { headers } = answer;
      const reported = (await reportedIn(answer)) as JsonObject;
      await close();
      const shown = [[true, 'mine', 'undefined', '1', 'a=1; Path=/'], false];
      expect({
        content: reported.content,
        seen,
        front: headers.get('x-front'),
        cookies: headers.getSetCookie(),
        vary: headers.get('vary'),
        link: headers.get('link'),
      }).toEqual({
        content: 'Hello',
        seen: [...shown, ...shown],
        front: '1',
        cookies: ['a=1; Path=/', 'b=2; Path=/'],
        vary: 'origin, accept',
        link: '<b>',
      });
    },
  );

  it('[X-01] reads what Express answers by json, send and status, with the app’s own locals', async () => {
    const ways: readonly ((res: express.Response) => unknown)[] = [
      (res) => res.json(JSON.parse(hello)),
      (res) => res.status(200).type('json').send(hello),
      (res) => res.status(200).set('content-type', 'application/json').end(hello),
      (res) => res.type('json').send(Buffer.from(res.locals.user === 'me' ? hello : '{}')),
    ];
    const contents = ways.map(async (way) => {
      let round = 0;
      const app = express().use((_req, res, next) => {
        res.locals.user = 'me';
        next();
      });
      const answer = (req: express.Request, res: express.Response, next: express.NextFunction) =>
        round++ === 0 ? handler(req, res, next) : way(res);
      const { handler } = handlerOf(sends(callsJson(LOOK)));
      app.post(
        '/chat/completions',
        runTools({ tools, store: memoryStore(), handler: answer }) as express.RequestHandler,
      );
      const { url, close } = await listening(app);
      try {
        const init = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(CHAT) };
        return ((await reportedIn(await fetch(`${url}/chat/completions`, init))) as JsonObject).content;
      } finally {
        await close();
      }
    });
    expect(await Promise.all(contents)).toEqual(['Hello', 'Hello', 'Hello', 'Hello']);
  });

  it('[P-09] lets the handler refuse the first round in its own words, headers and status', async () => {
    const refuse: Answer = (res) => {
      res.setHeader('x-quota', '0');
      res.writeHead(402, { 'content-type': 'text/plain', 'retry-after': '7' }).end('Pay first.');
    };
    for (const stream of [false, true]) {
      const { handler } = handlerOf(refuse);
      await withHost([runTools({ tools, store: memoryStore(), handler }) as Step], async ({ post, errors }) => {
        const answer = await post({ ...CHAT, stream });
        const { status, headers } = answer;
        expect({
          status,
          text: await answer.text(),
          type: headers.get('content-type'),
          quota: headers.get('x-quota'),
          retry: headers.get('retry-after'),
          errors,
        }).toEqual({ status: 402, text: 'Pay first.', type: 'text/plain', quota: '0', retry: '7', errors: [] });
      });
    }
  });

  it('[X-01] passes every cookie of the handler on, and no content type that it did not give', async () => {
    const { handler } = handlerOf((res) => {
      res.setHeader('set-cookie', ['a=1; Path=/', 'b=2']);
      res.writeHead(503).end();
    });
    await withHost([runTools({ tools, store: memoryStore(), handler }) as Step], async ({ post }) => {
      const { status, headers } = await post(CHAT);
      expect([status, headers.getSetCookie(), headers.get('content-type')]).toEqual([
        503,
        ['a=1; Path=/', 'b=2'],
        null,
      ]);
    });
  });

  it('[P-09] reports a refusal in a later round in the envelope, or in the stream that has begun', async () => {
    const limited: Answer = (res) => res.writeHead(429, JSON_TYPE).end('{"error":{"message":"Too many."}}');
    const codes: string[] = [];
    const hooks = { onError: (error: ApiError) => void codes.push(error.code) };
    const json = await requested([sends(callsJson(LOOK)), limited], {}, { hooks });
    const streamed = await requested([sends(toolCallStream([LOOK])), limited], { stream: true }, { hooks });
    expect((json.reported as JsonObject).status).toBe(429);
    expect(JSON.parse(String((json.reported as JsonObject).text)).error.message).toContain('Too many.');
    expect(streamed.reported).toMatchObject({ done: true });
    expect(codes).toHaveLength(2);
  });

  const broken = new Error('no database');
  const failures: Readonly<Record<string, Answer>> = {
    'throws at once': () => {
      throw broken;
    },
    'throws later': () => Promise.reject(broken),
    'passes an error on': (_res, _req, next) => next(broken),
  };
  for (const [name, answer] of Object.entries(failures))
    it(`[X-01] gives the host the error where its handler ${name}, in any round`, async () => {
      const seen = await Promise.all([
        requested([answer]),
        requested([answer], { stream: true }),
        requested([sends(callsJson(LOOK)), answer]),
        requested([answer], { n: 2 }),
      ]);
      expect(seen.map(({ reported, errors }) => ({ reported, errors }))).toEqual(
        seen.map(() => ({ reported: { status: 500, text: 'the host failed' }, errors: [broken] })),
      );
    });

  it('[X-01] reports it where the handler only calls next', async () => {
    const { reported, errors } = await requested([(_res, _req, next) => next()]);
    expect({ reported, errors: errors.map(String) }).toEqual({
      reported: { status: 500, text: 'the host failed' },
      errors: ['Error: The handler did not answer.'],
    });
  });

  const breaks: Readonly<Record<string, Answer>> = {
    'destroys its response': (res) => res.writeHead(200, SSE).write('data: ', () => res.destroy()),
    'destroys its response behind the head': (res) => res.writeHead(200, SSE).destroy(),
    'destroys its compressed response behind the head': (res) =>
      res.writeHead(200, { ...SSE, 'content-encoding': 'gzip' }).destroy(),
    'destroys its refusal behind the head': (res) => res.writeHead(401, JSON_TYPE).destroy(),
    'throws in the middle of its answer': async (res) => {
      res.writeHead(200, SSE).write('data: ');
      throw broken;
    },
    'says it is gzip and it is not': (res) => res.writeHead(200, { ...SSE, 'content-encoding': 'gzip' }).end('plain'),
    'is no chat completion': (res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  };
  /** It breaks before it has answered, as the connection to a model server does. */
  const brokenSource = () =>
    new Readable({
      read() {
        setImmediate(() => this.destroy(broken));
      },
    });
  const headless: Readonly<Record<string, Answer>> = {
    'destroys its response at once': (res) => void res.destroy(),
    'destroys its response with an error of its own': (res) => void res.destroy(broken),
    'destroys its response later': (res) => void setImmediate(() => res.destroy()),
    'pipes a source that breaks': (res) => void pipeline(brokenSource(), res).catch(() => {}),
    'writes behind the end of its response': (res) => {
      res.once('close', () => void res.writeHead(200, JSON_TYPE).end(hello));
      res.destroy();
    },
  };
  for (const [name, answer] of Object.entries(headless))
    it(`[P-09] answers 502, or in the stream that has begun, where the handler ${name} without a head`, async () => {
      const { handler, requested: bodies } = handlerOf(
        answer,
        answer,
        sends(callsJson(LOOK)),
        answer,
        sends(toolCallStream([LOOK])),
        answer,
      );
      const middleware = runTools({ tools, store: memoryStore(), handler });
      await withHost([middleware as Step], async ({ post, errors }) => {
        const answers: (readonly [number, string])[] = [];
        for (const [at, stream] of [false, true, false, true].entries()) {
          const { status, text } = await post({ ...CHAT, stream }).then(async (response) => ({
            status: response.status,
            text: await response.text(),
          }));
          const [error] = /\{"error":.*\}/.exec(text) ?? [];
          answers.push([status, JSON.parse(String(error)).error.code]);
          expect(bodies).toHaveLength([1, 2, 4, 6][at] ?? 0);
        }
        const truncated = 'upstream_truncated';
        expect(answers).toEqual([
          [502, truncated],
          [502, truncated],
          [502, truncated],
          [200, truncated],
        ]);
        expect([errors, (await middleware.status()).responses]).toEqual([
          [],
          { inFlight: 0, background: 0, waiting: 0 },
        ]);
      });
    });

  for (const [name, answer] of Object.entries(breaks))
    it(`[P-09] answers 502 where the handler ${name}`, async () => {
      const { reported } = await requested([answer]);
      expect({
        status: (reported as JsonObject).status,
        type: JSON.parse(String((reported as JsonObject).text)).error.type,
      }).toEqual({
        status: 502,
        type: 'server_error',
      });
    });

  it('[P-10] closes the handler’s response when the client leaves, answered or not', async () => {
    const waits: readonly Answer[] = [() => {}, (res) => void res.writeHead(200, SSE).write(': wait\n\n')];
    for (const wait of waits) {
      const called = gate();
      const closed = gate();
      const handler: Step = (req, res, next) => {
        res.once('close', () => {
          if (res.destroyed && !res.writableFinished) closed.open();
        });
        wait(res, req, next);
        called.open();
      };
      await withHost([runTools({ tools, store: memoryStore(), handler }) as Step], async ({ post, errors }) => {
        const leaving = new AbortController();
        const asking = post({ ...CHAT, stream: true }, { signal: leaving.signal }).then((answer) => answer.text());
        await called.opened;
        leaving.abort();
        await expect(asking).rejects.toThrow('aborted');
        await closed.opened;
        expect(errors).toEqual([]);
      });
    }
  });

  it('[P-10] informs a handler that its answer was taken whole', async () => {
    const ended: unknown[] = [];
    const answer: Answer = (res) => {
      res.once('finish', () => ended.push('finish'));
      res.once('close', () => ended.push(res.writableFinished ? 'close' : 'left'));
      res.writeHead(200, JSON_TYPE).flushHeaders();
      res.end(hello);
    };
    await requested([answer]);
    expect(ended).toEqual(['finish', 'close']);
  });

  it('[P-10] holds a handler back that writes faster than the client reads', async () => {
    const chunk = `${chatStream({ content: 'x'.repeat(50_000) }).split('\n\n')[0]}\n\n`;
    let written = 0;
    const fast: Answer = (res) => {
      const more = () => {
        while (written < 4_000 && !res.destroyed) {
          written += 1;
          if (!res.write(chunk)) return void res.once('drain', more);
        }
      };
      res.writeHead(200, SSE);
      more();
    };
    const { handler } = handlerOf(fast);
    const step = runTools({ tools, limits: { model: { outputBytes: 1e9 } }, store: memoryStore(), handler }) as Step;
    await withHost([step], async ({ url }) => {
      const body = JSON.stringify({ ...CHAT, stream: true });
      const head = `POST /chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
      // It reads nothing of its answer.
      const socket = connect(Number(new URL(url).port), '127.0.0.1').pause();
      socket.write(`${head}\r\n\r\n${body}`);
      await once(socket, 'readable');
      await otherTraffic(url);
      socket.destroy();
    });
    expect(written).toBeLessThan(4_000);
  });

  it('[P-15] [A-20] fills the silences of the handler itself where a heartbeat stands in front', async () => {
    const heartbeatSent = gate();
    const late: Answer = async (res) => {
      res.writeHead(200, SSE).write(`${helloStream.split('\n\n')[0]}\n\n`);
      await heartbeatSent.opened;
      res.end(helloStream.split('\n\n').slice(1).join('\n\n'));
    };
    const { handler } = handlerOf(late);
    const steps = [heartbeat({ intervalMs: 5 }), runTools({ tools, store: memoryStore(), handler })] as Step[];
    const text = await withHost(steps, async ({ post }) => {
      let text = '';
      for await (const piece of (await post({ ...CHAT, stream: true })).body ?? []) {
        text += Buffer.from(piece).toString();
        if (text.includes(': heartbeat\n\n')) heartbeatSent.open();
      }
      return text;
    });
    expect(text.replaceAll(': heartbeat\n\n', '')).toBe(
      helloStream
        .split('\n\n')
        .filter((frame) => !frame.includes('"usage":{'))
        .join('\n\n'),
    );
  });

  it('[X-02] asks an upstream where there is no handler, and passes what is not its own on', async () => {
    const fake = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
    const own = functionTools({ look: { execute: () => 'seen' } });
    fake.reply({ body: callsJson(LOOK) }, { body: hello });
    const behind: Step = (req, res) => res.end(`for ${(req.body as JsonObject).input}`);
    const steps = [runTools({ tools: own, store: memoryStore(), upstream }) as Step, behind];
    try {
      await withHost(steps, async ({ post }) => {
        expect(await reportedIn(await post(CHAT))).toMatchObject({ content: 'Hello', total: 42 });
        expect(await (await post({ input: 'others' })).text()).toBe('for others');
      });
    } finally {
      await upstream.close?.();
      await fake.close();
    }
  });

  it('[X-01] names the option at fault', () => {
    const make = (options: unknown) => () => runTools(options as never);
    expect(make({})).toThrow(new TypeError('runTools: handler or upstream is required, got neither'));
    expect(make({ handler: 'x' })).toThrow(new TypeError("runTools: handler must be a function, got 'x'"));
    expect(make({ handler: () => {}, tool: [] })).toThrow(/runTools: .*tool/);
    expect(make({ upstream: { name: 'x', stream: () => [] } })).toThrow(TypeError);
  });
});
