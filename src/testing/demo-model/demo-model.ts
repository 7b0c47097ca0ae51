/** A scripted Chat Completions server on this machine, so that an app runs without a model and without a key. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type ChatRequest, demoReply } from './demo-reply.ts';
import { completion, streamFrames } from './demo-wire.ts';

/** The pause between two words of a stream, in milliseconds. */
const PACE_MS = 5;

/** A running demo model. */
export interface DemoModel {
  /** Such as `http://127.0.0.1:40123/v1`. */
  readonly baseURL: string;
  /** Stops the server and its connections. */
  close(): Promise<void>;
}

/**
 * Starts the demo model on a free port of the loopback address. The same request always gets the same reply: it repeats what the
 * user wrote, calls tools that the prompt mentions, and fills in JSON Schemas.
 */
export async function startDemoModel(): Promise<DemoModel> {
  const server = createServer((request, response) => {
    answerChat(request, response).catch(() =>
      sendError(response, 400, 'The request is not a chat completion request.'),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function close(): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  // The cast: a server that listens on TCP has an address, and not the name of a pipe.
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close };
}

const MODELS = { object: 'list', data: [{ id: 'demo', object: 'model', created: 1_793_491_200, owned_by: 'demo' }] };

async function answerChat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} ${request.url}`;
  if (route === 'GET /v1/models') return sendJson(response, 200, MODELS);
  if (route !== 'POST /v1/chat/completions') return sendError(response, 404, `There is no ${route}.`);
  // The cast: only this machine sends requests, and a missing field makes a 400.
  const chat = (await json(request)) as ChatRequest;
  const reply = demoReply(chat);
  if (!chat.stream) return sendJson(response, 200, completion(chat.model, reply));
  await sendStream(response, streamFrames(chat.model, reply));
}

async function sendStream(response: ServerResponse, frames: Iterable<string>): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const frame of frames) {
    if (response.destroyed) return;
    response.write(frame);
    await pause(PACE_MS);
  }
  response.end();
}

function sendError(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy();
  sendJson(response, status, { error: { message, type: 'invalid_request_error', param: null, code: null } });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
