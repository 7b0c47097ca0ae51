/** An app over a model server that replays recordings. */
import { chatCompletionsUpstream } from '../../src/index.ts';
import { type FakeAnswer, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { startApp } from './app.ts';
import { readSharedBytes } from './shared.ts';

/** The key that the app sends to its model server, and that no client may ever see. */
export const UPSTREAM_KEY = 'sk-test-1234567890abcdef';

/** The address of the app, and the model server behind it. */
export interface Replay {
  readonly url: string;
  readonly fake: FakeUpstream;
  /** Stops the app, its pool and the model server. */
  close(): Promise<void>;
}

/** Starts both. Nothing is retried, so that each request is one request to the model server. */
export async function startReplay(): Promise<Replay> {
  const fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: UPSTREAM_KEY, retries: 0 });
  const app = await startApp({ options: { upstream } });

  async function close(): Promise<void> {
    await app.close();
    await upstream.close?.();
    await fake.close();
  }

  return { url: app.url, fake, close };
}

/** The bytes of a recorded stream, as a reply. */
export function recordedStream(name: string): FakeAnswer {
  return eventStream(readSharedBytes(`corpus/chat-stream/${name}.sse`));
}

/** Any bytes, as a reply with the content type of an event stream. */
export function eventStream(body: FakeAnswer['body']): FakeAnswer {
  return { body, headers: { 'content-type': 'text/event-stream' } };
}

/** The bytes of a recorded answer that was not streamed, as a reply. */
export function recordedJson(name: string): FakeAnswer {
  return { body: readSharedBytes(`corpus/chat-json/${name}.json`), headers: { 'content-type': 'application/json' } };
}

/** The reply with its bytes rewritten as text. */
export function rewritten(reply: FakeAnswer, rewrite: (text: string) => string): FakeAnswer {
  return { ...reply, body: rewrite(String(reply.body)) };
}
