/** Reads HTML in threads of their own, which are ended when they take too long: what a stranger wrote may take any time. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { BUILD_FOLDER } from '../../ports/host/package-files.cjs';

/** What a thread found in a page. */
export interface ReadPage {
  readonly title: string;
  readonly text: string;
}

/** How long one page may take, in milliseconds, and the memory of a thread. */
const MOST_MS = 10_000;
const MOST_MB = 256;
/** Threads at the same time; further pages wait for one. */
const MOST_THREADS = 4;
const WORKER = join(BUILD_FOLDER, 'cjs/web-search/pages/page-worker.js');

/** The threads: one for each page, since a page may use up any. */
export class PageThreads {
  private readonly mostMs: number;
  private readonly running = new Set<Worker>();
  private readonly waiting: (() => void)[] = [];
  private free = MOST_THREADS;
  private isClosed = false;

  constructor(mostMs = MOST_MS) {
    this.mostMs = mostMs;
  }

  /** The readable part of a page. Rejects with an `Error` for the model, or with the signal's reason. */
  async read(html: string, signal: AbortSignal): Promise<ReadPage> {
    await this.turn();
    try {
      signal.throwIfAborted();
      if (this.isClosed) throw new Error('Pages are not read any more.');
      return await this.readIn(html, signal);
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free += 1;
    }
  }

  /** Ends all threads. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.running].map((worker) => worker.terminate()));
  }

  private async turn(): Promise<void> {
    if (this.free === 0) return new Promise((resolve) => this.waiting.push(resolve));
    this.free -= 1;
  }

  private async readIn(html: string, signal: AbortSignal): Promise<ReadPage> {
    const worker = new Worker(WORKER, {
      workerData: html,
      resourceLimits: { maxOldGenerationSizeMb: MOST_MB },
      stdout: true,
      stderr: true,
    });
    this.running.add(worker);
    const timeout = AbortSignal.timeout(this.mostMs);
    const over = AbortSignal.any([signal, timeout]);
    try {
      return await answerOf(worker, over);
    } catch {
      signal.throwIfAborted();
      throw new Error('The page could not be read: it is too large, or not a page.');
    } finally {
      this.running.delete(worker);
      await worker.terminate();
    }
  }
}

function answerOf(worker: Worker, over: AbortSignal): Promise<ReadPage> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve).once('error', reject).once('exit', reject);
    over.addEventListener('abort', () => reject(over.reason), { once: true });
  });
}
