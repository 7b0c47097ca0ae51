/** Keeps processes ready, and never more than a maximum in total, of which no tenant can take all. */
import { setMaxListeners } from 'node:events';
import { FairSlots } from '../../../ports/queues/fair-places.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import type { SandboxProcess } from './sandbox-process.ts';

/** The options of a pool. */
interface PoolOptions {
  /** Resolves when the process is ready; if the signal is aborted before, a started process ends. */
  readonly start: (signal: AbortSignal) => Promise<SandboxProcess>;
  readonly warm: number;
  readonly max: number;
  /** Called when a process that was to be kept ready could not be started. */
  readonly onFailure: (error: unknown) => void;
}

type Opening = Promise<SandboxProcess>;

/** Processes that are ready, or will be. */
export class ProcessPool {
  private readonly options: PoolOptions;
  private readonly live = new Set<Opening>();
  private readonly idle = new Set<Opening>();
  private readonly changes = new Condition();
  /** Of the processes in use; who waits is bounded by the callers, each of which holds a run. */
  private readonly places: FairSlots;
  private readonly closing = new AbortController();

  /** Starts the first processes at once. */
  constructor(options: PoolOptions) {
    this.options = options;
    this.places = new FairSlots({ places: options.max, waiting: Number.POSITIVE_INFINITY });
    // One for each process that is loading.
    setMaxListeners(0, this.closing.signal);
    this.refill();
  }

  /**
   * Returns a process that nobody else uses; waits, tenants in turn, if there are too many, or the tenant has all but one. `startOwn`
   * starts one that differs from those that are kept ready.
   */
  async take(signal: AbortSignal, tenant: string, startOwn?: PoolOptions['start']): Promise<SandboxProcess> {
    const { closing, changes } = this;
    closing.signal.throwIfAborted();
    await this.places.enter(tenant, signal);
    let opening: Opening | undefined;
    try {
      // One that has failed may still be ending.
      while (this.live.size >= this.options.max && (startOwn || this.idle.size === 0) && !closing.signal.aborted) {
        if (startOwn) this.endSpare();
        await changes.wait(signal);
      }
      closing.signal.throwIfAborted();
      const chosen = this.choose(startOwn);
      opening = chosen;
      this.refill();
      const process = await untilAborted(signal, () => chosen);
      process.gone.then(() => this.places.leave(tenant));
      return process;
    } catch (error) {
      if (startOwn) opening?.then((process) => process.end()).catch(() => {});
      // It keeps loading for the next caller.
      else if (opening && signal.aborted && this.live.has(opening)) {
        this.idle.add(opening);
        changes.notify();
      }
      this.places.leave(tenant);
      throw error;
    }
  }

  /** Ends all of them, including those in use, each of which gives its place to a caller that waits, who is turned away. */
  async close(): Promise<void> {
    this.closing.abort(new Error('The runtime is closed.'));
    this.changes.notify();
    await Promise.allSettled(
      [...this.live].map(async (opening) => {
        const process = await opening;
        process.end();
        await process.gone;
      }),
    );
  }

  private choose(startOwn?: PoolOptions['start']): Opening {
    if (startOwn) return this.open(startOwn);
    const [opening = this.open()] = this.idle;
    this.idle.delete(opening);
    return opening;
  }

  /** Makes room for one that differs. */
  private endSpare(): void {
    const [spare] = this.idle;
    if (!spare) return;
    this.idle.delete(spare);
    spare.then((process) => process.end()).catch(() => {});
  }

  private open(start = this.options.start): Opening {
    const opening = start(this.closing.signal);
    const forget = () => {
      this.live.delete(opening);
      this.idle.delete(opening);
      this.changes.notify();
    };
    this.live.add(opening);
    opening.then(({ gone }) => gone).then(forget, forget);
    return opening;
  }

  private refill(): void {
    while (this.idle.size < this.options.warm && this.live.size < this.options.max) {
      const opening = this.open();
      this.idle.add(opening);
      opening.catch((error) => {
        if (!this.closing.signal.aborted) this.options.onFailure(error);
      });
    }
  }
}

/** Wakes the callers that wait for a change; says nothing about the change: a woken caller checks again. */
class Condition {
  private readonly waiting = new Set<() => void>();

  notify(): void {
    for (const wake of this.waiting) wake();
  }

  /** Resolves at the next change; rejects with the signal's reason. */
  async wait(signal: AbortSignal): Promise<void> {
    let wake = () => {};
    const change = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.waiting.add(wake);
    try {
      await untilAborted(signal, () => change);
    } finally {
      this.waiting.delete(wake);
    }
  }
}
