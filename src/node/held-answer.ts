/** Lets an answer pass, but for its end, which waits until what is in it is kept: a fast client may continue it at once. */
import type { ServerResponse } from 'node:http';

/** Watches one answer. */
export interface AnswerWatch {
  /** Whether the client can do nothing with the answer before its end, so that all of it is held back. */
  readonly whole: boolean;
  /** Takes bytes in the order of the answer; whether the rest has to wait for `settle`. */
  take(bytes: Uint8Array): boolean;
  /** Keeps what was read. Never rejects. */
  settle(): Promise<void>;
}

/** Watches what is written into the response from now on. */
export function holdEnd(res: ServerResponse, watch: AnswerWatch): void {
  const { write, end } = res;
  const waiting: (() => void)[] = [];
  let held = false;

  const release = () => {
    res.write = write;
    res.end = end;
    // Nobody reads any more, and a destroyed response takes a write for an error.
    if (res.destroyed) return;
    for (const each of waiting.splice(0)) each();
    if (!res.writableEnded && !res.writableNeedDrain) res.emit('drain');
  };
  const hold = () => {
    held = true;
    watch.settle().then(release);
  };

  // The casts: the overloads of both are passed on as they come.
  res.write = function heldWrite(...given: unknown[]) {
    const pass = () => write.apply(res, given as Parameters<typeof write>);
    if (!held && watch.take(bytesOf(given))) hold();
    else if (!held && !watch.whole) return pass();
    waiting.push(pass);
    return watch.whole && !held;
  } as typeof write;
  res.end = function heldEnd(...given: unknown[]) {
    if (!held) {
      watch.take(bytesOf(given));
      hold();
    }
    waiting.push(() => end.apply(res, given as unknown as Parameters<typeof end>));
    return res;
  } as typeof end;
}

/** The bytes of a chunk, which may come as text of some encoding, or not at all. */
function bytesOf([chunk, encoding]: readonly unknown[]): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk !== 'string') return new Uint8Array();
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
}
