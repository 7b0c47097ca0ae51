/** Runs background responses in the process that was asked for them. */
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

/** A response that runs. */
interface Run {
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
}

class InProcessEngine implements BackgroundEngine {
  readonly name = 'in-process';
  readonly takesOver = false;
  private readonly running = new Map<string, Run>();
  /** Responses that were handed in with a delay. */
  private readonly delayed = new Map<string, NodeJS.Timeout>();
  private worker: BackgroundWorker | undefined;
  private isReleased = false;

  start(worker: BackgroundWorker): void {
    if (this.worker)
      throw new TypeError('inProcessEngine: the engine has a worker already; create one for each router');
    this.worker = worker;
  }

  async submit(key: ResponseKey, { delayMs = 0 }: SubmitTerms = {}): Promise<void> {
    const { worker } = this;
    if (!worker) throw new Error('inProcessEngine: the engine has no worker; call start before submit');
    if (this.isReleased) throw new Error('inProcessEngine: the engine is released and takes no more responses');
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
    this.isReleased = true;
    for (const timer of this.delayed.values()) clearTimeout(timer);
    this.delayed.clear();
    const runs = [...this.running.values()];
    for (const { stopping } of runs) stopping.abort(new Error('The engine is released.'));
    await Promise.all(runs.map(({ ended }) => ended));
  }

  close(): Promise<void> {
    return this.release();
  }

  private begin(name: string, { scope, id }: ResponseKey, worker: BackgroundWorker): void {
    // One for each run: Node 20 keeps each signal that `AbortSignal.any` has joined to one that lives on.
    const stopping = new AbortController();
    const ended = (async () => {
      try {
        await worker.run({ key: { scope, id }, signal: stopping.signal });
      } catch (error) {
        // A worker must not reject; otherwise the error would be lost.
        reportToWorker(worker, error);
      }
    })().finally(() => this.running.delete(name));
    this.running.set(name, { stopping, ended });
  }
}
