/** Processes that end with their job: code that reads untrusted bytes may take any time and memory. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BUILD_FOLDER } from '../host/package-files.cjs';
import { FairSlots } from '../queues/fair-places.ts';
import type { Job, JobEnd } from './job-process.ts';
import { killChild } from './kill-child.ts';

/** What the jobs may use. */
interface JobLimits {
  /** Jobs at the same time. */
  readonly processes: number;
  /** Jobs that wait for one, of all tenants. */
  readonly waiting: number;
  /** Milliseconds of one job. */
  readonly ms: number;
  /** MiB of one job's heap. */
  readonly megabytes: number;
}

/** Whose job it is, and what ends it. */
interface JobTerms {
  readonly tenant: string;
  readonly signal: AbortSignal;
}

/** Why a job has no result. */
type JobFailure = 'busy' | 'closed' | 'time' | 'memory' | 'failed';

/** A job has no result. */
export class JobError extends Error {
  override readonly name = 'JobError';
  readonly failure: JobFailure;

  constructor(failure: JobFailure, cause?: unknown) {
    super(`The job has no result: ${failure}.`, { cause });
    this.failure = failure;
  }
}

const PROCESS = join(BUILD_FOLDER, 'cjs/ports/processes/job-process.js');
/** What a package needs to be found, and Node and the system to start. The rest of the environment may be secret. */
const PASSED = ['NODE_OPTIONS', 'NODE_PATH', 'PATH', 'LD_LIBRARY_PATH', 'SystemRoot', 'TMPDIR'];

/**
 * Runs each job in a process of its own, in a thread whose file gets it as `workerData` and posts one message, the result.
 * A thread of this process would not do: one that allocates much at once beyond its heap ends the process.
 */
export class JobProcesses {
  private readonly file: string;
  private readonly limits: JobLimits;
  private readonly running = new Set<ChildProcess>();
  private readonly places: FairSlots;
  private isClosed = false;

  constructor(file: string, limits: JobLimits) {
    this.file = file;
    this.limits = limits;
    this.places = new FairSlots({ places: limits.processes, waiting: limits.waiting });
  }

  /** Whether a further job of the tenant is refused as `busy`. */
  isBusy(tenant: string): boolean {
    return this.places.isFull(tenant);
  }

  /**
   * The job's result, which the file defines. Rejects with a `JobError`, with the signal's reason, or with the system's error
   * if no process can be started.
   */
  async run<Result>(data: unknown, { tenant, signal }: JobTerms): Promise<Result> {
    signal.throwIfAborted();
    if (this.isBusy(tenant)) throw new JobError('busy');
    await this.places.enter(tenant, signal);
    try {
      signal.throwIfAborted();
      if (this.isClosed) throw new JobError('closed');
      return await this.runNow<Result>(data, signal);
    } finally {
      this.places.leave(tenant);
    }
  }

  /** Ends all processes. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.running].map(ended));
  }

  private async runNow<Result>(data: unknown, signal: AbortSignal): Promise<Result> {
    const { ms, megabytes } = this.limits;
    const child = fork(PROCESS, {
      execArgv: [],
      env: Object.fromEntries(PASSED.map((name) => [name, process.env[name]])),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.running.add(child);
    const timeout = AbortSignal.timeout(ms);
    try {
      const end = awaitEnd(child, AbortSignal.any([signal, timeout]));
      // If it cannot be sent, the exit gives the reason; where no process could be started there is no `send`, and an error event.
      child.send?.({ file: this.file, data, megabytes } satisfies Job, () => {});
      // The cast: the file defines it.
      return (await end) as Result;
    } catch (error) {
      signal.throwIfAborted();
      throw timeout.aborted ? new JobError('time', error) : error;
    } finally {
      this.running.delete(child);
      killChild(child, 'SIGKILL');
    }
  }
}

/** Resolves when it is gone. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  const gone = once(child, 'exit');
  killChild(child, 'SIGKILL');
  await gone;
}

function awaitEnd(child: ChildProcess, over: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child
      // The cast: `job-process.ts` sends it.
      .once('message', (message) => {
        const end = message as JobEnd;
        if ('result' in end) resolve(end.result);
        else reject(new JobError(end.failure, end.reason));
      })
      .once('error', reject)
      .once('exit', (code, signal) => reject(exitError(code, signal)));
    over.addEventListener('abort', () => reject(over.reason), { once: true });
  });
}

/** The code of a process that has aborted, where a shell or container reports it. */
const ABORTED = 134;

/** Node aborts when its heap is full. */
function exitError(code: number | null, signal: NodeJS.Signals | null): JobError {
  const isFull = signal === 'SIGABRT' || signal === 'SIGTRAP' || code === ABORTED;
  return new JobError(isFull ? 'memory' : 'failed', `The process ended by ${signal ?? `the code ${code}`}.`);
}
