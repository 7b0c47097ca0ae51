/** Runs background responses in the process that was asked for them. */
import { setMaxListeners } from 'node:events';
import type { BackgroundEngine, BackgroundWorker } from '../../../ports/background/background-engine.ts';
import type { ResponseKey } from '../../../ports/background/response-key.ts';
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

  async submit({ scope, id }: ResponseKey): Promise<void> {
    const { worker, stopping } = this;
    if (!worker) throw new Error('inProcessEngine: the engine has no worker; call start before submit');
    if (stopping.signal.aborted) throw new Error('inProcessEngine: the engine is released and takes no more responses');
    const name = JSON.stringify([scope, id]);
    if (this.running.has(name)) return;
    const run = (async () => {
      try {
        await worker.run({ key: { scope, id }, signal: stopping.signal });
      } catch (error) {
        // A worker must not reject; otherwise the error would be lost.
        reportToWorker(worker, error);
      }
    })().finally(() => this.running.delete(name));
    this.running.set(name, run);
  }

  async release(): Promise<void> {
    this.stopping.abort(new Error('The engine is released.'));
    await Promise.all(this.running.values());
  }

  close(): Promise<void> {
    return this.release();
  }
}
