/** Lets an answer pass, but for its end, which waits until what is in it is kept: a fast client may continue it at once. */
import type { ServerResponse } from 'node:http';
import { bytesOf } from './bytes-of.ts';
import type { Layer } from './event-stream.ts';

/** Watches one answer. */
export interface AnswerWatch {
  /** Whether the client can do nothing with the answer before its end, so that all of it is held back. */
  readonly whole: boolean;
  /** Takes bytes in the order of the answer; whether the rest has to wait for `settle`. */
  take(bytes: Uint8Array): boolean;
  /** Keeps what was read. Never rejects. */
  settle(): Promise<void>;
}

/** Watches what is written into the layer of the response from now on. */
export function holdEnd(res: ServerResponse, watch: AnswerWatch, layer: Layer = res): void {
  const { write, end } = layer;
  const waiting: (() => void)[] = [];
  let held = false;

  const release = () => {
    layer.write = write;
    layer.end = end;
    // Nobody reads any more, and a destroyed response takes a write for an error.
    if (res.destroyed) return;
    for (const each of waiting.splice(0)) each();
  };
  const hold = () => {
    held = true;
    // What the handler wrote may be what no response takes; that harms this connection alone, as it would unheld.
    new Promise<void>((resolve) => resolve(watch.settle())).then(release).catch((error: Error) => res.destroy(error));
  };

  // The casts: the overloads of both are passed on as they come.
  layer.write = function heldWrite(...given: unknown[]) {
    const pass = () => write.apply(res, given as Parameters<typeof write>);
    // A handler may wait until its bytes are taken before it goes on to the end.
    if (!held && watch.whole) callBack(given);
    if (!held && watch.take(bytesOf(given))) hold();
    else if (!held && !watch.whole) return pass();
    waiting.push(pass);
    // It is little, and a handler that was told to wait would not hear the `drain` of a compression in front.
    return true;
  } as typeof write;
  layer.end = function heldEnd(...given: unknown[]) {
    if (!held) {
      watch.take(bytesOf(given));
      hold();
    }
    waiting.push(() => end.apply(res, given as unknown as Parameters<typeof end>));
    return res;
  } as typeof end;
}

/** Calls the callback of a write at once, and takes it out of what is passed on. */
function callBack(given: unknown[]): void {
  const callback = given.at(-1);
  if (typeof callback !== 'function') return;
  given.pop();
  process.nextTick(() => callback(null));
}
