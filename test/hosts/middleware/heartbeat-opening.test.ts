/** `heartbeat` in front of a handler that is silent for long: the stream is open, and the answer goes into it later. */

import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import compression from 'compression';
import express, { type RequestHandler, type Response as Res } from 'express';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';
import { guard, type HeartbeatMiddlewareOptions, heartbeat, memoryStore, recordTurn } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { textStream } from '../../../src/testing/index.ts';
import { type Gate, gate } from '../../support/gate.ts';
import { type Listening, listening } from '../../support/listening.ts';
import { otherTraffic } from './host.ts';

const SSE = { 'content-type': 'text/event-stream' };
const COMMENT = ': heartbeat\n\n';
const STREAM = textStream(['Hel', 'lo.']);
const REFUSAL = { error: { message: 'No credit.', type: 'billing_error' } };
const PATHS = ['chat/completions', 'responses', 'messages'] as const;
const FAILURES = {
  'chat/completions': /^data: \{"error":\{.*No credit\..*\}\}\n\ndata: \[DONE\]\n\n$/,
  responses: /^event: error\ndata: \{"type":"error",.*No credit\..*\}\n\n$/,
  messages: /^event: error\ndata: \{"type":"error","error":\{.*No credit\..*\}.*\}\n\n$/,
} as const;

let app: Listening;
const more: Listening[] = [];

afterEach(async () => {
  await app.close();
  for (const each of more.splice(0)) await each.close();
});

interface Setup {
  readonly options?: HeartbeatMiddlewareOptions;
  /** In front of the heartbeat, behind the parser. */
  readonly before?: readonly RequestHandler[];
  /** Between the heartbeat and the handler. */
  readonly behind?: readonly RequestHandler[];
  readonly parses?: boolean;
}

async function start(handler: RequestHandler, { options = {}, before = [], behind = [], parses = true }: Setup = {}) {
  const server = express().disable('x-powered-by');
  if (parses) server.use(express.json());
  for (const each of before) server.use(each);
  server.use(heartbeat({ openAfterMs: 5, intervalMs: 10, ...options }) as RequestHandler);
  for (const each of behind) server.use(each);
  server.use('/v1', handler);
  app = await listening(server);
}

function post(path: string = PATHS[0], body: JsonObject = {}, init: RequestInit = {}): Promise<Response> {
  const text = JSON.stringify({ model: 'm', messages: [], input: 'Hi.', stream: true, ...body });
  const headers = { 'content-type': 'application/json', ...(init.headers as Record<string, string>) };
  return fetch(`${app.url}/v1/${path}`, { method: 'POST', body: text, ...init, headers });
}

/** What a client receives of a handler that answers only when the client has seen two heartbeats. */
async function received(answer: Response, goOn: Gate): Promise<string> {
  let text = '';
  for await (const piece of answer.body ?? []) {
    text += Buffer.from(piece).toString('utf8');
    if (text.includes(COMMENT + COMMENT) || text.includes('event: ping\n')) goOn.open();
  }
  return text;
}

const bare = (text: string) => text.replaceAll(COMMENT, '').replaceAll(/event: ping\n.*\n\n/g, '');

/** A handler that waits, and then answers so. */
function waiting(answer: (res: Res) => unknown) {
  const goOn = gate();
  const handler: RequestHandler = async (_req, res) => {
    await goOn.opened;
    await answer(res);
  };
  return { goOn, handler };
}

const HEADS: Readonly<Record<string, (res: Res) => unknown>> = {
  'writeHead and write': (res) => res.writeHead(200, { ...SSE, 'x-of': 'handler' }).write(STREAM) && res.end(),
  'headers one by one': (res) => {
    res.statusCode = 200;
    for (const [name, value] of Object.entries(SSE)) res.setHeader(name, value);
    res.removeHeader('etag');
    res.flushHeaders();
    res.end(STREAM);
  },
  "Express's own methods": (res) => res.status(200).type('text/event-stream').send(STREAM),
  'a declared length': (res) => res.writeHead(200, { ...SSE, 'content-length': STREAM.length }).end(STREAM),
  'gzip by its old name': (res) => res.writeHead(200, { ...SSE, 'content-encoding': 'x-gzip' }).end(gzipSync(STREAM)),
  'gzip, as of a server that compresses': (res) =>
    res.writeHead(200, { ...SSE, 'content-encoding': 'gzip' }).end(gzipSync(STREAM)),
  'a middleware that compresses': (res) => {
    compression()(res.req, res, () => res.writeHead(200, SSE).end(STREAM));
  },
};

it.each(Object.entries(HEADS))(
  '[O-04] opens the stream of a handler that answers late by %s',
  async (_name, answer) => {
    const { goOn, handler } = waiting(answer);
    await start(handler);
    const response = await post();
    const text = await received(response, goOn);
    expect([response.status, response.headers.get('content-type'), response.headers.get('x-accel-buffering')]).toEqual([
      200,
      'text/event-stream',
      'no',
    ]);
    expect(text.startsWith(COMMENT)).toBe(true);
    expect(bare(text)).toBe(STREAM);
  },
);

it.each(PATHS)('[O-04] writes the refusal of a handler into the open stream of %s', async (path) => {
  const { goOn, handler } = waiting((res) => res.status(429).json(REFUSAL));
  await start(handler);
  expect(bare(await received(await post(path), goOn))).toMatch(FAILURES[path]);
});

const ODD: Readonly<Record<string, (res: Res) => unknown>> = {
  'an empty 500': (res) => res.status(500).end(),
  'HTML of a proxy': (res) => res.status(502).send('<html>Bad gateway</html>'),
  'JSON in the place of a stream': (res) => res.json({ choices: [] }),
  'a compressed refusal': (res) =>
    res.writeHead(429, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(gzipSync('{}')),
  'an encoding that nobody reads': (res) => res.writeHead(200, { ...SSE, 'content-encoding': 'compress' }).end('x'),
  'a megabyte of words': (res) => res.status(500).send('x'.repeat(1 << 20)),
};

it.each(Object.entries(ODD))('[O-04] writes one error event for %s', async (_name, answer) => {
  const { goOn, handler } = waiting(answer);
  await start(handler);
  const text = bare(await received(await post(), goOn));
  expect(text).toMatch(/^data: \{"error":\{[^\n]{1,4000}\n\ndata: \[DONE\]\n\n$/);
});

it("[O-04] writes an error event for what the host's error handler answers", async () => {
  const goOn = gate();
  await start(async (_req, _res, next) => {
    await goOn.opened;
    next(Object.assign(new Error('secret'), { expose: false }));
  });
  const text = bare(await received(await post(), goOn));
  expect(text).toMatch(/^data: \{"error":/);
});

it('[O-04] opens the stream of a proxy, and shows how its server refuses', async () => {
  let goOn = gate();
  const answers = [
    [200, SSE, STREAM] as const,
    [401, { 'content-type': 'application/json' }, JSON.stringify(REFUSAL)] as const,
  ];
  const serve: RequestListener = async (req, res) => {
    req.resume();
    await goOn.opened;
    const [status, head, body] = answers.shift() ?? answers[0] ?? [500, {}, ''];
    res.writeHead(status, head).end(body);
  };
  const model = await listening(serve);
  more.push(model);
  await start(createProxyMiddleware({ target: model.url, on: { proxyReq: fixRequestBody } }) as RequestHandler);
  expect(bare(await received(await post(), goOn))).toBe(STREAM);
  goOn = gate();
  expect(bare(await received(await post(), goOn))).toMatch(FAILURES['chat/completions']);
});

it.each(['constructor', '__proto__'])(
  '[O-04] the encoding %s of a server throws nothing at its proxy',
  async (encoding) => {
    const thrown: unknown[] = [];
    const { goOn, handler } = waiting((res) => {
      // As a proxy does, whose events nobody catches.
      try {
        res.writeHead(200, { ...SSE, 'content-encoding': encoding });
      } catch (error) {
        thrown.push(error);
      }
      res.end('x');
    });
    await start(handler);
    expect(bare(await received(await post(), goOn))).toMatch(/^data: \{"error":\{[^\n]{1,4000}\n\ndata: \[DONE\]\n\n$/);
    expect(thrown).toEqual([]);
  },
);

it('[O-04] inflates what a server has compressed only as fast as the client reads', async () => {
  const event = `data: ${'x'.repeat(1 << 20)}\n\n`;
  let most = 0;
  const before: RequestHandler = (_req, res, next) => {
    const write = res.write.bind(res);
    res.write = ((...args: Parameters<typeof write>) => {
      const isTaken = write(...args);
      most = Math.max(most, res.writableLength);
      return isTaken;
    }) as typeof write;
    next();
  };
  const { goOn, handler } = waiting((res) =>
    res.writeHead(200, { ...SSE, 'content-encoding': 'gzip' }).end(gzipSync(event.repeat(16))),
  );
  await start(handler, { before: [before] });
  const answer = await post();
  goOn.open();
  // Meanwhile the client does not read.
  for (let turn = 0; turn < 200; turn += 1) await otherTraffic(app.url);
  expect(bare(await answer.text())).toBe(event.repeat(16));
  expect(most).toBeLessThan(1 << 20);
});

it('[O-04] opens a stream behind compression, which does not hold it back, and behind and in front of other middlewares', async () => {
  const { goOn, handler } = waiting((res) => res.writeHead(200, SSE).end(STREAM));
  const record = recordTurn({ store: memoryStore() }) as RequestHandler;
  const behind = [record, guard({ guards: { output: [pii()] } }) as RequestHandler];
  await start(handler, { before: [compression(), record], behind });
  const response = await post(PATHS[0], {}, { headers: { 'accept-encoding': 'gzip' } });
  const text = await received(response, goOn);
  expect([response.headers.get('content-encoding'), bare(text)]).toEqual([null, expect.stringContaining('lo.')]);
});

it('[O-04] leaves the stream of a guard in front to its handler', async () => {
  const { handler, goOn } = waiting((res) => res.status(401).json(REFUSAL));
  await start(handler, { before: [guard({ guards: { output: [pii()] } }) as RequestHandler] });
  const answer = post();
  for (let turn = 0; turn < 5; turn += 1) await otherTraffic(app.url);
  goOn.open();
  expect((await answer).status).toBe(401);
});

it('[O-04] leaves refusals their status where they come in time', async () => {
  await start((_req, res) => void res.status(401).json(REFUSAL), {
    options: { openAfterMs: 60_000, intervalMs: 60_000 },
  });
  const answer = await post();
  expect([answer.status, await answer.json()]).toEqual([401, REFUSAL]);
});

it.each([
  ['no stream is wanted', {}, { stream: false }],
  ['nothing has read the body', { parses: false }, {}],
  ['the host wants no such opening', { options: { openAfterMs: Number.POSITIVE_INFINITY } }, {}],
] as const)('[O-04] opens nothing where %s', async (_name, setup, body) => {
  const seen: boolean[] = [];
  await start(async (_req, res) => {
    for (let turn = 0; turn < 5; turn += 1) await otherTraffic(app.url);
    seen.push(res.headersSent);
    res.status(401).json(REFUSAL);
  }, setup);
  expect([(await post(PATHS[0], body)).status, seen]).toEqual([401, [false]]);
});

it('[O-04] tells the handler that its client has left after the opening', async () => {
  const left = gate();
  await start((_req, res) => void res.once('close', () => left.open()));
  const answer = await post();
  await answer.body?.cancel();
  await left.opened;
});

it('[X-01] names a bad time', () => {
  expect(() => heartbeat({ openAfterMs: 0 })).toThrow(/heartbeat: openAfterMs must be .*, or Infinity, got 0/);
});
