/** Who may run, who waits for a place, and in which order places are given away. */
import { getEventListeners } from 'node:events';
import { inspect } from 'node:util';
import { type Activity, activity, type Running } from '../../src/engine/request/activity.ts';
import { DEFAULT_LIMITS, type Limits } from '../../src/ports/limits.ts';
import { ApiError } from '../../src/protocol/errors.ts';
import { expectLinearWork } from '../support/linear-work.ts';

function turnsWith(limits: Partial<Limits>): Activity {
  return activity({ ...DEFAULT_LIMITS, queuedTurns: 100, ...limits });
}

function turnOf(tenant: string, given: Partial<Running> = {}): Running {
  const stop = new AbortController();
  const abort = (reason: ApiError) => stop.abort(reason);
  return { tenant, signal: stop.signal, abort, disconnect: undefined, isPatient: false, ...given };
}

/** Begins turns of these tenants, all of which must wait; `order` holds who has been given a place so far. */
function waitingFor(turns: Activity, tenants: readonly string[]) {
  const order: string[] = [];
  const begun = tenants.map((tenant) => {
    const turn = turnOf(tenant);
    turns
      .begin(turn)
      ?.then(() => order.push(tenant))
      .catch(() => {});
    return turn;
  });
  return { order, begun };
}

/** The code of the refusal, and its headers. */
async function refusalOf(begin: () => Promise<void> | undefined): Promise<readonly unknown[]> {
  try {
    await begin();
    return ['begun'];
  } catch (error) {
    return error instanceof ApiError ? [error.code, error.headers] : [error];
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  it('[P-10] begin without a promise where a place is free', () => {
    const turns = turnsWith({ concurrentTurns: 2, concurrentTurnsPerTenant: 1 });
    expect([turns.begin(turnOf('a')), turns.begin(turnOf('b')), turns.running]).toEqual([undefined, undefined, 2]);
  });

  it('[P-10] are refused at once without a queue, as if there were none', async () => {
    const turns = turnsWith({ concurrentTurns: 1, queuedTurns: 0 });
    turns.begin(turnOf('a'));
    expect(() => turns.begin(turnOf('b'))).toThrow(
      new ApiError('too_many_streams', 'Too many concurrent responses. Try again later.'),
    );
    expect(await refusalOf(() => turns.begin(turnOf('b')))).toEqual(['too_many_streams', {}]);
  });

  it('[P-10] of one tenant in great number do not delay the only one of another', async () => {
    const turns = turnsWith({ concurrentTurns: 1, queuedTurns: 3000 });
    const running = turnOf('crowd');
    turns.begin(running);
    const { order, begun } = waitingFor(turns, [...Array.from({ length: 1000 }, () => 'crowd'), 'alone']);
    for (const turn of [running, begun[0]]) turns.end(turn as Running);
    await settled();
    expect([order, turns.running, turns.waiting]).toEqual([['crowd', 'alone'], 1, 999]);
  });

  it('[P-10] of several tenants take turns, each in the order of its own', async () => {
    const turns = turnsWith({ concurrentTurns: 1 });
    let running = turnOf('z');
    turns.begin(running);
    const order: string[] = [];
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) {
      const turn = turnOf(name.slice(0, 1));
      void turns.begin(turn)?.then(() => {
        order.push(name);
        running = turn;
      });
    }
    for (let count = 0; count < 6; count += 1) {
      turns.end(running);
      await settled();
    }
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('[P-10] of a tenant with as many as it may have wait, while others begin at once', async () => {
    const turns = turnsWith({ concurrentTurns: 3, concurrentTurnsPerTenant: 1 });
    const [first, other] = [turnOf('a'), turnOf('b')];
    turns.begin(first);
    const { order } = waitingFor(turns, ['a', 'a']);
    expect([turns.begin(other), turns.waiting]).toEqual([undefined, 2]);
    turns.end(other);
    await settled();
    expect(order).toEqual([]);
    turns.end(first);
    await settled();
    expect([order, turns.running, turns.waiting]).toEqual([['a'], 1, 1]);
  });

  it('[P-10] of a tenant that may have no more do not keep the free places from those behind them', async () => {
    const turns = turnsWith({ concurrentTurns: 2, concurrentTurnsPerTenant: 1 });
    const [first, second] = [turnOf('a'), turnOf('b')];
    for (const turn of [first, second]) turns.begin(turn);
    const { order } = waitingFor(turns, ['a', 'a', 'c']);
    turns.end(second);
    await settled();
    expect(order).toEqual(['c']);
    turns.end(first);
    await settled();
    expect([order, turns.waiting]).toEqual([['c', 'a'], 1]);
  });

  it('[P-10] of one tenant leave half of the queue to others, and the rest is refused with the time to wait', async () => {
    const turns = turnsWith({ concurrentTurns: 1, queuedTurns: 10, queueTimeoutMs: 4500 });
    turns.begin(turnOf('a'));
    const { begun } = waitingFor(turns, ['a', 'a', 'a', 'a', 'a']);
    const refused = await refusalOf(() => turns.begin(turnOf('a')));
    waitingFor(turns, ['b', 'b']);
    expect([begun.length, refused, turns.waiting]).toEqual([5, ['too_many_streams', { 'retry-after': '5' }], 7]);
  });

  it('[P-10] are refused when they have waited too long', async () => {
    const turns = turnsWith({ concurrentTurns: 1, queueTimeoutMs: 5 });
    turns.begin(turnOf('a'));
    const refused = await refusalOf(() => turns.begin(turnOf('b')));
    expect([refused, turns.waiting]).toEqual([['too_many_streams', { 'retry-after': '1' }], 0]);
  });

  it('[S-18] of the background wait longer', async () => {
    const turns = turnsWith({ concurrentTurns: 1, queueTimeoutMs: 1 });
    const first = turnOf('a');
    turns.begin(first);
    const patient = turns.begin(turnOf('b', { isPatient: true }));
    await refusalOf(() => turns.begin(turnOf('c')));
    turns.end(first);
    await patient;
    expect(turns.running).toBe(1);
  });

  it('[P-10] give up their place in the queue when their client leaves, or when they end', async () => {
    const turns = turnsWith({ concurrentTurns: 1 });
    const first = turnOf('a');
    turns.begin(first);
    const client = new AbortController();
    const left = new Error('The client left.');
    const refused = refusalOf(() => turns.begin(turnOf('b', { signal: client.signal })));
    const { order, begun } = waitingFor(turns, ['b', 'b']);
    client.abort(left);
    turns.end(begun[0] as Running);
    turns.end(first);
    await settled();
    expect([await refused, order, turns.waiting, turns.running]).toEqual([[left], ['b'], 0, 1]);
  });

  it('[P-10] do not watch their client any more when they have their place, or have given it up', async () => {
    const turns = turnsWith({ concurrentTurns: 1, queueTimeoutMs: 10 });
    const first = turnOf('a');
    turns.begin(first);
    const clients = [1, 2, 3].map(() => new AbortController().signal);
    const begun = clients.map((signal) => turnOf('b', { signal }));
    const places = begun.map((turn) => refusalOf(() => turns.begin(turn)));
    const watched = clients.map((signal) => getEventListeners(signal, 'abort').length);
    turns.end(begun[1] as Running);
    turns.end(first);
    await Promise.all(places);
    const after = clients.map((signal) => getEventListeners(signal, 'abort').length);
    expect([watched, after]).toEqual([
      [1, 1, 1],
      [0, 0, 0],
    ]);
  });

  it('[P-10] of a client that has left do not begin to wait', async () => {
    const turns = turnsWith({ concurrentTurns: 1 });
    turns.begin(turnOf('a'));
    const left = new Error('The client left.');
    expect(await refusalOf(() => turns.begin(turnOf('b', { signal: AbortSignal.abort(left) })))).toEqual([left]);
    expect(turns.waiting).toBe(0);
  });

  it('[P-10] that wait are refused by a shutdown at once, and those that run may end', async () => {
    const turns = turnsWith({ concurrentTurns: 1 });
    const first = turnOf('a');
    turns.begin(first);
    const refused = ['a', 'b', 'b'].map((tenant) => refusalOf(() => turns.begin(turnOf(tenant))));
    const drained = turns.drain();
    const draining = ['server_draining', { connection: 'close' }];
    expect(await Promise.all(refused)).toEqual([draining, draining, draining]);
    expect([turns.running, turns.waiting]).toEqual([1, 0]);
    turns.end(first);
    await drained;
  });

  it('[P-10] end twice without giving a place away twice', async () => {
    const turns = turnsWith({ concurrentTurns: 1, concurrentTurnsPerTenant: 1 });
    const first = turnOf('a');
    turns.begin(first);
    const { order } = waitingFor(turns, ['b', 'c']);
    for (let count = 0; count < 3; count += 1) turns.end(first);
    await settled();
    expect([order, turns.running]).toEqual([['b'], 1]);
  });

  it('[P-10] of tenants that are gone leave nothing behind', async () => {
    const limits = { concurrentTurns: 2, concurrentTurnsPerTenant: 1 };
    const turns = turnsWith(limits);
    const running = ['x', 'y'].map((tenant) => turnOf(tenant));
    for (const turn of running) turns.begin(turn);
    const { begun } = waitingFor(turns, ['a', 'b', 'c', 'a', 'x']);
    for (const turn of [...running, ...begun.toReversed()]) {
      turns.end(turn);
      await settled();
    }
    const inside = (each: Activity) => inspect(each, { depth: 6, breakLength: 80 });
    expect(inside(turns)).toBe(inside(turnsWith(limits)));
  });

  it('[P-11] take time in proportion to their number, whether of one tenant or of as many', async () => {
    for (const tenantOf of [() => 'one', String, (index: number) => String(index % 7)])
      await expectLinearWork(1_000, async (size) => {
        const turns = turnsWith({ concurrentTurns: 1, concurrentTurnsPerTenant: 1, queuedTurns: 2 * size + 1 });
        const running = turnOf('first');
        turns.begin(running);
        const waiting = Array.from({ length: size }, (_, index) => turnOf(tenantOf(index)));
        for (const turn of waiting) turns.begin(turn);
        for (const turn of [running, ...waiting]) turns.end(turn);
        await settled();
        expect([turns.running, turns.waiting]).toEqual([0, 0]);
      });
  });
});
