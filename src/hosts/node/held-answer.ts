/** Lets an answer pass, but holds its end until the turn is stored: a fast client may continue it at once. */
import type { ServerResponse } from 'node:http';
import { callBackSoon, chunkToBytes, type Layer } from './event-stream.ts';
import { closedError, isClosed } from './node-request.ts';

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
  const waiting: { readonly pass: () => void; readonly args: readonly unknown[] }[] = [];
  let isHolding = false;

  const release = () => {
    layer.write = write;
    layer.end = end;
    for (const { pass, args } of waiting.splice(0)) {
      // Nobody reads any more, and a destroyed response treats a write as an error.
      if (isClosed(res)) callBackSoon(args, closedError());
      else pass();
    }
  };
  const hold = () => {
    isHolding = true;
    // The handler may have written something invalid; as without holding, that only breaks this connection.
    new Promise<void>((resolve) => resolve(watch.settle())).then(release).catch((error: Error) => res.destroy(error));
  };

  // The casts: the overloads of both are passed on unchanged.
  layer.write = function heldWrite(...args: unknown[]) {
    const pass = () => write.apply(res, args as Parameters<typeof write>);
    // A handler may wait for the callback of its write before it writes the end.
    if (!isHolding && watch.whole) callBackAtOnce(args);
    if (!isHolding && watch.take(chunkToBytes(args))) hold();
    else if (!isHolding && !watch.whole) return pass();
    waiting.push({ pass, args });
    // Held bytes are few, and a handler waiting for `drain` would miss the one of a compression in front.
    return true;
  } as typeof write;
  layer.end = function heldEnd(...args: unknown[]) {
    if (!isHolding) {
      watch.take(chunkToBytes(args));
      hold();
    }
    waiting.push({ pass: () => end.apply(res, args as unknown as Parameters<typeof end>), args: [] });
    return res;
  } as typeof end;
}

/**
 * Calls the callback of a write at once, and removes it from the arguments that are passed on. Bytes become a copy: from
 * then on the handler may use theirs for the next write.
 */
function callBackAtOnce(args: unknown[]): void {
  const callback = args.at(-1);
  if (typeof callback !== 'function') return;
  args.pop();
  if (args[0] instanceof Uint8Array) args[0] = Uint8Array.from(args[0]);
  process.nextTick(() => callback(null));
}
