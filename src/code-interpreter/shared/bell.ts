/** Wakes whoever waits for something to change. */
import { untilAborted } from '../../streams/until-aborted.ts';

/** Tells nothing about what changed: who wakes looks again. */
interface Bell {
  ring(): void;
  /** Resolves at the next ring; rejects with the signal's reason. */
  rung(signal: AbortSignal): Promise<void>;
}

/** A bell that nobody hears yet. */
export function bell(): Bell {
  const waiting = new Set<() => void>();
  return {
    ring() {
      for (const wake of waiting) wake();
    },
    async rung(signal) {
      let wake = () => {};
      const rung = new Promise<void>((resolve) => {
        wake = resolve;
      });
      waiting.add(wake);
      try {
        await untilAborted(signal, () => rung);
      } finally {
        waiting.delete(wake);
      }
    },
  };
}
