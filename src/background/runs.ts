/** The background responses of one router that are running, and those whose events are still kept. */
import { placeOf, type ResponseKey } from '../ports/store.ts';
import type { Run } from './run.ts';

/** How long the events of a response are kept after its end, in milliseconds. */
const KEPT_MS = 10 * 60_000;
/** Maximum characters of events that are kept of all responses that have ended. */
const MOST_CHARACTERS = 64 * 1024 * 1024;

export interface Runs {
  find(key: ResponseKey): Run | undefined;
  /** How many have not ended. */
  readonly running: number;
  add(run: Run): void;
  /** Drops its events. */
  forget(run: Run): void;
}

/** Empty at first. */
export function newRuns(): Runs {
  const runs = new Map<string, Run>();
  const ended = new Set<Run>();
  let running = 0;

  function forget(run: Run): void {
    ended.delete(run);
    const place = placeOf(run.key);
    // The same response may run here again.
    if (runs.get(place) === run) runs.delete(place);
  }

  /** Not the run itself, which retains its whole request. */
  function keep({ key, recording, isLogged, readerFor, done }: Run): void {
    const run: Run = { key, recording, isLogged, readerFor, output: [], done, stop: () => done };
    runs.set(placeOf(key), run);
    ended.add(run);
    setTimeout(forget, KEPT_MS, run).unref();
    let characters = 0;
    // Newest first: the oldest are dropped.
    for (const each of [...ended].reverse()) {
      characters += each.recording?.size ?? 0;
      if (characters > MOST_CHARACTERS) forget(each);
    }
  }

  return {
    find: (key) => runs.get(placeOf(key)),
    get running() {
      return running;
    },
    add(run) {
      running += 1;
      runs.set(placeOf(run.key), run);
      void run.done.then(() => {
        running -= 1;
        if (run.recording && !run.isLogged) keep(run);
        else forget(run);
      });
    },
    forget,
  };
}
