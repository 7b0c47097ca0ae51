/** Threads that end with their job: code that reads untrusted bytes may take any time and memory. */
import { Worker } from 'node:worker_threads';

/** What the jobs may use. */
interface ThreadLimits {
  /** Jobs at the same time. */
  readonly threads: number;
  /** Jobs that wait for one. */
  readonly waiting: number;
  /** Milliseconds of one job. */
  readonly ms: number;
  /** MiB of one job's heap. */
  readonly megabytes: number;
}

/** Why a job has no result. */
type ThreadFailure = 'busy' | 'closed' | 'time' | 'memory' | 'failed';

/** A job has no result. */
export class ThreadError extends Error {
  override readonly name = 'ThreadError';
  readonly failure: ThreadFailure;

  constructor(failure: ThreadFailure, cause?: unknown) {
    super(`The thread has no result: ${failure}.`, { cause });
    this.failure = failure;
  }
}

/** Runs each job in a thread of its own, whose file gets the job as `workerData` and posts one message, the result. */
export class WorkerThreads {
  private readonly file: string;
  private readonly limits: ThreadLimits;
  private readonly running = new Set<Worker>();
  private readonly waiting = new Set<() => void>();
  private free: number;
  private isClosed = false;

  constructor(file: string, limits: ThreadLimits) {
    this.file = file;
    this.limits = limits;
    this.free = limits.threads;
  }

  /** Whether a further job is refused as `busy`. */
  get isBusy(): boolean {
    return this.free === 0 && this.waiting.size >= this.limits.waiting;
  }

  /** The job's result, which the file defines. Rejects with a `ThreadError`, or with the signal's reason. */
  async run<Result>(job: unknown, signal: AbortSignal, transferred: readonly ArrayBuffer[] = []): Promise<Result> {
    await this.turn(signal);
    try {
      signal.throwIfAborted();
      if (this.isClosed) throw new ThreadError('closed');
      return await this.runNow<Result>(job, signal, transferred);
    } finally {
      const [next] = this.waiting;
      if (next) next();
      else this.free += 1;
    }
  }

  /** Ends all threads. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.running].map((worker) => worker.terminate()));
  }

  private async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.isBusy) throw new ThreadError('busy');
    if (this.free > 0) {
      this.free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.waiting.delete(next);
        reject(signal.reason);
      };
      const next = () => {
        this.waiting.delete(next);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      this.waiting.add(next);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  private async runNow<Result>(job: unknown, signal: AbortSignal, transferred: readonly ArrayBuffer[]) {
    const { ms, megabytes } = this.limits;
    const worker = new Worker(this.file, {
      workerData: job,
      transferList: [...transferred],
      resourceLimits: { maxOldGenerationSizeMb: megabytes },
      stdout: true,
      stderr: true,
    });
    this.running.add(worker);
    const timeout = AbortSignal.timeout(ms);
    try {
      return await resultOf<Result>(worker, AbortSignal.any([signal, timeout]));
    } catch (error) {
      signal.throwIfAborted();
      throw new ThreadError(failureOf(error, timeout), error);
    } finally {
      this.running.delete(worker);
      await worker.terminate();
    }
  }
}

function failureOf(error: unknown, timeout: AbortSignal): ThreadFailure {
  if (timeout.aborted) return 'time';
  // The cast: Node's own errors have a code.
  return (error as { readonly code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'failed';
}

function resultOf<Result>(worker: Worker, over: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    worker
      .once('message', resolve)
      .once('error', reject)
      .once('exit', (code) => reject(new Error(`The thread ended with the code ${code}.`)));
    over.addEventListener('abort', () => reject(over.reason), { once: true });
  });
}
