/** How much of tool rounds that are over only a full garbage collection removes; `young-garbage.test.ts` runs it in a process of its own. */
import { toolRounds } from '../../src/engine/tools/rounds.ts';

const TURNS = 4000;
const AT_ONCE = 16;
const COLLECTED_EVERY = 250;
/** How many turns are garbage before the heap is read for the first time. */
const WARM_UP = 1000;
/** What each turn leads to, in bytes. */
const BALLAST = 4096;
const LIMITS = { toolIterations: 1, toolCalls: 1, parallelTools: 1, repeatedCalls: 1 };

const running: ReturnType<typeof toolRounds>[] = [];
let before = 0;
for (let turn = 0; turn < TURNS; turn += 1) {
  const ballast = new Array(BALLAST / 8).fill(turn);
  running.push(toolRounds(LIMITS, async () => ({ output: String(ballast.length), failed: false })));
  if (running.length > AT_ONCE) void running.shift()?.run([]).next();
  if (turn % COLLECTED_EVERY !== 0) continue;
  // The rounds have ended.
  await null;
  globalThis.gc?.({ type: 'minor' });
  if (turn === WARM_UP) before = process.memoryUsage().heapUsed;
}
process.send?.((process.memoryUsage().heapUsed - before) / (TURNS - WARM_UP));
