/** An app over a fake model server, and shortcuts that show what both sides received. */

import {
  type ChatCompletionsOptions,
  chatCompletionsUpstream,
  type Item,
  type Note,
  type RouterOptions,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from './app.ts';

/** A response, as far as a test looks into it by name. */
export interface Resource extends JsonObject {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Item[];
}

/** A JSON answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Resource;
}

/** One frame of an event stream; the last one's data is `[DONE]`. */
export interface Frame {
  readonly event: string | undefined;
  readonly data: JsonObject | '[DONE]';
}

/** What a test may change: the router's options, the upstream's under `chat`, and the mount path. */
export interface RequestAppSetup extends Omit<RouterOptions, 'hooks'> {
  readonly chat?: ChatCompletionsOptions;
  readonly mount?: string;
}

/** A running app and its model server. */
export interface RequestApp extends App {
  readonly upstream: FakeUpstream;
  /** The app's notes so far. */
  readonly notes: readonly Note[];
  /** Posts to `/responses`; `model` is filled in. */
  create(body: JsonObject): Promise<Answer>;
  /** The raw text of the answer to the same with `stream: true`. */
  streamed(body: JsonObject): Promise<string>;
  /** Sends a GET request below the mount path. */
  get(path: string): Promise<Answer>;
  remove(path: string): Promise<Answer>;
  /** The body of the last request that the model server received. */
  requested(): JsonObject & { readonly messages: readonly JsonObject[] };
}

/** Starts both on free ports of 127.0.0.1. */
export async function startRequestApp({ chat, mount, ...options }: RequestAppSetup = {}): Promise<RequestApp> {
  const notes: Note[] = [];
  const upstream = await startFakeUpstream();
  const asking = chatCompletionsUpstream({ baseURL: upstream.baseURL, apiKey: 'upstream-key', retries: 0, ...chat });
  const hooks = { onNote: (note: Note) => void notes.push(note), onError: () => {} };
  const app = await startApp({
    options: { upstream: asking, ...options, hooks },
    ...(mount === undefined ? {} : { mount }),
  });
  const url = app.url.replace(/\/$/, '');
  const post = (body: JsonObject) =>
    fetch(`${url}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fake-model', ...body }),
    });

  return {
    ...app,
    url,
    upstream,
    notes,
    create: async (body) => answerOf(await post(body)),
    streamed: async (body) => (await post({ ...body, stream: true })).text(),
    get: async (path) => answerOf(await fetch(`${url}${path}`)),
    remove: async (path) => answerOf(await fetch(`${url}${path}`, { method: 'DELETE' })),
    // The cast: what these tests send upstream is a chat request.
    requested: () => upstream.requests.at(-1)?.body as ReturnType<RequestApp['requested']>,
    async close() {
      await app.close();
      await asking.close?.();
      await upstream.close();
    },
  };
}

/**
 * Starts an app before each test of a file, gives it to `use`, and closes it after the test. Returns a function that
 * replaces the app of a running test by one with other options.
 */
export function requestAppPerTest(
  use: (app: RequestApp) => void,
  setup: () => RequestAppSetup = () => ({}),
): (setup: RequestAppSetup) => Promise<void> {
  let app: RequestApp;
  const start = async (chosen: RequestAppSetup) => {
    app = await startRequestApp(chosen);
    use(app);
  };
  beforeEach(() => start(setup()));
  afterEach(() => app.close());
  return async (chosen) => {
    await app.close();
    await start(chosen);
  };
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  // The cast: only answers of this API are read.
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as Resource };
}

/** The frames of a stream. Throws unless each one is whole, LF only, with at most one `event:` and one `data:` line. */
export function framesOf(text: string): readonly Frame[] {
  if (!text.endsWith('\n\n')) throw new Error(`The stream ends inside a frame: ${text.slice(-80)}`);
  return text.slice(0, -2).split('\n\n').filter(isEvent).map(frameOf);
}

function isEvent(frame: string): boolean {
  return !frame.startsWith(':');
}

function frameOf(frame: string): Frame {
  const [, event, data] = /^(?:event: (.+)\n)?data: (.+)$/.exec(frame) ?? [];
  if (data === undefined) throw new Error(`Not a frame: ${JSON.stringify(frame)}`);
  return { event, data: data === '[DONE]' ? data : (JSON.parse(data) as JsonObject) };
}

/** The events of a stream, without `[DONE]`. */
export function eventsOf(text: string): readonly JsonObject[] {
  return framesOf(text).flatMap(({ data }) => (data === '[DONE]' ? [] : [data]));
}

/** The response in the last event of a stream. */
export function finalOf(text: string): Resource {
  // The cast: the last event of every stream of this API carries its response.
  return eventsOf(text).at(-1)?.response as Resource;
}

/** The text with its response's random id part as `SEED` and its times as 1. */
export function masked(text: string): string {
  const seed = /resp_([0-9a-f]{32})/.exec(text)?.[1];
  const named = seed === undefined ? text : text.replaceAll(seed, 'SEED');
  return named.replace(/"(created_at|completed_at)":\d+/g, '"$1":1');
}

/** The value, masked likewise. */
export function maskedValue(value: unknown): unknown {
  return JSON.parse(masked(JSON.stringify(value)));
}
