/** A client that requests a stream and does not read it, and a model that notices. */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Upstream } from 'express-open-responses/core';
import { PATIENCE_MS } from './patience.ts';

const PIECE = 'x'.repeat(64 * 1024);
const HI = { model: 'm', input: 'Hi', stream: true };

/** A model that never stops, and how many batches were taken from it. */
export interface EndlessModel {
  readonly upstream: Upstream;
  readonly taken: number;
  readonly isOpen: boolean;
}

/** The model: 64 KiB of text in each batch, for as long as it is read. */
export function endlessModel(): EndlessModel {
  let taken = 0;
  let isOpen = false;

  async function* stream() {
    isOpen = true;
    try {
      for (;;) {
        yield [{ type: 'text-delta' as const, text: PIECE }];
        taken += 1;
        // Yields to the event loop between two batches, as a network would.
        await new Promise(setImmediate);
      }
    } finally {
      isOpen = false;
    }
  }

  return {
    upstream: { name: 'endless', stream, async *chat() {} },
    get taken() {
      return taken;
    },
    get isOpen() {
      return isOpen;
    },
  };
}

/** Posts for a stream, on a socket that does not read until it is resumed. */
export function unreadClient(url: string, path = '/v1/responses', body: object = HI): Socket {
  const json = JSON.stringify(body);
  const head = `POST ${path} HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\ncontent-length: ${json.length}`;
  const socket = connect(Number(new URL(url).port), '127.0.0.1').pause();
  socket.on('error', () => {}).write(`${head}\r\n\r\n${json}`);
  return socket;
}

/** How many batches were taken, once none has been for a quarter of a second. Throws if that never happens. */
export async function takenInAll(model: EndlessModel): Promise<number> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let quiet = 0, last = -1; performance.now() < deadline; ) {
    await pause(25);
    quiet = model.taken === last && model.isOpen ? quiet + 1 : 0;
    last = model.taken;
    if (quiet === 10) return last;
  }
  throw new Error(`The model still wrote after ${PATIENCE_MS} ms: ${model.taken} batches.`);
}

/** Resolves when the condition holds. Throws if it never does. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`It did not come true in ${PATIENCE_MS} ms: ${condition}`);
    await pause(5);
  }
}
