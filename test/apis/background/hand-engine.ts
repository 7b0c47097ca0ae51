/** Engines that share one queue, whose test decides which router runs what, and when it loses it. */
import type { BackgroundEngine, BackgroundWorker } from '../../../src/ports/background/background-engine.ts';
import type { ResponseKey } from '../../../src/ports/store.ts';

/** A run that a test has handed to a router. */
export interface HandedRun {
  /** Asks the router to let go of it. */
  release(): void;
  readonly outcome: Promise<'ended' | 'released'>;
}

/** The queue. */
export class HandQueue {
  /** Everything that was submitted, in order. */
  readonly submitted: ResponseKey[] = [];
  private readonly workers: BackgroundWorker[] = [];
  private readonly runsAtOnce: boolean;

  /** Unless `runsAtOnce` is false, a router runs what it submits. */
  constructor({ runsAtOnce = true }: { readonly runsAtOnce?: boolean } = {}) {
    this.runsAtOnce = runsAtOnce;
  }

  /** The engine of the next router. */
  engine(): BackgroundEngine {
    const index = this.workers.length;
    // Replaced when the router starts it.
    this.workers.push({ run: async () => 'released', onError() {} });
    return {
      name: 'by hand',
      takesOver: true,
      start: (worker) => {
        this.workers[index] = worker;
      },
      submit: async (key) => {
        this.submitted.push(key);
        if (this.runsAtOnce) this.hand(index, key);
      },
      release: async () => {},
      close: async () => {},
    };
  }

  /** Has this router run the response; another one may be running it still. */
  hand(index: number, key: ResponseKey): HandedRun {
    const stopping = new AbortController();
    const worker = this.workers[index];
    if (!worker) throw new Error(`There is no router ${index}.`);
    return { release: () => stopping.abort(), outcome: worker.run({ key, signal: stopping.signal }) };
  }
}
