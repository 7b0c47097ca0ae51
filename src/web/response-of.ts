/** Makes a Web `Response` of a reply. */
import type { Reply } from '../protocol/reply.ts';

/** The client that receives a response. */
export interface Client {
  /** Aborted when the client has left, whichever side noticed it. */
  readonly left: AbortController;
  /** Aborted to cut the client off because it does not read. */
  readonly cutOff: AbortSignal;
}

/** Creates the response. If the host cancels the body, the client has left. */
export function responseOf({ status, headers, body }: Reply, client: Client): Response {
  return new Response(typeof body === 'string' ? body : streamOf(body, client), { status, headers });
}

/** The frames as bytes, no faster than they are read. */
function streamOf(frames: AsyncIterable<string>, { left, cutOff }: Client): ReadableStream<Uint8Array> {
  const source = frames[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // There may be no further pull.
        whenAborted(left.signal, () => void source.return?.().catch(() => {}));
        whenAborted(cutOff, () => controller.error(cutOff.reason));
      },
      async pull(controller) {
        const text = await nextText(source, left.signal);
        if (text === undefined) return controller.close();
        controller.enqueue(encoder.encode(text));
      },
      cancel: () => left.abort(new Error('The client left.')),
    },
    // Nothing is read before it is pulled.
    { highWaterMark: 0 },
  );
}

function whenAborted(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) return act();
  signal.addEventListener('abort', act, { once: true });
}

/** The next text that is not empty: an empty one only opens the stream. Undefined at the end and when the client leaves. */
async function nextText(source: AsyncIterator<string>, left: AbortSignal): Promise<string | undefined> {
  try {
    for (;;) {
      const { done, value } = await source.next();
      if (done || value !== '') return value;
    }
  } catch (error) {
    if (left.aborted) return undefined;
    throw error;
  }
}
