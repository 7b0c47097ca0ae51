/** The keeper of containers, over a runtime without processes: whose state it is, how long it stays, and who must wait. */
import { jest } from '@jest/globals';
import { containers } from 'express-open-responses/code-interpreter';
import { codeScript } from 'express-open-responses/testing';
import { type FakeRuntime, fakeRuntime } from './fake-runtime.ts';

const NEVER = new AbortController().signal;
const { append, endless, recall, remember } = codeScript;

type Options = Omit<Parameters<typeof containers>[0], 'runtime'>;

/** The keeper, and a short way to ask it: what came of the code, and whether the container was fresh. */
function setUp(options: Options = {}, runtime: FakeRuntime = fakeRuntime()) {
  const kept = containers({ runtime, ...options });
  const run = async (
    id: string,
    code: string,
    { scope = 's', signal = NEVER, files = [] as readonly string[] } = {},
  ) => {
    const named = files.map((name) => ({ name, data: Buffer.from(name) }));
    const { result, fresh } = await kept.run({ scope, id }, code, named, signal);
    return [result, fresh];
  };
  return { runtime, kept, run };
}

/** Resolves when the container runs the code. */
async function begun(runtime: FakeRuntime, index: number, code: string): Promise<void> {
  while (!runtime.made[index]?.codes.includes(code)) await new Promise(setImmediate);
}

describe('containers', () => {
  it('[T-11] keeps the state of one id between its runs', async () => {
    const { run } = setUp();
    expect([await run('a', remember), await run('a', recall), await run('a', recall)]).toEqual([
      [undefined, true],
      ['42', false],
      ['42', false],
    ]);
  });

  it('[G-07] gives a place that becomes free to another tenant soon, however many runs of a greedy one wait for it', async () => {
    const { run, runtime } = setUp({ max: 1 });
    const greedy = Array.from({ length: 20 }, (_, at) =>
      run(`g${at}`, endless, { scope: 'greedy' }).catch(() => 'lost'),
    );
    await begun(runtime, 0, endless);
    const modest = run('m', 'modest', { scope: 'modest' });
    let turns = 0;
    for (let isOver = false; !isOver; turns += 1) {
      runtime.made[turns]?.crash();
      const next = () => runtime.made[turns + 1]?.codes.length;
      while (!next()) await new Promise(setImmediate);
      isOver = runtime.made[turns + 1]?.codes.includes('modest') ?? false;
    }
    expect([await modest, turns]).toEqual([['modest', true], 2]);
    for (let at = turns; at < 21; at += 1) {
      while (!runtime.made[at]) await new Promise(setImmediate);
      runtime.made[at]?.crash();
    }
    expect(new Set(await Promise.all(greedy))).toEqual(new Set(['lost']));
  });

  it('[G-07] tells the runtime whose container it is, so that interpreters that share one are fair together', async () => {
    const runtime = fakeRuntime();
    const tenants: unknown[] = [];
    const watched = {
      ...runtime,
      create: (signal: AbortSignal, tenant?: string) => {
        tenants.push(tenant);
        return runtime.create(signal);
      },
    };
    const { run } = setUp({}, watched);
    for (const scope of ['greedy', 'modest']) await run('a', remember, { scope });
    expect(tenants).toEqual(['greedy', 'modest']);
  });

  it('[G-07] refuses a greedy tenant’s further runs when too many wait, and takes those of another', async () => {
    const { run, runtime, kept } = setUp({ max: 1 });
    const greedy = Array.from({ length: 300 }, (_, at) => run(`g${at}`, endless, { scope: 'greedy' }).catch(String));
    await begun(runtime, 0, endless);
    const refused = await Promise.race(greedy.slice(-1));
    const modest = run('m', 'modest', { scope: 'modest' }).catch(String);
    await kept.close();
    expect([refused, await modest]).toEqual([
      'Error: Too many runs wait for a container. Try again later.',
      'Error: The containers are closed.',
    ]);
    await Promise.all(greedy);
  });

  it('[T-11] keeps ids apart, and the same id of another scope', async () => {
    const { run } = setUp();
    await run('a', remember);
    expect([await run('b', recall), await run('a', recall, { scope: 't' })]).toEqual([
      [undefined, true],
      [undefined, true],
    ]);
    // As one text, these two are the same.
    await run('bc', remember, { scope: 'a' });
    expect(await run('c', recall, { scope: 'ab' })).toEqual([undefined, true]);
  });

  it('[T-11] reports that state was lost where the container has died, and goes on with a fresh one', async () => {
    const { run, runtime } = setUp();
    await run('a', remember);
    runtime.made[0]?.crash();
    expect([await run('a', recall), await run('a', remember), await run('a', recall)]).toEqual([
      [undefined, true],
      [undefined, false],
      ['42', false],
    ]);
  });

  it('[T-11] rejects the run that loses the container, and gives the next a fresh one', async () => {
    const { run, runtime } = setUp();
    const lost = run('a', endless);
    const next = run('a', 'after');
    await begun(runtime, 0, endless);
    runtime.made[0]?.crash();
    await expect(lost).rejects.toMatchObject({ name: 'ContainerLostError', reason: 'crash' });
    expect(await next).toEqual(['after', true]);
  });

  it('[T-11] puts a file in once for each container', async () => {
    const { run, runtime } = setUp();
    await run('a', 'x', { files: ['one'] });
    await run('a', 'x', { files: ['one', 'two'] });
    runtime.made[0]?.crash();
    await run('a', 'x', { files: ['one', 'two'] });
    expect(runtime.made.map(({ puts }) => puts)).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ]);
  });

  it('[T-11] makes one container for runs of one id that come at once', async () => {
    const { run, runtime } = setUp();
    const seen = await Promise.all([run('a', append), run('a', append), run('a', 'kept')]);
    expect([seen.map(([, fresh]) => fresh), seen[2]?.[0], runtime.made.length]).toEqual([
      [true, false, false],
      "'aa'",
      1,
    ]);
  });

  it('[T-11] closes a container that nobody has used for a while', async () => {
    jest.useFakeTimers();
    try {
      const { run, runtime } = setUp({ idleMs: 1000 });
      await run('a', remember);
      jest.advanceTimersByTime(999);
      expect(await run('a', recall)).toEqual(['42', false]);
      jest.advanceTimersByTime(999);
      expect(runtime.made[0]?.alive).toBe(true);
      jest.advanceTimersByTime(1);
      expect(runtime.made[0]?.alive).toBe(false);
      expect(await run('a', recall)).toEqual([undefined, true]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('[T-11] leaves no timer behind a closed keeper', async () => {
    jest.useFakeTimers();
    try {
      const { run, kept } = setUp();
      await run('a', remember);
      await kept.close();
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('[T-11] lets the container go that has rested for longest, of all or of the scope', async () => {
    const all = setUp({ max: 2 });
    for (const id of ['a', 'b', 'a', 'c']) await all.run(id, remember);
    expect(all.runtime.made.map(({ alive }) => alive)).toEqual([true, false, true]);

    const own = setUp({ maxPerScope: 1 });
    await own.run('a', remember);
    await own.run('a', remember, { scope: 't' });
    await own.run('b', remember);
    expect(own.runtime.made.map(({ alive }) => alive)).toEqual([false, true, true]);
  });

  it('[T-11] keeps no place for a container that was lost', async () => {
    const { run, runtime } = setUp({ max: 2 });
    await run('a', remember);
    const lost = run('b', endless);
    await begun(runtime, 1, endless);
    runtime.made[1]?.crash();
    await expect(lost).rejects.toMatchObject({ reason: 'crash' });
    await run('c', remember);
    expect(await run('a', recall)).toEqual(['42', false]);
  });

  it('[T-11] lets wait who finds every container at work, until one rests or the signal is aborted', async () => {
    const { run, runtime } = setUp({ max: 1 });
    const [working, leaving] = [new AbortController(), new AbortController()];
    const first = run('a', endless, { signal: working.signal });
    await begun(runtime, 0, endless);
    const left = run('b', 'x', { signal: leaving.signal });
    const waited = run('c', 'y');
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    expect(runtime.made.length).toBe(1);
    working.abort(new Error('stopped'));
    await expect(first).rejects.toThrow('stopped');
    expect(await waited).toEqual(['y', true]);
  });

  it('[T-11] does not let a run that was given up while it waited hold its container', async () => {
    const { run, runtime } = setUp();
    const [working, leaving] = [new AbortController(), new AbortController()];
    const first = run('a', endless, { signal: working.signal });
    await begun(runtime, 0, endless);
    const left = run('a', 'never', { signal: leaving.signal });
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    working.abort(new Error('stopped'));
    await expect(first).rejects.toThrow('stopped');
    expect(await run('a', 'x')).toEqual(['x', true]);
    expect(runtime.made.flatMap(({ codes }) => codes)).toEqual([endless, 'x']);
  });

  it('[T-11] rejects where no container can be had, and tries again', async () => {
    let refused = true;
    const { run } = setUp({ max: 1 }, fakeRuntime({ refuse: () => refused }));
    await expect(run('a', 'x')).rejects.toThrow('No container can be had.');
    refused = false;
    expect(await run('b', 'x')).toEqual(['x', true]);
  });

  it('[T-11] closes its containers whatever runs, and takes no more', async () => {
    const { run, kept, runtime } = setUp();
    await run('b', remember);
    const lost = run('a', endless);
    await begun(runtime, 1, endless);
    const waiting = run('a', 'x');
    await kept.close();
    await kept.close();
    await expect(lost).rejects.toMatchObject({ reason: 'closed' });
    await expect(waiting).rejects.toThrow('The containers are closed.');
    await expect(run('c', 'x')).rejects.toThrow('The containers are closed.');
    expect(runtime.made.map(({ alive }) => alive)).toEqual([false, false]);
  });

  it('[T-11] closes a container that was still being made', async () => {
    const runtime = fakeRuntime();
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let ask = () => {};
    const requested = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const create: FakeRuntime['create'] = async (signal) => {
      ask();
      await gate;
      return runtime.create(signal);
    };
    const { run, kept } = setUp({}, { ...runtime, create });
    const late = run('a', 'x');
    await requested;
    await kept.close();
    open();
    await expect(late).rejects.toThrow('The containers are closed.');
    expect(runtime.made.map(({ alive, codes }) => [alive, codes])).toEqual([[false, []]]);
  });

  it.each([
    [{ runtime: 1 }, 'containers: runtime must be a CodeRuntime, got 1'],
    [{ idleMs: 0 }, 'containers: idleMs must be a whole number of milliseconds from 1 to 2147483647, got 0'],
    [{ max: 0 }, 'containers: max must be a positive whole number, got 0'],
    [{ maxPerScope: 1.5 }, 'containers: maxPerScope must be a positive whole number, got 1.5'],
    [{ most: 1 }, "containers: unknown option 'most'"],
  ])('takes no %j', (options, message) => {
    expect(() => containers({ runtime: fakeRuntime(), ...options } as Parameters<typeof containers>[0])).toThrow(
      message,
    );
  });
});
