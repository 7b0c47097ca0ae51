/** Reports what goes wrong in the engine, each kind at most every ten seconds. */
import type { BackgroundWorker } from '../../../ports/background/background-engine.ts';
import { reportToWorker } from '../report.ts';

/** What went wrong. A worker that rejects is always reported. */
type FailureKind = 'database' | 'clock' | 'job' | 'worker';

const EVERY_MS = 10_000;

/** The worker that receives the reports, once there is one. */
export class Failures {
  private readonly last = new Map<FailureKind, number>();
  worker: BackgroundWorker | undefined;

  report(kind: FailureKind, error: unknown): void {
    const now = performance.now();
    const isRecent = now - (this.last.get(kind) ?? Number.NEGATIVE_INFINITY) < EVERY_MS;
    if (!this.worker || (isRecent && kind !== 'worker')) return;
    this.last.set(kind, now);
    reportToWorker(this.worker, error);
  }
}
