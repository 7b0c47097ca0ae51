/** What the tests of `passThroughRouter` share: model servers that keep what they receive, and apps in front of them. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { buffer } from 'node:stream/consumers';
import express from 'express';
import OpenAI from 'openai';
import {
  chatCompletionsUpstream,
  type PassThroughOptions,
  passThroughRouter,
  type Upstream,
} from '../../../src/index.ts';
import { type Listening, listening } from '../../support/listening.ts';

/** What a test has opened. */
export const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server that is closed after the test. */
export async function serving(listener: RequestListener): Promise<Listening> {
  const server = await listening(createServer(listener));
  closers.push(() => server.close());
  return server;
}

/** What a model server received. */
export interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** It answers, and keeps what it received. */
export interface ModelServer extends Listening {
  readonly received: Received[];
  readonly upstream: Upstream;
}

/** A model server that answers as `answer` does, or with an embedding. */
export async function modelServer(answer?: (received: Received, index: number) => ModelAnswer): Promise<ModelServer> {
  const received: Received[] = [];
  const server = await serving(async (req, res) => {
    const one = { method: req.method, url: req.url, headers: req.headers, body: await buffer(req) };
    received.push(one);
    const {
      status = 200,
      type = 'application/json',
      body,
      headers = {},
    } = answer?.(one, received.length - 1) ?? EMBEDDING;
    res.writeHead(status, { 'content-type': type, ...headers }).end(body);
  });
  const upstream = chatCompletionsUpstream({ baseURL: `${server.url}/v1`, apiKey: HOST_KEY, retries: 0 });
  closers.unshift(() => upstream.close());
  return { ...server, received, upstream };
}

/** What it answers; 200 and JSON by default. */
export interface ModelAnswer {
  readonly status?: number;
  readonly type?: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The host's key. */
export const HOST_KEY = 'sk-host-1234567890abcdef';
/** An embedding. */
export const EMBEDDING: ModelAnswer = {
  body: '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,1.0]}],"model":"e","usage":{"prompt_tokens":8,"total_tokens":8}}',
};

/** An app that passes on, and answers all else with 404 itself. */
export async function start(options: PassThroughOptions<express.Request>): Promise<{ url: string; client: OpenAI }> {
  const app = express().use('/v1', passThroughRouter({ logger: false, ...options }));
  app.use((_, res) => void res.status(404).send('The host answers.'));
  const { url } = await serving(app);
  return { url: `${url}/v1`, client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-client', maxRetries: 0 }) };
}

/** Posts JSON. */
export function post(
  url: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
}
