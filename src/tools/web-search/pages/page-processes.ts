/** Reads HTML in processes of their own, which are ended when they take too long: a page from anywhere may take any time. */
import { join } from 'node:path';
import { BUILD_FOLDER } from '../../../ports/host/package-files.cjs';
import { JobError, JobProcesses } from '../../../ports/processes/job-processes.ts';

/** What a process found in a page. */
export interface ReadPage {
  readonly title: string;
  readonly text: string;
}

/** How long one page may take, in milliseconds. */
const MAX_MS = 10_000;
/** A tenant has at most three of the processes, and half of the places in the queue. */
const LIMITS = { processes: 4, waiting: 128, megabytes: 256 };
const WORKER = join(BUILD_FOLDER, 'cjs/tools/web-search/pages/page-worker.js');

/** The processes: one for each page, since a page may use up any. */
export class PageProcesses {
  private readonly processes: JobProcesses;

  constructor(ms = MAX_MS) {
    this.processes = new JobProcesses(WORKER, { ...LIMITS, ms });
  }

  /** The readable part of a page. Rejects with an `Error` for the model, or with the signal's reason. */
  async read(html: string, terms: { readonly tenant: string; readonly signal: AbortSignal }): Promise<ReadPage> {
    try {
      return await this.processes.run<ReadPage>(html, terms);
    } catch (error) {
      if (!(error instanceof JobError)) throw error;
      if (error.failure === 'busy') throw new Error('The page cannot be read now: too many others are.');
      if (error.failure === 'closed') throw new Error('Pages are not read any more.');
      throw new Error('The page could not be read: it is too large, or not a page.');
    }
  }

  /** Ends all processes. */
  async close(): Promise<void> {
    await this.processes.close();
  }
}
