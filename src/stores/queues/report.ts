/** Reports failures to an engine's worker. */
import type { BackgroundWorker } from '../../ports/background/background-engine.ts';
import { processWarning } from '../../ports/host/warner.ts';

/** Hands the error to the worker; one that throws on it becomes a process warning. */
export function reportToWorker(worker: BackgroundWorker, error: unknown): void {
  try {
    worker.onError(error);
  } catch (failure) {
    processWarning(`The background engine could not report an error: ${failure}`);
  }
}
