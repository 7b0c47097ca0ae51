/** Requests that a client sends one behind the other without waiting for an answer, and then leaves. */

import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import express, { type RequestHandler } from 'express';
import {
  chatCompletionsUpstream,
  functionTools,
  injectTools,
  openResponses,
  passThroughRouter,
  runTools,
} from '../../../src/index.ts';
import { gate } from '../../support/gate.ts';
import { type Listening, listening } from '../../support/listening.ts';

/** More than Node's limit of listeners. */
const COUNT = 12;
const CHUNK = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(20_000) } }] })}\n\n`;

/** A model server that begins answers and never ends them; it tells when all are asked for, and when all are closed. */
async function endlessModel() {
  const asked = gate();
  const closed = gate();
  let open = 0;
  let total = 0;
  const server = createServer((req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = () => {
      while (!res.destroyed && res.write(CHUNK));
    };
    res.on('drain', write).once('close', () => {
      open -= 1;
      if (open === 0) closed.open();
    });
    write();
    open += 1;
    total += 1;
    if (total === COUNT) asked.open();
  });
  return { asked: asked.opened, closed: closed.opened, model: await listening(server) };
}

/** Sends the request many times over one connection. */
function pipelined({ server }: Listening, path: string, body: object): Socket {
  const text = JSON.stringify(body);
  const head = [
    'Host: x',
    'Authorization: Bearer k',
    'Content-Type: application/json',
    `Content-Length: ${text.length}`,
  ];
  const request = `POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${text}`;
  // The cast: a server that listens on TCP has a port.
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
  socket.on('error', () => {}).write(request.repeat(COUNT));
  return socket;
}

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Go.' }] };

describe('requests that wait behind others of their connection', () => {
  it.each([
    ['/v1/responses', { model: 'm', input: 'Go.', stream: true }],
    ['/v1/chat/completions', { ...CHAT, stream: true }],
    ['/v1/messages', { ...CHAT, max_tokens: 9, stream: true }],
    ['/tools/chat/completions', { ...CHAT, stream: true }],
    ['/passed/completions', { model: 'm', prompt: 'Go.', stream: true }],
  ])('[P-10] are over at the model server when their client leaves: %s', async (path, body) => {
    const { asked, closed, model } = await endlessModel();
    const upstream = chatCompletionsUpstream({ baseURL: model.url, retries: 0 });
    const api = openResponses({ upstream, logger: false });
    const tools = functionTools({ look: { execute: () => 'seen' } });
    const server = express()
      .use('/v1', api.router)
      .use('/tools', runTools({ tools, upstream, logger: false }))
      .use('/passed', passThroughRouter({ upstream, logger: false }));
    const app = await listening(createServer(server));
    const warnings: string[] = [];
    const warn = ({ name }: Error) => void warnings.push(name);
    process.on('warning', warn);
    const socket = pipelined(app, path, body);
    await asked;
    socket.destroy();
    await Promise.all([once(socket, 'close'), closed]);
    await api.drain();
    expect(warnings).toEqual([]);
    process.off('warning', warn);
    await api.close();
    await Promise.all([app.close(), model.close()]);
  });

  it('[P-10] do not reach the model server when their client left during a look-up of the host', async () => {
    const began = gate();
    const lookedUp = gate();
    let total = 0;
    const model = await listening((_req, res) => {
      total += 1;
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write(CHUNK);
    });
    const api = openResponses({ upstream: chatCompletionsUpstream({ baseURL: model.url }), logger: false });
    let lookUps = 0;
    const lookUp: RequestHandler = async (_req, _res, next) => {
      lookUps += 1;
      if (lookUps === COUNT) began.open();
      await lookedUp.opened;
      next();
    };
    const app = await listening(createServer(express().use('/v1', express.json(), lookUp, api.router)));
    const socket = pipelined(app, '/v1/responses', { model: 'm', input: 'Go.', stream: true });
    await began.opened;
    const left = once(socket, 'close');
    socket.destroy();
    await left;
    // Only now has the server noticed it, too.
    await fetch(app.url);
    lookedUp.open();
    await (await fetch(`${app.url}/v1/unknown`)).text();
    await api.drain();
    await api.close();
    await Promise.all([app.close(), model.close()]);
    expect(total).toBe(0);
  });

  it('[K-11] need no connection, as those that adapters of platforms make', async () => {
    const req = Object.assign(new IncomingMessage(new Duplex() as Socket), { socket: null, body: CHAT });
    Object.assign(req, { method: 'POST', url: '/chat/completions', headers: { 'content-type': 'application/json' } });
    const res = new ServerResponse(req);
    const next = gate<unknown>();
    injectTools({ logger: false })(req, res, next.open);
    expect(await next.opened).toBeUndefined();
  });
});
