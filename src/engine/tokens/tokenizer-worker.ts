/** The tokenizer's thread: loads the encoding, and counts texts in turns, so that a short one need not wait for a long one. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { requirePackage } from '../../ports/host/package-files.cjs';
import type { Count } from './byte-pairs.ts';
import { encodedTokens, loadEncoding } from './encoding.ts';
import type { Counted, Ready, ToCount } from './tokenizer-thread.ts';

const counting = new Map<number, { readonly slices: Iterator<number, void>; tokens: number }>();
let isCounting = false;

void loadEncoding(async (name) => ({ default: requirePackage(name) })).then(serveCounts);

function serveCounts(encoding: Count | undefined): void {
  parentPort?.postMessage({ hasEncoding: encoding !== undefined } satisfies Ready);
  parentPort?.on('message', ({ id, text }: ToCount) => {
    if (text === undefined || !encoding) return void counting.delete(id);
    counting.set(id, { slices: encodedTokens(text, encoding), tokens: 0 });
    if (!isCounting) countInTurns();
  });
}

async function countInTurns(): Promise<void> {
  isCounting = true;
  while (counting.size > 0) {
    for (const [id, job] of counting) {
      const { done, value } = job.slices.next();
      if (!done) job.tokens += value;
      else if (counting.delete(id)) parentPort?.postMessage({ id, tokens: job.tokens } satisfies Counted);
    }
    // Messages arrive in between: more to count, and cancellations.
    await nextTurn();
  }
  isCounting = false;
}
