/** An app that shows the response to an answer of a model server, and the notes for the host. */
import fc from 'fast-check';
import { type ApiError, type ChatCompletionsOptions, chatCompletionsUpstream, type Note } from '../../src/index.ts';
import { type FakeAnswer, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from './app.ts';
import { eventStream, UPSTREAM_KEY } from './replay.ts';
import { askForStream, type HttpReply, post, withoutIdentity } from './responses-client.ts';
import type { WireResponse } from './wire-schemas.ts';

/** The result of one answer of the model server. */
export interface Became {
  readonly response: WireResponse;
  /** The notes that the host received. */
  readonly notes: readonly Note[];
}

/** The app, which collects the host's notes of each request. */
export interface ProviderApp {
  readonly fake: FakeUpstream;
  readonly app: App;
  readonly notes: Note[];
  readonly errors: ApiError[];
  /** Streams the answer. Throws if it is refused. */
  of(answer: FakeAnswer): Promise<Became>;
  /** Requests it as JSON, refused or not. */
  requested(answer: FakeAnswer, body?: object): Promise<HttpReply>;
  close(): Promise<void>;
}

/** Starts it. `basePath` is the path of the upstream's URL. */
export async function startProviderApp(options: ChatCompletionsOptions = {}, basePath = '/v1'): Promise<ProviderApp> {
  const fake = await startFakeUpstream();
  const notes: Note[] = [];
  const errors: ApiError[] = [];
  const baseURL = new URL(basePath, fake.baseURL).href;
  const upstream = chatCompletionsUpstream({ baseURL, apiKey: UPSTREAM_KEY, retries: 0, ...options });
  const hooks = {
    onNote: (note: Note) => void notes.push(note),
    onError: (error: ApiError) => void errors.push(error),
  };
  const app = await startApp({ options: { upstream, hooks } });
  const forget = () => [notes, errors].map((list) => list.splice(0));

  return {
    fake,
    app,
    notes,
    errors,
    async of(answer) {
      forget();
      fake.reply(answer);
      const { response } = await askForStream(app.url);
      return { response, notes: [...notes] };
    },
    requested(answer, body = {}) {
      forget();
      fake.reply(answer);
      return post(app.url, { ...body });
    },
    async close() {
      await app.close();
      await upstream.close?.();
      await fake.close();
    },
  };
}

const SEED = 20_260_424;

/** Longer answers come byte by byte where the decoder is tested by itself: over HTTP each byte is a turn of the event loop. */
const MOST_BYTES = 4096;

/** The answer whole, byte by byte if it is short, and three times in random pieces. */
export function waysOf(answer: FakeAnswer): readonly FakeAnswer[] {
  const length = Buffer.byteLength(String(answer.body));
  const cuts = fc.array(fc.integer({ min: 1, max: length - 1 }), { minLength: 24, maxLength: 24 });
  const random = fc.sample(cuts, { numRuns: 3, seed: SEED + length }).map((split) => ({ ...answer, split }));
  return [answer, ...(length > MOST_BYTES ? [] : [{ ...answer, split: 'byte' } as const]), ...random];
}

/** The result of the answer. Throws unless it is the same however the bytes are cut. */
export async function becameOf(app: ProviderApp, answer: FakeAnswer): Promise<Became> {
  const [first, ...others] = waysOf(answer);
  const became = await app.of(first as FakeAnswer);
  for (const way of others) {
    const other = await app.of(way);
    expect([withoutIdentity(other.response), other.notes]).toEqual([withoutIdentity(became.response), became.notes]);
  }
  return became;
}

/** A body with the content type of JSON. */
export function jsonBody(body: unknown): FakeAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { body: text, headers: { 'content-type': 'application/json' } };
}

/** A stream of chunks, each with these fields, and `[DONE]`. */
export function chunkStream(...chunks: readonly object[]): FakeAnswer {
  return eventStream([...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join(''));
}

/** A chunk with one delta. */
export function deltaChunk(delta: object, rest: object = {}, choice: object = {}): object {
  return { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, ...choice }], ...rest };
}

/** The same as a whole answer. */
export function completion(message: object, rest: object = {}, choice: object = {}): object {
  const written = { role: 'assistant', content: null, ...message };
  return { id: 'c', object: 'chat.completion', choices: [{ index: 0, message: written, ...choice }], ...rest };
}
