/** Indexes files in the background: the index is the queue, so that another process continues the work of one that was killed. */
import type { IndexingClaim } from '../ports/vectors/vector-index.ts';
import { failureOf, type IndexingParts, indexFile, isFileFault, UnusableFile } from './index-file.ts';

/** How the work is done; times are milliseconds. */
export interface IndexerSettings extends IndexingParts {
  /** Files at the same time. */
  readonly parallelFiles: number;
  /** How often indexing a file is tried before it fails. */
  readonly attempts: number;
  /** The pause between two looks for files that other processes have added or given up. */
  readonly pollMs: number;
  /** How long a claim lasts: the files of a killed process wait for so long. */
  readonly claimMs: number;
  /** Receives errors that are not the fault of a file. */
  readonly report: (error: unknown) => void;
}

interface Work {
  readonly claim: IndexingClaim;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** The claim is lost, or is given back. */
const STOPPED = new Error('The claim has ended.');
/** The least pause after a failure of the index. */
const FAULT_PAUSE_MS = 1000;

/** Works until it is closed. */
export class Indexer {
  private readonly settings: IndexerSettings;
  private readonly running = new Set<Work>();
  private isClosed = false;
  private isClaiming = false;
  private isWoken = false;
  private wakesAt = Number.POSITIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;

  constructor(settings: IndexerSettings) {
    this.settings = settings;
    this.wakeIn(0);
  }

  /** Looks for work now. */
  wake(): void {
    if (this.isClosed) return;
    this.isWoken = true;
    if (!this.isClaiming) this.settle(this.claimAll());
  }

  /** Stops indexing files of this vector store that were deleted or cancelled, at once. */
  async recheck(store: string): Promise<void> {
    const works = [...this.running].filter(({ claim }) => claim.file.store === store);
    await Promise.all(works.map((work) => this.extend(work)));
  }

  /** Claims no more files, and resolves when those being indexed have ended; the others wait for another process. */
  async drain(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    while (this.running.size > 0 || this.isClaiming) {
      await Promise.all([...this.running].map(({ done }) => done));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Stops at once: files are given back, for another process or the next start. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const { controller } of this.running) controller.abort(STOPPED);
    await this.drain();
  }

  private settle(work: Promise<void>): void {
    work.catch((error) => {
      this.settings.report(error);
      this.wakeIn(FAULT_PAUSE_MS);
    });
  }

  private wakeIn(ms: number): void {
    const at = Date.now() + ms;
    if (this.isClosed || at >= this.wakesAt) return;
    clearTimeout(this.timer);
    this.wakesAt = at;
    this.timer = setTimeout(() => {
      this.wakesAt = Number.POSITIVE_INFINITY;
      this.wake();
    }, ms).unref();
  }

  private async claimAll(): Promise<void> {
    this.isClaiming = true;
    try {
      while (this.isWoken && !this.isClosed) {
        this.isWoken = false;
        await this.claimSome();
      }
    } finally {
      this.isClaiming = false;
      this.wakeIn(this.settings.pollMs);
    }
  }

  private async claimSome(): Promise<void> {
    const { index, parallelFiles, claimMs } = this.settings;
    while (this.running.size < parallelFiles && !this.isClosed) {
      const now = Date.now();
      const claim = await index.claim(now, now + claimMs);
      if (!claim) return;
      this.start(claim);
    }
  }

  private start(claim: IndexingClaim): void {
    const controller = new AbortController();
    const work: Work = { claim, controller, done: this.run(claim, controller).finally(() => this.finish(work)) };
    this.running.add(work);
    // Errors have been reported.
    work.done.catch(() => {});
    if (this.isClosed) controller.abort(STOPPED);
  }

  private finish(work: Work): void {
    this.running.delete(work);
    this.wake();
  }

  private async run(claim: IndexingClaim, controller: AbortController): Promise<void> {
    const { claimMs, report } = this.settings;
    // Renews early enough for two attempts, even if the index is slow.
    const timer = setInterval(() => void this.extend({ claim, controller }), claimMs / 3).unref();
    try {
      // All attempts are used up: each one killed its process.
      if (claim.attempts > this.settings.attempts)
        throw new UnusableFile('server_error', 'The file could not be indexed.');
      await indexFile(claim, this.settings, controller.signal);
    } catch (error) {
      await this.fail(error, claim, controller.signal).catch(report);
    } finally {
      clearInterval(timer);
    }
  }

  private async extend({ claim, controller }: Pick<Work, 'claim' | 'controller'>): Promise<void> {
    const { index, claimMs, report } = this.settings;
    try {
      if (!(await index.extendClaim(claim, Date.now() + claimMs))) controller.abort(STOPPED);
    } catch (error) {
      report(error);
    }
  }

  private async fail(error: unknown, claim: IndexingClaim, signal: AbortSignal): Promise<void> {
    const { index, attempts, report } = this.settings;
    const now = Date.now();
    // Nothing happens if the claim was lost.
    if (signal.aborted) return void (await index.endClaim(claim, { status: 'retry', at: now }));
    if (!isFileFault(error)) report(error);
    const end = failureOf(error, claim, { attempts, now });
    if ((await index.endClaim(claim, end)) && end.status === 'retry') this.wakeIn(end.at - now);
  }
}
