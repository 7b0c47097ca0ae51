/** The pool of processes, over processes that are none. */
import fc from 'fast-check';
import { ProcessPool } from '../../../src/tools/code-interpreter/sandbox/pool.ts';
import type { SandboxProcess } from '../../../src/tools/code-interpreter/sandbox/sandbox-process.ts';

const NEVER = () => new AbortController().signal;

/** A pool whose processes come when `load` is called, with what the test may look at. */
function poolOf({ warm, max }: { readonly warm: number; readonly max: number }) {
  const loading: (() => void)[] = [];
  /** What the pool has given to processes, to end them. */
  const lives = new Set<AbortSignal>();
  const failures: unknown[] = [];
  const counts = { live: 0, most: 0, started: 0 };
  let broken = false;

  async function start(signal: AbortSignal): Promise<SandboxProcess> {
    lives.add(signal);
    counts.started += 1;
    counts.live += 1;
    counts.most = Math.max(counts.most, counts.live);
    await new Promise<void>((resolve) => {
      loading.push(resolve);
      signal.addEventListener('abort', () => resolve());
    });
    if (broken || signal.aborted) {
      counts.live -= 1;
      throw signal.reason ?? new Error('broken');
    }
    return fakeProcess(() => {
      counts.live -= 1;
    });
  }

  const pool = new ProcessPool({ start, warm, max, onFailure: (error) => failures.push(error) });
  const load = async () => {
    for (const done of loading.splice(0)) done();
    await settled();
  };
  return {
    pool,
    counts,
    failures,
    lives,
    load,
    breakDown: () => {
      broken = true;
    },
  };
}

function fakeProcess(onEnd: () => void): SandboxProcess {
  const life = new AbortController();
  let done = () => {};
  const gone = new Promise<void>((resolve) => {
    done = resolve;
  });
  life.signal.addEventListener('abort', () => {
    onEnd();
    done();
  });
  return {
    life: life.signal,
    ready: Promise.resolve(),
    gone,
    request: async () => ({ texts: {}, files: [] }),
    end: () => life.abort(),
  };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
}

/** What has come of a take so far. */
function taking(pool: ProcessPool, signal: AbortSignal = NEVER(), tenant = 'one') {
  const seen: { process?: SandboxProcess; error?: unknown } = {};
  pool.take(signal, tenant).then(
    (process) => {
      seen.process = process;
    },
    (error) => {
      seen.error = error;
    },
  );
  return seen;
}

describe('ProcessPool', () => {
  it('[E-01] starts one of another kind in the place of one that is kept ready, and keeps none of a caller who has left', async () => {
    const { pool, counts, load } = poolOf({ warm: 1, max: 1 });
    await load();
    const ended: string[] = [];
    const own = (name: string) => async () => fakeProcess(() => ended.push(name));
    const process = await pool.take(NEVER(), 'one', own('first'));
    expect([counts, ended]).toEqual([{ live: 0, most: 1, started: 1 }, []]);
    process.end();
    await settled();
    const leaving = new AbortController();
    const taken = pool.take(leaving.signal, 'one', async () => {
      leaving.abort(new Error('left'));
      return own('second')();
    });
    await expect(taken).rejects.toThrow('left');
    await settled();
    expect(ended).toEqual(['first', 'second']);
    await pool.close();
  });

  it('[T-11] never has more processes than it may, and serves everyone in the end', async () => {
    const plan = fc.record({
      warm: fc.nat(3),
      max: fc.integer({ min: 1, max: 4 }),
      takes: fc.array(fc.boolean(), { maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ warm, max, takes }) => {
        const { pool, counts, load } = poolOf({ warm: Math.min(warm, max), max });
        const leaving = takes.map(() => new AbortController());
        const seen = takes.map((_leaves, index) => taking(pool, leaving[index]?.signal, `tenant ${index % 3}`));
        for (const caller of leaving.filter((_caller, index) => takes[index])) caller.abort(new Error('left'));
        for (let round = 0; round <= takes.length; round += 1) {
          await load();
          for (const { process } of seen) process?.end();
          await settled();
        }
        expect(counts.most).toBeLessThanOrEqual(max);
        expect(seen.map(({ process }) => process !== undefined)).toEqual(takes.map((leaves) => !leaves));
        await pool.close();
        expect(counts.live).toBe(0);
      }),
    );
  });

  it('[G-07] leaves a process to the others, however many a greedy tenant takes and waits for', async () => {
    const { pool, load } = poolOf({ warm: 1, max: 3 });
    const greedy = Array.from({ length: 20 }, () => taking(pool, NEVER(), 'greedy'));
    await settled();
    await load();
    const other = taking(pool, NEVER(), 'other');
    await settled();
    await load();
    expect([greedy.filter(({ process }) => process).length, other.process !== undefined]).toEqual([2, true]);
    const third = taking(pool, NEVER(), 'third');
    let ended = 0;
    for (const { process } of greedy) {
      if (third.process) break;
      process?.end();
      ended += 1;
      await settled();
      await load();
    }
    expect([third.process !== undefined, ended <= 2]).toEqual([true, true]);
    await pool.close();
  });

  it('[T-11] keeps some ready, and starts another for each that is taken', async () => {
    const { pool, counts, load } = poolOf({ warm: 2, max: 5 });
    await load();
    expect(counts.started).toBe(2);
    const seen = taking(pool);
    await settled();
    expect([seen.process !== undefined, counts.started]).toEqual([true, 3]);
    await pool.close();
  });

  it('[T-11] gives what one caller left while it loaded to the next', async () => {
    const { pool, counts, load } = poolOf({ warm: 0, max: 1 });
    const leaving = new AbortController();
    const [left, next] = [taking(pool, leaving.signal), taking(pool)];
    await settled();
    leaving.abort(new Error('left'));
    await load();
    expect([String(left.error), next.process !== undefined, counts.started]).toEqual(['Error: left', true, 1]);
    await pool.close();
  });

  it('[T-11] reports one that could not be kept ready, once, and tries again when asked', async () => {
    const { pool, counts, failures, load, breakDown } = poolOf({ warm: 1, max: 1 });
    breakDown();
    await load();
    expect([failures.map(String), counts.started]).toEqual([['Error: broken'], 1]);
    const seen = taking(pool);
    await settled();
    await load();
    expect([String(seen.error), counts.started]).toEqual(['Error: broken', 2]);
    await pool.close();
  });

  it('[T-11] turns everyone away when it is closed, and reports no failure', async () => {
    const { pool, failures } = poolOf({ warm: 1, max: 1 });
    const [loading, waiting] = [taking(pool), taking(pool)];
    await settled();
    await pool.close();
    await settled();
    const late = taking(pool);
    await settled();
    const closed = 'Error: The runtime is closed.';
    expect([loading, waiting, late].map(({ error }) => String(error))).toEqual([closed, closed, closed]);
    expect(failures).toEqual([]);
  });

  it('[P-10] keeps nothing of those who have taken a process', async () => {
    const { pool, lives, load } = poolOf({ warm: 0, max: 1 });
    for (let each = 0; each < 3; each += 1) {
      const taken = taking(pool);
      await settled();
      await load();
      taken.process?.end();
      await settled();
    }
    expect([...lives].map(dependants)).toEqual([0]);
    await pool.close();
  });
});

/** How many signals Node 20 keeps because they were joined to this one. */
function dependants(signal: AbortSignal): number {
  const symbol = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals');
  return symbol ? (Reflect.get(signal, symbol) as Set<unknown>).size : 0;
}
