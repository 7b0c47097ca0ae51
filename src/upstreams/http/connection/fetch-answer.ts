/** One request to a server, through the runtime's own `fetch`: for Bun, whose `undici` cannot dispatch. */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { Dispatcher } from 'undici';
import { streamBytes } from '../../../streams/bytes.ts';
import type { Answered } from './dispatch.ts';
import type { Stop } from './watchdog.ts';

/** Resolves when the head of the response has arrived. */
export async function fetchAnswer(
  origin: string,
  { method, path, headers, body }: Dispatcher.DispatchOptions,
  stop: Stop,
): Promise<Answered> {
  if (stop.aborted) throw stop.reason;
  const stopped = new AbortController();
  stop.running = { stopped: (reason) => stopped.abort(reason) };
  // The casts: this package's bodies are text or null, and its headers an object of texts.
  const init = { method, headers: headers as Record<string, string>, body: body as string | null };
  const answer = await fetch(new URL(path, origin), { ...init, redirect: 'manual', signal: stopped.signal });
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    // The cast: the types of the web and of Node describe the same class.
    body: streamBytes(answer.body ? Readable.fromWeb(answer.body as ReadableStream) : Readable.from([])),
  };
}
