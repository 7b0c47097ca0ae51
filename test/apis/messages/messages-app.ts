/** An app with a `messagesRouter` over a fake model server, and how clients ask it. */

import express from 'express';
import { chatCompletionsUpstream, memoryStore, messagesRouter, type RouterOptions } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { held } from '../../support/held.ts';
import { type Listening, listening } from '../../support/listening.ts';

/** The key that the app sends to its model server, and that no client may ever see. */
export const UPSTREAM_KEY = 'sk-test-1234567890abcdef';

/** A running app and its model server. */
export interface MessagesApp {
  /** Origin and mount path. */
  readonly url: string;
  readonly fake: FakeUpstream;
  readonly router: ReturnType<typeof messagesRouter>;
  readonly server: Listening['server'];
  close(): Promise<void>;
}

/** Starts both; nothing is tried twice. Without an upstream of its own it speaks Chat Completions to the fake. */
export async function startMessages(
  options: RouterOptions | ((fake: FakeUpstream) => RouterOptions) = {},
): Promise<MessagesApp> {
  const fake = await startFakeUpstream();
  const chat = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: UPSTREAM_KEY, retries: 0 });
  const own = typeof options === 'function' ? options(fake) : options;
  const router = messagesRouter({ upstream: chat, store: memoryStore(), ...own });
  const { url, server, close } = await listening(express().use('/v1', router));
  const stop = async () => void (await Promise.all([close(), chat.close?.(), own.upstream?.close?.(), fake.close()]));
  return { url: `${url}/v1`, fake, router, server, close: stop };
}

export const USER = { role: 'user', content: 'Go.' } as const;
const QUESTION = { model: 'recorded-model', max_tokens: 1024, messages: [USER] };

/** Posts to `/messages`; an object goes over the default question, a string is sent as it is. */
export function ask(
  url: string,
  body: JsonObject | string = {},
  {
    headers = {},
    path = '/messages',
  }: { readonly headers?: Readonly<Record<string, string>>; readonly path?: string } = {},
): Promise<Response> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify({ ...QUESTION, ...body }),
  };
  return held(fetch(url + path, init));
}

/** A JSON answer. */
export async function askJson(url: string, body: JsonObject | string = {}, extra: Parameters<typeof ask>[2] = {}) {
  const answer = await ask(url, body, extra);
  // The cast: every answer of this API is an object.
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Message };
}

/** A block as the wire has it. */
export type Block = JsonObject & { readonly type: string };

/** What tests read of a message, or of an error. */
export interface Message extends JsonObject {
  readonly content: readonly Block[];
  readonly stop_reason: string | null;
  readonly usage: JsonObject;
  readonly error: { readonly type: string; readonly message: string };
}

/** One event of a stream. */
export interface StreamEvent extends JsonObject {
  readonly type: string;
}

/** The events of a stream. Throws unless the answer is a 200 of whole frames whose names are their types. */
export async function askEvents(url: string, body: JsonObject = {}): Promise<readonly StreamEvent[]> {
  const answer = await ask(url, { stream: true, ...body });
  const text = await answer.text();
  const type = answer.headers.get('content-type');
  if (answer.status !== 200 || type !== 'text/event-stream') throw new Error(`Got ${answer.status} ${type}:\n${text}`);
  return eventsIn(text);
}

/** The events in a text of whole frames. */
export function eventsIn(text: string): readonly StreamEvent[] {
  if (!text.endsWith('\n\n')) throw new Error(`Not whole frames: ${text.slice(-80)}`);
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((frame) => {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(frame) ?? [];
      const event = JSON.parse(data ?? 'null') as StreamEvent | null;
      if (!event || event.type !== name) throw new Error(`Not a frame of this API: ${frame}`);
      return event;
    });
}

/** What the model server received last. */
export function lastBody({
  fake,
}: Pick<MessagesApp, 'fake'>): JsonObject & { readonly messages: readonly JsonObject[] } {
  return fake.requests.at(-1)?.body as ReturnType<typeof lastBody>;
}
