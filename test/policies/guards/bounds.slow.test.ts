/** What guards cost at most: characters that wait, and memory; `bounds.clock.test.ts` has the time. */

import { MAX_HELD } from '../../../src/engine/guarding/tracks/stage.ts';
import type { Guard } from '../../../src/index.ts';
import { allowUrls, pii } from '../../../src/policies/guards/index.ts';
import { requestGuards } from './support.ts';

const PROSE =
  `The quick brown fox jumps over the lazy dog, while 12 of its friends watch from the 3rd row. They met at 12:30 on
01.02.2024, paid 10 000 for the hall and 3.50 each for tea; nobody counted the misunderstandings. `.repeat(20);

/** How many characters wait behind each one that comes. */
async function waiting(guard: Guard, text: string, size = 1): Promise<readonly number[]> {
  const track = requestGuards({ output: [guard] }).guards.textTrack('text');
  const waits: number[] = [];
  let taken = 0;
  let shown = 0;
  for (let at = 0; at < text.length; at += size) {
    const piece = text.slice(at, at + size);
    taken += piece.length;
    shown += (await track.write(piece)).length;
    waits.push(taken - shown);
  }
  return waits;
}

const passing: Guard = { name: 'passing', inspect: () => ({ action: 'pass' }) };
const asyncPassing: Guard = { name: 'passing', inspect: async () => ({ action: 'pass' }) };
/** Never sure of anything. */
const undecided: Guard = {
  ...passing,
  scan: (text, from, isEnd) => ({ findings: [], settled: isEnd ? text.length : from }),
};

describe('characters that wait', () => {
  it('are those of a word or a number for pii', async () => {
    const waits = await waiting(pii(), PROSE);
    const mean = waits.reduce((sum, each) => sum + each, 0) / waits.length;
    // docs/guards.md has these figures.
    expect([Math.max(...waits), Number(mean.toFixed(1))]).toEqual([18, 2.9]);
  });

  it('are up to twice the lookahead for any other guard, from which on they go out behind words', async () => {
    const waits = await waiting(asyncPassing, PROSE);
    expect([Math.max(...waits) <= 256, Math.min(...waits.slice(256)) >= 128]).toEqual([true, true]);
  });

  it('are none for a guard that only watches', async () => {
    expect(Math.max(...(await waiting({ ...passing, mode: 'monitor' }, PROSE)))).toBe(0);
  });

  it.each<[string, Guard, number]>([
    ['pii', pii(), 64],
    ['allowUrls', allowUrls({}), 32],
    ['a guard with windows', asyncPassing, 4 * 128],
    ['a guard that never decides', undecided, MAX_HELD],
  ])('are bounded in a megabyte without a blank: %s', async (_, guard, most) => {
    const waits = await waiting(guard, 'x'.repeat(2 ** 20), 1024);
    // Those of one piece may wait beside.
    expect(Math.max(...waits)).toBeLessThanOrEqual(most + 1024);
  });

  it('are bounded for a key, an address and a URL without an end', async () => {
    for (const [text, most] of [
      ['sk-1a', 1024 + 64],
      ['bob@', 253 + 64 + 1],
      ['+1 2', 64],
    ] as const) {
      const waits = await waiting(pii(), text + 'a1'.repeat(50_000), 16);
      expect(Math.max(...waits)).toBeLessThanOrEqual(most + 16);
    }
    const waits = await waiting(allowUrls({}), `https://${'a'.repeat(100_000)}`, 16);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2048 + 16);
  });
});
