/** Wakes the callers that wait for a change. */
import { untilAborted } from '../../../streams/until-aborted.ts';

/** Reports nothing about the change: a woken caller checks again. */
interface Bell {
  ring(): void;
  /** Resolves at the next ring; rejects with the signal's reason. */
  rung(signal: AbortSignal): Promise<void>;
}

/** Creates a bell without listeners. */
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
