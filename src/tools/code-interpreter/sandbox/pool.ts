/** Keeps processes ready, and never more than a maximum in total, of which no tenant can take all. */
import { setMaxListeners } from 'node:events';
import { FairSlots } from '../../../ports/queues/fair-places.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import type { SandboxProcess } from './sandbox-process.ts';

/** Provides processes. */
export interface Pool {
  /** Returns a process that nobody else uses; waits, tenants in turn, if there are too many, or the tenant has all but one. `startOwn` starts one that differs from those that are kept ready. */
  take(signal: AbortSignal, tenant: string, startOwn?: PoolOptions['start']): Promise<SandboxProcess>;
  /** Ends all of them, including those in use. */
  close(): Promise<void>;
}

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

/** Starts the first processes at once. */
export function processPool({ start, warm, max, onFailure }: PoolOptions): Pool {
  const live = new Set<Opening>();
  const idle = new Set<Opening>();
  const changes = new Condition();
  /** Of the processes in use; who waits is bounded by the callers, each of which holds a run. */
  const places = new FairSlots({ places: max, waiting: Number.POSITIVE_INFINITY });
  const closing = new AbortController();
  // One for each process that is loading.
  setMaxListeners(0, closing.signal);

  function open(startOne = start): Opening {
    const opening = startOne(closing.signal);
    const forget = () => {
      live.delete(opening);
      idle.delete(opening);
      changes.notify();
    };
    live.add(opening);
    opening.then(({ gone }) => gone).then(forget, forget);
    return opening;
  }

  function refill(): void {
    while (idle.size < warm && live.size < max) {
      const opening = open();
      idle.add(opening);
      opening.catch((error) => {
        if (!closing.signal.aborted) onFailure(error);
      });
    }
  }

  refill();
  return {
    async take(signal, tenant, startOwn) {
      closing.signal.throwIfAborted();
      await places.enter(tenant, signal);
      let opening: Opening | undefined;
      try {
        // Every process that ends gives its place to who waits for one.
        closing.signal.throwIfAborted();
        // One that has failed may still be ending.
        while ((startOwn || idle.size === 0) && live.size >= max && !closing.signal.aborted) {
          const [spare] = startOwn ? idle : [];
          if (spare) {
            idle.delete(spare);
            spare.then((process) => process.end()).catch(() => {});
          }
          await changes.wait(signal);
        }
        closing.signal.throwIfAborted();
        const [chosen = open(startOwn)] = startOwn ? [] : idle;
        opening = chosen;
        idle.delete(chosen);
        refill();
        const process = await untilAborted(signal, () => chosen);
        process.gone.then(() => places.leave(tenant));
        return process;
      } catch (error) {
        if (startOwn) opening?.then((process) => process.end()).catch(() => {});
        // It keeps loading for the next caller.
        else if (opening && signal.aborted && live.has(opening)) {
          idle.add(opening);
          changes.notify();
        }
        places.leave(tenant);
        throw error;
      }
    },
    async close() {
      closing.abort(new Error('The runtime is closed.'));
      changes.notify();
      await Promise.allSettled(
        [...live].map(async (opening) => {
          const process = await opening;
          process.end();
          await process.gone;
        }),
      );
    },
  };
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
