/** Heads that few handlers write: trailers, lists of raw headers, and what goes out in front of a head. */

import { once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type ClientHttp2Stream, connect, constants, createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { functionTools, guard, heartbeat, memoryStore, recordTurn, runTools } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { chatCompletion, textStream } from '../../../src/testing/index.ts';
import { gate } from '../../support/gate.ts';
import { CHAT, type HostRequest, type Step, withHost } from './host.ts';

const tools = functionTools({ look: { execute: () => 'seen' } });
const guards = { output: [pii()] };
const store = memoryStore();
const JSON_TYPE = { 'content-type': 'application/json' };
const SSE = { 'content-type': 'text/event-stream' };
const HELLO = chatCompletion({ content: 'Hello.' });
const STREAM = textStream(['Hel', 'lo.']);

/** What the client receives of a chat completion, over HTTP/1.1 and with everything beside its body. */
async function exchange(url: string, body: object) {
  const information: unknown[] = [];
  const asking = request(`${url}/chat/completions`, { method: 'POST', headers: JSON_TYPE });
  asking.on('information', ({ statusCode }) => information.push(statusCode)).end(JSON.stringify(body));
  // The cast: the event has the answer.
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return { answer, information, text: await text(answer) };
}

describe('trailers of a handler', () => {
  const handler: Step = (_req, res) => {
    res.setHeader('content-type', 'application/json');
    res.setHeader('trailer', 'x-sum');
    res.addTrailers({ 'x-sum': '1' });
    res.end(HELLO);
  };
  it.each([
    ['heartbeat', heartbeat()],
    ['recordTurn', recordTurn({ store })],
    ['guard', guard({ guards })],
  ])('[X-02] reach the client behind %s', async (_, middleware) => {
    const { answer, text: body } = await withHost([middleware as Step, handler], ({ url }) => exchange(url, CHAT));
    expect([answer.statusCode, JSON.parse(body), answer.trailers]).toEqual([200, JSON.parse(HELLO), { 'x-sum': '1' }]);
  });

  it('[X-02] are not announced by runTools, which answers itself', async () => {
    const steps = [runTools({ tools, handler }) as Step];
    const { answer, text: body } = await withHost(steps, ({ url }) => exchange(url, CHAT));
    expect([answer.statusCode, JSON.parse(body), answer.headers.trailer]).toEqual([200, JSON.parse(HELLO), undefined]);
  });
});

it.each([
  ['each by itself', ['Set-Cookie', 'a=1', 'X-Server', 'm', 'Set-Cookie', 'b=2']],
  ['with a list of values', ['Set-Cookie', ['a=1', 'b=2'], 'X-Server', 'm']],
])('[X-01] runTools passes on what a handler writes as a list of names and values, %s', async (_, more) => {
  const list = ['Content-Type', 'application/json', ...more] as string[];
  const steps = [runTools({ tools, handler: (_req, res) => res.writeHead(200, list).end(HELLO) }) as Step];
  const { answer } = await withHost(steps, ({ url }) => exchange(url, CHAT));
  const { 'set-cookie': cookies, 'x-server': server } = answer.headers;
  expect({ cookies, server }).toEqual({ cookies: ['a=1', 'b=2'], server: 'm' });
});

it('[O-04] what goes out in front of a head does not go into a stream that heartbeat has opened', async () => {
  const opened = gate();
  const parse: Step = (req, _res, next) => {
    req.body = { ...CHAT, stream: true };
    next();
  };
  const handler: Step = async (_req, res) => {
    await opened.opened;
    await new Promise<void>((resolve) => res.writeEarlyHints({ link: '</a>; rel=preload' }, resolve));
    res.writeProcessing();
    res.writeContinue();
    res.writeHead(200, SSE).end(STREAM);
  };
  const steps = [parse, heartbeat({ openAfterMs: 5, intervalMs: 60_000 }) as Step, handler];
  const received = await withHost(steps, async ({ url }) => {
    const asking = request(`${url}/chat/completions`, { method: 'POST' }).end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    opened.open();
    return text(answer);
  });
  expect(received).toBe(`: heartbeat\n\n${STREAM}`);
});

/** Gives the answer up when its first bytes have come. */
async function leave(stream: ClientHttp2Stream): Promise<string> {
  await once(stream, 'data');
  const closed = once(stream, 'close');
  stream.close(constants.NGHTTP2_CANCEL);
  await closed;
  return '';
}

describe('over HTTP/2', () => {
  /** The answer to a chat completion of a host on HTTP/2, and whatever the process would have died of. */
  async function received(steps: readonly Step[], body: object, seesHead = () => {}, leaves = false) {
    const failures: unknown[] = [];
    const server = createServer((req, res) => {
      const walk = (at: number): void => {
        const next = (error?: unknown) => (error === undefined ? walk(at + 1) : void failures.push(error));
        // The casts: HTTP/2 of Node has the same methods.
        steps[at]?.(req as unknown as HostRequest, res as unknown as ServerResponse, next);
      };
      walk(0);
    });
    const sessions = new Set<ServerHttp2Session>();
    server.on('session', (session) => void sessions.add(session));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const stream = client.request({ ':method': 'POST', ':path': '/v1/chat/completions', ...JSON_TYPE });
    stream.end(JSON.stringify(body));
    const [headers] = await once(stream, 'response');
    seesHead();
    const answer = leaves ? await leave(stream) : await text(stream);
    client.destroy();
    for (const session of sessions) session.destroy();
    server.close();
    return { status: headers[':status'], text: answer, failures };
  }

  it.each([
    ['JSON', CHAT],
    ['a stream', { ...CHAT, stream: true }],
  ])('[X-01] runTools calls its handler, for %s', async (_, body) => {
    const handler: Step = (_req, res) => {
      res.setHeader('x-server', 'm');
      if ('stream' in body) res.writeHead(200, SSE).end(STREAM);
      else res.writeHead(200, JSON_TYPE).end(HELLO);
    };
    const { status, text: answer, failures } = await received([runTools({ tools, handler }) as Step], body);
    expect([status, failures]).toEqual([200, []]);
    expect(answer).toMatch(/Hel/);
  });

  it.each([
    ['the handler of runTools', (handler: Step) => [runTools({ tools, handler })]],
    ['a handler behind guard and recordTurn', (handler: Step) => [guard({ guards }), recordTurn({ store }), handler]],
  ])('[P-10] a client that leaves is no error of the host, for %s', async (_, stepsFor) => {
    const closed = gate();
    const handler: Step = (_req, res) => {
      res.once('close', closed.open);
      res.writeHead(200, SSE).write(STREAM.slice(0, STREAM.indexOf('\n\n') + 2));
    };
    // The cast: middlewares are steps.
    const { status, failures } = await received(stepsFor(handler) as Step[], { ...CHAT, stream: true }, () => {}, true);
    await closed.opened;
    await new Promise(setImmediate);
    expect([status, failures]).toEqual([200, []]);
  });

  it('[O-04] heartbeat opens the stream of a silent handler', async () => {
    const parse: Step = (req, _res, next) => {
      req.body = { ...CHAT, stream: true };
      next();
    };
    const opened = gate();
    const handler: Step = async (_req, res) => {
      await opened.opened;
      res.writeHead(200, SSE).end(STREAM);
    };
    const steps = [parse, heartbeat({ openAfterMs: 5, intervalMs: 60_000 }) as Step, handler];
    expect(await received(steps, CHAT, opened.open)).toEqual({
      status: 200,
      text: `: heartbeat\n\n${STREAM}`,
      failures: [],
    });
  });
});
