/** The process of one job, which a thread of it does: the main thread stays free, to end both when the host is gone. */
import { Worker } from 'node:worker_threads';

/** What the process gets. */
export interface Job {
  /** The file of its thread. */
  readonly file: string;
  readonly data: unknown;
  readonly megabytes: number;
}

/** What it answers. */
export type JobEnd = { readonly result: unknown } | { readonly failure: 'memory' | 'failed'; readonly reason: string };

function run({ file, data, megabytes }: Job): void {
  new Worker(file, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: megabytes },
    stdout: true,
    stderr: true,
  })
    .once('message', (result) => end({ result }))
    // The cast: Node's own errors have a code.
    .once('error', (error) => end({ failure: failureOf(error as NodeJS.ErrnoException), reason: `${error}` }))
    .once('exit', (code) => end({ failure: 'failed', reason: `The thread ended with the code ${code}.` }));
}

function failureOf({ code }: NodeJS.ErrnoException): 'memory' | 'failed' {
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'failed';
}

/** The host takes the first. */
function end(how: JobEnd): void {
  process.send?.(how);
}

process.once('disconnect', () => process.exit());
// The cast: `JobProcesses` sends a job.
process.once('message', (job) => run(job as Job));
