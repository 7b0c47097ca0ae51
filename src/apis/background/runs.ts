/** The background responses of one router that are running, and those whose events are still stored. */
import { type ResponseKey, storeKey } from '../../ports/store.ts';
import type { Run } from './run.ts';

/** Maximum characters that are stored of all responses that have ended. */
const MAX_CHARACTERS = 64 * 1024 * 1024;

export interface Runs {
  find(key: ResponseKey): Run | undefined;
  /** How many have not ended. */
  readonly running: number;
  add(run: Run): void;
  /** Drops the events of the response, if it has ended. */
  forget(key: ResponseKey): void;
}

/** A run that has ended, and the timer that drops it. */
interface EndedRun {
  readonly run: Run;
  readonly timer: NodeJS.Timeout;
}

/** Empty at first. `eventsTtlMs` is how long events are stored after the end of their response, in milliseconds. */
export function newRuns(eventsTtlMs: number): Runs {
  const active = new Map<string, Run>();
  /** Oldest first. */
  const ended = new Map<string, EndedRun>();
  let running = 0;
  let characters = 0;

  function forget(key: ResponseKey): void {
    const place = storeKey(key);
    const entry = ended.get(place);
    if (!entry) return;
    clearTimeout(entry.timer);
    ended.delete(place);
    characters -= entry.run.size;
  }

  /** Not the run itself, which retains its whole request. */
  function addEnded({ key, recording, isLogged, readerFor, size, done }: Run): void {
    forget(key);
    const run: Run = { key, recording, isLogged, readerFor, size, output: [], done, stop: () => done };
    ended.set(storeKey(key), { run, timer: setTimeout(forget, eventsTtlMs, key).unref() });
    characters += size;
    for (const oldest of ended.values()) {
      if (characters <= MAX_CHARACTERS) break;
      forget(oldest.run.key);
    }
  }

  function end(run: Run): void {
    running -= 1;
    const place = storeKey(run.key);
    // The same response may run here again.
    if (active.get(place) === run) active.delete(place);
    if (run.recording && !run.isLogged) addEnded(run);
  }

  return {
    find: (key) => active.get(storeKey(key)) ?? ended.get(storeKey(key))?.run,
    get running() {
      return running;
    },
    add(run) {
      running += 1;
      active.set(storeKey(run.key), run);
      void run.done.then(() => end(run));
    },
    forget,
  };
}
