/** Lets an answer pass, but holds its end until the turn is stored: a fast client may continue it at once. */
import type { ServerResponse } from 'node:http';
import { bytesOf } from './bytes-of.ts';
import type { Layer } from './event-stream.ts';

/** Watches one answer. */
export interface AnswerWatch {
  /** Whether the client cannot use the answer before its end, so that all of it is held back. */
  readonly whole: boolean;
  /** Takes bytes in the order of the answer; returns whether the rest must wait for `settle`. */
  take(bytes: Uint8Array): boolean;
  /** Stores the turn. Never rejects. */
  settle(): Promise<void>;
}

/** Watches what is written into this layer of the response from now on. */
export function holdEnd(res: ServerResponse, watch: AnswerWatch, layer: Layer = res): void {
  const { write, end } = layer;
  const waiting: (() => void)[] = [];
  let held = false;

  const release = () => {
    layer.write = write;
    layer.end = end;
    // Nobody reads any more, and a destroyed response treats a write as an error.
    if (res.destroyed) return;
    for (const each of waiting.splice(0)) each();
  };
  const hold = () => {
    held = true;
    // The handler may have written something invalid; as without holding, that only breaks this connection.
    new Promise<void>((resolve) => resolve(watch.settle())).then(release).catch((error: Error) => res.destroy(error));
  };

  // The casts: the overloads of both are passed on unchanged.
  layer.write = function heldWrite(...given: unknown[]) {
    const pass = () => write.apply(res, given as Parameters<typeof write>);
    // A handler may wait for the callback of its write before it writes the end.
    if (!held && watch.whole) callBack(given);
    if (!held && watch.take(bytesOf(given))) hold();
    else if (!held && !watch.whole) return pass();
    waiting.push(pass);
    // Held bytes are few, and a handler waiting for `drain` would miss the one of a compression in front.
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

/**
 * Calls the callback of a write at once, and removes it from the arguments that are passed on. Bytes become a copy: from
 * then on the handler may use theirs for the next write.
 */
function callBack(given: unknown[]): void {
  const callback = given.at(-1);
  if (typeof callback !== 'function') return;
  given.pop();
  if (given[0] instanceof Uint8Array) given[0] = Uint8Array.from(given[0]);
  process.nextTick(() => callback(null));
}
