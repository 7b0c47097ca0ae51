/** Keeps processes ready, and never more than so many at all. */
import { setMaxListeners } from 'node:events';
import { untilAborted } from '../../streams/until-aborted.ts';
import { bell } from '../shared/bell.ts';
import type { SandboxProcess } from './sandbox-process.ts';

/** Where processes come from. */
export interface Pool {
  /** One that nobody else has; waits where there are too many. */
  take(signal: AbortSignal): Promise<SandboxProcess>;
  /** Ends them all, also those that were taken. */
  close(): Promise<void>;
}

/** What a pool is made with. */
interface PoolOptions {
  /** Answers when the process is ready; one that was started ends where the signal is aborted before. */
  readonly start: (signal: AbortSignal) => Promise<SandboxProcess>;
  readonly warm: number;
  readonly max: number;
  /** A process that was to be kept ready could not be started. */
  readonly onFailure: (error: unknown) => void;
}

type Opening = Promise<SandboxProcess>;

/** Starts the first processes at once. */
export function processPool({ start, warm, max, onFailure }: PoolOptions): Pool {
  const live = new Set<Opening>();
  const idle = new Set<Opening>();
  const changes = bell();
  const closing = new AbortController();
  // One for each process that is loading.
  setMaxListeners(0, closing.signal);

  function open(): Opening {
    const opening = start(closing.signal);
    const leave = () => {
      live.delete(opening);
      idle.delete(opening);
      changes.ring();
    };
    live.add(opening);
    opening.then(({ gone }) => gone).then(leave, leave);
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

  function giveBack(opening: Opening): void {
    if (!live.has(opening)) return;
    idle.add(opening);
    changes.ring();
  }

  refill();
  return {
    async take(signal) {
      while (idle.size === 0 && live.size >= max && !closing.signal.aborted) await changes.rung(signal);
      closing.signal.throwIfAborted();
      const [opening = open()] = idle;
      idle.delete(opening);
      refill();
      try {
        return await untilAborted(signal, () => opening);
      } catch (error) {
        // It goes on loading for whoever comes next.
        if (signal.aborted) giveBack(opening);
        throw error;
      }
    },
    async close() {
      closing.abort(new Error('The runtime is closed.'));
      changes.ring();
      await Promise.allSettled([...live].map(ended));
    },
  };
}

async function ended(opening: Opening): Promise<void> {
  const process = await opening;
  process.end();
  await process.gone;
}
