/** The turns that are running: how many are allowed, who waits for a place, and how they end when the host shuts down. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Limits } from '../../ports/limits.ts';
import { type Linked, LinkedQueue } from '../../ports/queues/line.ts';
import { TurnQueue } from '../../ports/queues/turn-queue.ts';
import { ApiError } from '../../protocol/errors.ts';

/** How long failed streams have to reach their clients after the deadline, in milliseconds. */
const GRACE_MS = 1000;
const IDLE_CHECK_MS = 50;
/** How long running turns have to finish by default, in milliseconds. */
export const DRAIN_MS = 30_000;

/** A turn that runs, or waits for a place. */
export interface Running extends Linked<Running> {
  /** Whose places it takes. */
  readonly tenant: string;
  /** Aborted when it is over; a turn that waits gives up. */
  readonly signal: AbortSignal;
  readonly abort: (reason: ApiError) => void;
  readonly disconnect: (() => void) | undefined;
  /** Whether it waits as long as it may take: no client waits for its beginning. */
  readonly isPatient: boolean;
}

/** The host's options for a shutdown. */
export interface DrainOptions {
  /** Milliseconds that running turns have to finish. Default: 30,000. */
  readonly timeoutMs?: number;
  /** The host's HTTP server, whose idle connections are closed during the shutdown. Default: none. */
  readonly server?: {
    /** As Node's HTTP servers have it. */
    closeIdleConnections?(): void;
  };
}

export interface Activity {
  /**
   * Registers a turn. Returns undefined if it may run at once, which costs no promise; otherwise a promise that resolves
   * when it may, and rejects with `too_many_streams`, `server_draining` or the reason of its signal. Throws
   * `too_many_streams` or `server_draining`.
   */
  begin(turn: Running): Promise<void> | undefined;
  /** Registers the end of a turn, or that it no longer waits. May be called twice. */
  end(turn: Running): void;
  readonly running: number;
  readonly waiting: number;
  /** Whether new turns are refused. */
  readonly isDraining: boolean;
  /** Refuses new and waiting turns and resolves when none is running: finished, failed at the deadline, or cut off. */
  drain(options?: DrainOptions): Promise<void>;
}

/** The limits of turns. */
type TurnLimits = Pick<Limits, 'concurrentTurns' | 'concurrentTurnsPerTenant' | 'queuedTurns' | 'queueTimeoutMs'>;

/** The turns of one router. */
export function activity(limits: TurnLimits): Activity {
  return new Turns(limits);
}

/** A turn in the queue, and its promise. */
class WaitingTurn {
  readonly tenant: string;
  readonly turn: Running;
  line: object | undefined;
  before: WaitingTurn | undefined;
  after: WaitingTurn | undefined;
  resolve: () => void = () => {};
  reject: (reason: unknown) => void = () => {};
  private timer: NodeJS.Timeout | undefined;
  private readonly leave: () => void;

  /** `leave` takes it out of the queue when its client is gone, `expire` when it has waited too long. */
  constructor(turn: Running, leave: () => void, expire: (() => void) | undefined, timeoutMs: number) {
    this.tenant = turn.tenant;
    this.turn = turn;
    this.leave = leave;
    turn.signal.addEventListener('abort', leave, { once: true });
    this.timer = expire && setTimeout(expire, timeoutMs).unref();
  }

  unwatch(): void {
    clearTimeout(this.timer);
    this.turn.signal.removeEventListener('abort', this.leave);
  }
}

class Turns implements Activity {
  private readonly limits: TurnLimits;
  private readonly turns = new LinkedQueue<Running>();
  /** How many run of each tenant that has any; empty where tenants have no limit. */
  private readonly counts = new Map<string, number>();
  private readonly queue = new TurnQueue<WaitingTurn>();
  private readonly queued = new Map<Running, WaitingTurn>();
  private readonly countsTenants: boolean;
  private draining = false;

  constructor(limits: TurnLimits) {
    this.limits = limits;
    this.countsTenants = limits.concurrentTurnsPerTenant < Number.POSITIVE_INFINITY;
  }

  get running(): number {
    return this.turns.size;
  }

  get waiting(): number {
    return this.queue.size;
  }

  get isDraining(): boolean {
    return this.draining;
  }

  begin(turn: Running): Promise<void> | undefined {
    if (this.draining) throw drainError();
    // A free place and a turn that waits for it never meet: each place that becomes free is given away at once.
    if (this.turns.size >= this.limits.concurrentTurns || !this.mayRun(turn.tenant)) return this.wait(turn);
    this.start(turn);
    return undefined;
  }

  end(turn: Running): void {
    if (!this.turns.remove(turn)) return this.leave(turn, new Error('The turn is over.'));
    if (this.countsTenants) this.count(turn.tenant, -1);
    if (this.queue.size === 0) return;
    this.queue.wake(turn.tenant);
    this.startNext();
  }

  async drain({ timeoutMs = DRAIN_MS, server }: DrainOptions = {}): Promise<void> {
    this.draining = true;
    for (const { turn } of this.queue) this.leave(turn, drainError());
    await this.untilIdle(Date.now() + timeoutMs, server);
    for (const turn of this.turns.all()) turn.abort(drainError());
    await this.untilIdle(Date.now() + GRACE_MS, server);
    for (const turn of this.turns.all()) turn.disconnect?.();
    server?.closeIdleConnections?.();
  }

  /** Whether the tenant has fewer running turns than it may. */
  private readonly mayRun = (tenant: string): boolean =>
    !this.countsTenants || (this.counts.get(tenant) ?? 0) < this.limits.concurrentTurnsPerTenant;

  private start(turn: Running): void {
    this.turns.add(turn);
    if (this.countsTenants) this.count(turn.tenant, 1);
  }

  private count(tenant: string, more: number): void {
    const count = (this.counts.get(tenant) ?? 0) + more;
    if (count === 0) this.counts.delete(tenant);
    else this.counts.set(tenant, count);
  }

  private wait(turn: Running): Promise<void> {
    const { queuedTurns, queueTimeoutMs } = this.limits;
    // A tenant may have as many as it leaves free, so that others always find room.
    if (this.queue.sizeOf(turn.tenant) >= queuedTurns - this.queue.size) throw this.tooMany();
    turn.signal.throwIfAborted();
    const expire = turn.isPatient ? undefined : () => this.leave(turn, this.tooMany());
    const waiting = new WaitingTurn(turn, () => this.leave(turn, turn.signal.reason), expire, queueTimeoutMs);
    this.queue.add(waiting);
    this.queued.set(turn, waiting);
    const place = new Promise<void>((resolve, reject) => Object.assign(waiting, { resolve, reject }));
    // Whoever began it may fail before it awaits the place.
    place.catch(() => {});
    return place;
  }

  private startNext(): void {
    while (this.turns.size < this.limits.concurrentTurns) {
      const waiting = this.queue.next(this.mayRun);
      if (!waiting) return;
      this.queued.delete(waiting.turn);
      waiting.unwatch();
      this.start(waiting.turn);
      waiting.resolve();
    }
  }

  /** Takes a turn out of the queue. */
  private leave(turn: Running, reason: unknown): void {
    const waiting = this.queued.get(turn);
    if (!waiting) return;
    this.queued.delete(turn);
    this.queue.remove(waiting);
    waiting.unwatch();
    waiting.reject(reason);
  }

  private tooMany(): ApiError {
    const { queuedTurns, queueTimeoutMs } = this.limits;
    // By then everybody who waits now has left the queue.
    const headers = queuedTurns > 0 ? { 'retry-after': String(Math.ceil(queueTimeoutMs / 1000)) } : {};
    return new ApiError('too_many_streams', 'Too many concurrent responses. Try again later.', { headers });
  }

  private async untilIdle(deadline: number, server: DrainOptions['server']): Promise<void> {
    while (this.turns.size > 0 && Date.now() < deadline) {
      server?.closeIdleConnections?.();
      await sleep(IDLE_CHECK_MS);
    }
  }
}

/** Refuses what begins while the server shuts down. */
export function drainError(): ApiError {
  return new ApiError('server_draining', 'This server is shutting down; try again.', {
    headers: { connection: 'close' },
  });
}
