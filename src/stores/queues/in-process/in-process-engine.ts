/** Runs background responses in the process that was asked for them. */
import { setMaxListeners } from 'node:events';
import type { BackgroundEngine, BackgroundWorker, SubmitTerms } from '../../../ports/background/background-engine.ts';
import type { ResponseKey } from '../../../ports/background/response-key.ts';
import { MAX_MS } from '../../../ports/host/options-check.ts';
import { reportToWorker } from '../report.ts';

/**
 * Runs each response at once in this process, with nothing to install. A response is lost with its process: no other
 * one takes it over.
 *
 * @example
 * ```ts
 * import { inProcessEngine } from 'express-open-responses';
 *
 * const engine = inProcessEngine();
 * ```
 */
export function inProcessEngine(): BackgroundEngine {
  return new InProcessEngine();
}

class InProcessEngine implements BackgroundEngine {
  readonly name = 'in-process';
  readonly takesOver = false;
  private readonly stopping = new AbortController();
  private readonly running = new Map<string, Promise<void>>();
  /** Responses that were handed in with a delay. */
  private readonly delayed = new Map<string, NodeJS.Timeout>();
  private worker: BackgroundWorker | undefined;

  constructor() {
    // Each run listens: more than Node's ten are no leak, and must not warn.
    setMaxListeners(Number.POSITIVE_INFINITY, this.stopping.signal);
  }

  start(worker: BackgroundWorker): void {
    if (this.worker)
      throw new TypeError('inProcessEngine: the engine has a worker already; create one for each router');
    this.worker = worker;
  }

  async submit(key: ResponseKey, { delayMs = 0 }: SubmitTerms = {}): Promise<void> {
    const { worker, stopping } = this;
    if (!worker) throw new Error('inProcessEngine: the engine has no worker; call start before submit');
    if (stopping.signal.aborted) throw new Error('inProcessEngine: the engine is released and takes no more responses');
    const name = JSON.stringify([key.scope, key.id]);
    if (this.running.has(name) || this.delayed.has(name)) return;
    if (delayMs <= 0) return this.begin(name, key, worker);
    const timer = setTimeout(
      () => {
        this.delayed.delete(name);
        this.begin(name, key, worker);
      },
      Math.min(delayMs, MAX_MS),
    );
    // What waits here is lost with the process anyway: it must not keep that alive.
    this.delayed.set(name, timer.unref());
  }

  async release(): Promise<void> {
    this.stopping.abort(new Error('The engine is released.'));
    for (const timer of this.delayed.values()) clearTimeout(timer);
    this.delayed.clear();
    await Promise.all(this.running.values());
  }

  close(): Promise<void> {
    return this.release();
  }

  private begin(name: string, { scope, id }: ResponseKey, worker: BackgroundWorker): void {
    const run = (async () => {
      try {
        await worker.run({ key: { scope, id }, signal: this.stopping.signal });
      } catch (error) {
        // A worker must not reject; otherwise the error would be lost.
        reportToWorker(worker, error);
      }
    })().finally(() => this.running.delete(name));
    this.running.set(name, run);
  }
}
