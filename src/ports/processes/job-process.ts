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

/** The host takes the first end that is sent. */
function runJob({ file, data, megabytes }: Job): void {
  const sendEnd = (end: JobEnd) => void process.send?.(end);
  new Worker(file, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: megabytes },
    stdout: true,
    stderr: true,
  })
    .once('message', (result) => sendEnd({ result }))
    // The cast: Node's own errors have a code.
    .once('error', (error) => {
      const isFull = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
      sendEnd({ failure: isFull ? 'memory' : 'failed', reason: `${error}` });
    })
    .once('exit', (code) => sendEnd({ failure: 'failed', reason: `The thread ended with the code ${code}.` }));
}

process.once('disconnect', () => process.exit());
// The cast: `JobProcesses` sends a job.
process.once('message', (job) => runJob(job as Job));
