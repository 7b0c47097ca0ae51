/** Makes a Web `Response` of a reply. */
import type { Reply } from '../../protocol/reply.ts';
import type { UnreadAnswer } from '../../server/requests/body-room.ts';

/** The client that receives a response. */
interface Client {
  /** Aborted when the client has left, whichever side noticed it. */
  readonly left: AbortController;
  /** Aborted to cut the client off because it does not read. */
  readonly cutOff: AbortSignal;
  /** What is held for it between two reads. */
  readonly unread: UnreadAnswer;
}

/** Creates the response. If the host cancels the body, the client has left. */
export function toResponse({ status, headers, body, bytes }: Reply, client: Client): Response {
  const content = bytes ?? body;
  try {
    return new Response(typeof content === 'string' ? content : toByteStream(content, client), { status, headers });
  } catch (error) {
    // Such as a header that is not valid: nobody will read the content.
    client.left.abort(error);
    throw error;
  }
}

type Piece = string | Uint8Array;

/** The frames, or the content of a file, as bytes, no faster than they are read. */
function toByteStream(pieces: AsyncIterable<Piece>, { left, cutOff, unread }: Client): ReadableStream<Uint8Array> {
  const source = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // There may be no further pull.
        whenAborted(left.signal, () => {
          unread.end();
          source.return?.().catch(() => {});
        });
        whenAborted(cutOff, () => controller.error(cutOff.reason));
      },
      async pull(controller) {
        unread.end();
        const piece = await nextPiece(source, left.signal);
        if (piece === undefined) return controller.close();
        controller.enqueue(typeof piece === 'string' ? encoder.encode(piece) : piece);
        if (!left.signal.aborted) unread.begin(piece.length);
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

/** The next piece that is not empty: an empty one only opens the stream. Undefined at the end and when the client leaves. */
async function nextPiece(source: AsyncIterator<Piece>, left: AbortSignal): Promise<Piece | undefined> {
  try {
    for (;;) {
      const { done, value } = await source.next();
      if (done || value.length > 0) return value;
    }
  } catch (error) {
    if (left.aborted) return undefined;
    throw error;
  }
}
