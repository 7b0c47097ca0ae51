/** An app with a `chatCompletionsRouter` over a fake model server, and how clients ask it. */

import type { Server } from 'node:http';
import express from 'express';
import OpenAI from 'openai';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  type DrainableRouter,
  functionTools,
  memoryStore,
  type RouterOptions,
} from '../../../src/index.ts';
import type { Limits } from '../../../src/ports/limits.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { held } from '../../support/held.ts';
import { withLimits } from '../../support/limits.ts';
import { listening } from '../../support/listening.ts';

/** The key that the app sends to its model server, and that no client may ever see. */
export const UPSTREAM_KEY = 'sk-test-1234567890abcdef';

/** A running app and its model server. */
export interface ChatApp {
  /** Origin and mount path. */
  readonly url: string;
  readonly fake: FakeUpstream;
  readonly router: DrainableRouter;
  readonly server: Server;
  /** Stops the app, its pool and the model server. */
  close(): Promise<void>;
}

/** Starts both on free ports; nothing is tried twice, so that each model call is one request to the model server. */
export async function startChatApp(options: RouterOptions = {}, settings: Partial<Limits> = {}): Promise<ChatApp> {
  const fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: UPSTREAM_KEY, retries: 0 });
  const router = withLimits(settings, (limits) =>
    chatCompletionsRouter({ upstream, store: memoryStore(), limits, ...options }),
  );
  const { url, server, close } = await listening(express().use('/v1', router));
  const stop = async () => void (await Promise.all([close(), upstream.close?.(), fake.close()]));
  return { url: `${url}/v1`, fake, router, server, close: stop };
}

/** What the user says in the question of a test that is only after the answer. */
export const USER = { role: 'user', content: 'Go.' } as const;
/** That question as a whole request. */
export const QUESTION = { model: 'recorded-model', messages: [USER] };

/** As openai-node authorizes itself here, so that a bare request is of the same scope. */
export const AS_OPENAI = { headers: { authorization: 'Bearer client-key' } };

/** What a request may have besides its body. */
export interface Extra {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Posts to `/chat/completions`; an object goes over the default question, a string is sent as it is. */
export function ask(url: string, body: JsonObject | string = {}, { headers, ...extra }: Extra = {}): Promise<Response> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify({ ...QUESTION, ...body }),
    ...extra,
  };
  return held(fetch(`${url}/chat/completions`, init));
}

/** A JSON answer, with its text as it came. */
export async function askJson(url: string, body: JsonObject | string = {}, extra: Extra = {}) {
  const answer = await ask(url, body, extra);
  const text = await answer.text();
  // The cast: every answer of this API is an object.
  return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) as JsonObject };
}

/** The data of a stream, `[DONE]` included. Throws unless the answer is a 200 of whole frames. */
export async function askData(url: string, body: JsonObject = {}, extra: Extra = {}): Promise<readonly string[]> {
  const answer = await ask(url, { stream: true, ...body }, extra);
  const text = await answer.text();
  const type = answer.headers.get('content-type');
  if (answer.status !== 200 || type !== 'text/event-stream') throw new Error(`Got ${answer.status} ${type}:\n${text}`);
  return dataIn(text);
}

/** The data of the frames. Throws unless each is a comment or `data:` lines, framed by LF alone. */
export function dataIn(text: string): readonly string[] {
  if (!text.endsWith('\n\n')) throw new Error(`The stream ends inside a frame: ${text.slice(-80)}`);
  const frames = text.slice(0, -2).split('\n\n');
  return frames.filter((frame) => !frame.startsWith(':')).map(dataOf);
}

function dataOf(frame: string): string {
  const lines = frame.split('\n');
  if (!lines.every((line) => line.startsWith('data: '))) throw new Error(`Not a frame: ${JSON.stringify(frame)}`);
  return lines.map((line) => line.slice('data: '.length)).join('\n');
}

/** The chunks of a stream. Throws unless it ends with `[DONE]`. */
export async function askChunks(url: string, body: JsonObject = {}): Promise<readonly JsonObject[]> {
  const data = await askData(url, body);
  if (data.at(-1) !== '[DONE]') throw new Error(`The stream ends with ${data.at(-1)}`);
  return data.slice(0, -1).map((each) => JSON.parse(each) as JsonObject);
}

/** openai-node's client, without retries of its own. */
export function openaiClient(url: string): OpenAI {
  return new OpenAI({ baseURL: url, apiKey: 'client-key', maxRetries: 0 });
}

/** What an answer comes down to for a client, whatever form it had. */
export interface Reported {
  readonly content: string | null;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish: string;
}

/** What openai-node makes of the stream. */
export async function streamed(url: string, body: JsonObject = {}): Promise<Reported> {
  return reportedIn(
    await openaiClient(url)
      .chat.completions.stream({ ...QUESTION, ...body })
      .finalChatCompletion(),
  );
}

/** What openai-node makes of the JSON answer. */
export async function whole(url: string, body: JsonObject = {}): Promise<Reported> {
  return reportedIn(await openaiClient(url).chat.completions.create({ ...QUESTION, ...body, stream: false }));
}

/** What the simplest of clients makes of the stream: deltas of one number belong together. */
export async function gathered(url: string, body: JsonObject = {}): Promise<Reported> {
  const choices = (await askChunks(url, body)).flatMap(({ choices }) => choices as readonly StreamedChoice[]);
  const calls = new Map<number, Reported['calls'][number]>();
  for (const { index, id, function: called } of choices.flatMap(({ delta }) => delta.tool_calls ?? [])) {
    const before = calls.get(index) ?? { id: '', name: '', arguments: '' };
    const { name = '', arguments: json } = called;
    calls.set(index, {
      id: before.id || (id ?? ''),
      name: before.name || name,
      arguments: before.arguments + (json ?? ''),
    });
  }
  const content = choices.map(({ delta }) => delta.content ?? '').join('') || null;
  return { content, calls: [...calls.values()], finish: String(choices.at(-1)?.finish_reason) };
}

interface StreamedChoice {
  readonly delta: {
    readonly content?: string | null;
    readonly tool_calls?: readonly {
      readonly index: number;
      readonly id?: string;
      readonly function: { readonly name?: string; readonly arguments?: string | null };
    }[];
  };
  readonly finish_reason: string | null;
}

function reportedIn({ choices }: OpenAI.Chat.ChatCompletion): Reported {
  const [choice] = choices;
  if (!choice || choices.length > 1) throw new Error(`One choice is expected, not ${choices.length}`);
  const { content, tool_calls = [] } = choice.message;
  const calls = tool_calls.map((call) => {
    if (call.type !== 'function') throw new Error(`A call of type ${call.type}`);
    return { id: call.id, name: call.function.name, arguments: call.function.arguments };
  });
  return { content, calls, finish: choice.finish_reason };
}

/** The body of a request to the model server, as far as tests look into it by name. */
export function requestedOf({ fake }: Pick<ChatApp, 'fake'>, index = -1) {
  // The cast: what this package posts is a chat request.
  return fake.requests.at(index)?.body as JsonObject & { readonly messages: readonly JsonObject[] };
}

const UNCALLED = functionTools({ nobody_calls_this: { description: 'Does nothing.', execute: () => 'nothing' } });

/** An app without tools and one with a tool that no recording calls, for the tests of one `describe`. */
export function plainAndTooled(use: (apps: { readonly plain: ChatApp; readonly tooled: ChatApp }) => void): void {
  const apps: ChatApp[] = [];
  beforeAll(async () => {
    const [plain, tooled] = [await startChatApp(), await startChatApp({ tools: UNCALLED })];
    apps.push(plain, tooled);
    use({ plain, tooled });
  });
  afterAll(() => Promise.all(apps.map((app) => app.close())));
}
