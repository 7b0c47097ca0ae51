/** A host on bare node:http: middlewares in a row, the last one a handler of its own, and a client to ask it. */

import type { ServerResponse } from 'node:http';
import type { StoredResponse } from '../../../src/index.ts';
import { memoryStore, type ResponseStore } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { listening } from '../../support/listening.ts';

/** What stands in the row. */
export type Step = (req: HostRequest, res: ServerResponse, next: (error?: unknown) => void) => unknown;

/** A request, with the body that a middleware has read. */
export type HostRequest = import('node:http').IncomingMessage & { body?: unknown };

/** A running host. */
export interface Host {
  readonly url: string;
  /** What was thrown, or passed to `next`; each was answered with a 500 where nothing was answered yet. */
  readonly errors: readonly unknown[];
  /** Posts an object as JSON, `/chat/completions` or `/responses` by what is in it, or elsewhere. */
  post(body: JsonObject, init?: RequestInit & { readonly path?: string }): Promise<Response>;
}

/** Runs with a host on a port of its own, and closes it. */
export async function withHost<Result>(steps: readonly Step[], run: (host: Host) => Promise<Result>): Promise<Result> {
  const errors: unknown[] = [];
  const { url, close } = await listening((req, res) => pass(steps, req, res, errors));
  try {
    return await run({ url, errors, post: (body, init) => post(url, body, init) });
  } finally {
    await close();
  }
}

function pass(steps: readonly Step[], req: HostRequest, res: ServerResponse, errors: unknown[]): void {
  const fail = (error: unknown) => {
    errors.push(error);
    if (res.headersSent) res.destroy();
    else res.writeHead(500, { 'content-type': 'text/plain' }).end('the host failed');
  };
  const walk = (at: number): void => {
    const next = (error?: unknown) => (error === undefined ? walk(at + 1) : fail(error));
    const step = steps[at] ?? nothingHere;
    new Promise((resolve) => resolve(step(req, res, next))).catch(fail);
  };
  walk(0);
}

const nothingHere: Step = (_req, res) => res.writeHead(404).end('nothing here');

function post(url: string, body: JsonObject, { path, ...init }: RequestInit & { readonly path?: string } = {}) {
  const place = path ?? ('messages' in body ? '/chat/completions' : 'input' in body ? '/responses' : '/elsewhere');
  const headers = { 'content-type': 'application/json', ...(init.headers as Record<string, string> | undefined) };
  return fetch(`${url}${place}`, { method: 'POST', body: JSON.stringify(body), ...init, headers });
}

/** A store that shows what was put into it. */
export interface WatchedStore extends ResponseStore {
  readonly puts: readonly StoredResponse[];
}

/** A memory store; each put waits for `before`. */
export function watchedStore(before: () => void | Promise<void> = () => {}): WatchedStore {
  const puts: StoredResponse[] = [];
  const { get, delete: remove, put } = memoryStore();
  return {
    name: 'watched',
    puts,
    get,
    delete: remove,
    async put(response) {
      puts.push(response);
      await before();
      await put(response);
    },
  };
}

/** Asks the host something else and waits for the answer: long enough for what it has written before to arrive. */
export async function otherTraffic(url: string): Promise<void> {
  for (const _ of [1, 2, 3]) await (await fetch(`${url}/other`)).text();
}

/** A question in each dialect. */
export const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Go.' }] } as const;
export const REQUESTED = { model: 'm', input: 'Go.' } as const;

/** A response as a Responses server answers it. */
export function responseOf(text: string, id = 'resp_theirs', more: JsonObject = {}): JsonObject {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  const output = [{ type: 'message', id: `msg_${id}`, status: 'completed', role: 'assistant', content }];
  return { id, object: 'response', created_at: 1, status: 'completed', model: 'm', tools: [], output, ...more };
}

/** The same as a stream. */
export function responseStream(text: string, id?: string): string {
  const response = responseOf(text, id);
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_text.delta', delta: text },
    { type: 'response.completed', response },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

/** The assistant's text in what was kept. */
export function textIn({ output }: Pick<StoredResponse, 'output'>): string {
  // The cast: what is kept of an answer are items.
  const messages = output as readonly { readonly content?: readonly { readonly text?: string }[] }[];
  return messages.flatMap(({ content = [] }) => content.map(({ text = '' }) => text)).join('');
}
