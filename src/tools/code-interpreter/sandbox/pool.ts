/** Keeps processes ready, and never more than a maximum in total. */
import { setMaxListeners } from 'node:events';
import { untilAborted } from '../../../streams/until-aborted.ts';
import type { SandboxProcess } from './sandbox-process.ts';

/** Provides processes. */
export interface Pool {
  /** Returns a process that nobody else uses; waits if there are too many. */
  take(signal: AbortSignal): Promise<SandboxProcess>;
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
  const closing = new AbortController();
  // One for each process that is loading.
  setMaxListeners(0, closing.signal);

  function open(): Opening {
    const opening = start(closing.signal);
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
    async take(signal) {
      while (idle.size === 0 && live.size >= max && !closing.signal.aborted) await changes.wait(signal);
      closing.signal.throwIfAborted();
      const [opening = open()] = idle;
      idle.delete(opening);
      refill();
      try {
        return await untilAborted(signal, () => opening);
      } catch (error) {
        // It keeps loading for the next caller.
        if (signal.aborted && live.has(opening)) {
          idle.add(opening);
          changes.notify();
        }
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
