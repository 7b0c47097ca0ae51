/** Indexes files in the background: the index is the queue, so that another process continues the work of one that was killed. */
import { randomInt } from 'node:crypto';
import type { BackgroundEngine, ClaimedRun } from '../../ports/background/background-engine.ts';
import type { IndexingClaim } from '../../ports/vectors/vector-index.ts';
import {
  discardChunks,
  type IndexingParts,
  type IndexingProgress,
  indexFile,
  indexingFailure,
  isFileFault,
  UnusableFile,
} from './index-file.ts';

/** How the work is done; times are milliseconds. */
export interface IndexerSettings extends IndexingParts {
  /** Decides which process works, and on how many files at the same time. Undefined: this process works. */
  readonly engine: BackgroundEngine | undefined;
  /** Files at the same time, without an engine. */
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

/**
 * The runs that an engine's queue may hold at once, under names of their own, so that the queue does not grow. A run indexes one
 * file after the other until none waits.
 */
const MAX_RUNS = 64;

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
    settings.engine?.start({ run: (claimed) => this.runClaimed(claimed), onError: settings.report });
    this.wakeIn(0);
  }

  /** Looks for work now: for so many files. */
  wake(files = 1): void {
    const { engine } = this.settings;
    if (this.isClosed) return;
    if (engine) return this.settle(this.submit(engine, files));
    this.isWoken = true;
    if (!this.isClaiming) this.settle(this.claimAll());
  }

  /** Stops indexing files of this vector store that were deleted or cancelled, at once. */
  async recheck(store: string): Promise<void> {
    const works = [...this.running].filter(({ claim }) => claim.file.store === store);
    await Promise.all(works.map((work) => this.extend(work)));
  }

  /**
   * Claims no more files, and resolves when those being indexed have ended; the others wait for another process. With an engine,
   * those being indexed are given back as well.
   */
  async drain(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await this.settings.engine?.release();
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
    await this.settings.engine?.close();
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
    while (this.running.size < this.settings.parallelFiles && !this.isClosed) {
      const claim = await this.claim();
      if (!claim) return;
      // Errors have been reported.
      this.start(claim).done.then(
        () => this.wake(),
        () => this.wake(),
      );
    }
  }

  private claim() {
    const now = Date.now();
    return this.settings.index.claim(now, now + this.settings.claimMs, this.fullTenants());
  }

  /** Of several places a tenant leaves one to the others, whose files would otherwise wait for its longest. */
  private fullTenants(): readonly string[] {
    const { engine, parallelFiles } = this.settings;
    if (engine || parallelFiles < 2) return [];
    const counts = new Map<string, number>();
    for (const { claim } of this.running) counts.set(claim.file.scope, (counts.get(claim.file.scope) ?? 0) + 1);
    return [...counts].filter(([, files]) => files >= parallelFiles - 1).map(([scope]) => scope);
  }

  /** Hands in as many runs as there are files, for any process. A name that is taken belongs to a run that is not over. */
  private async submit(engine: BackgroundEngine, files: number): Promise<void> {
    const first = randomInt(MAX_RUNS);
    try {
      for (let run = 0; run < Math.min(files, MAX_RUNS) && !this.isClosed; run += 1)
        await engine.submit({ scope: '', id: `indexing-${(first + run) % MAX_RUNS}` });
    } finally {
      this.wakeIn(this.settings.pollMs);
    }
  }

  /** A run of the engine: indexes files until none waits, or until it is to be handed over. */
  private async runClaimed({ signal }: ClaimedRun): Promise<'ended' | 'released'> {
    try {
      for (;;) {
        if (signal.aborted || this.isClosed) return 'released';
        const claim = await this.claim();
        if (!claim) return 'ended';
        await this.during(this.start(claim), signal);
      }
    } catch (error) {
      this.settings.report(error);
      return 'released';
    }
  }

  /** Waits for the work, which stops when the signal is aborted. Errors have been reported. */
  private async during({ controller, done }: Work, signal: AbortSignal): Promise<void> {
    const stop = () => controller.abort(STOPPED);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    await done.catch(() => {});
    signal.removeEventListener('abort', stop);
  }

  private start(claim: IndexingClaim): Work {
    const controller = new AbortController();
    const work: Work = {
      claim,
      controller,
      done: this.run(claim, controller).finally(() => this.running.delete(work)),
    };
    this.running.add(work);
    if (this.isClosed) controller.abort(STOPPED);
    return work;
  }

  private async run(claim: IndexingClaim, controller: AbortController): Promise<void> {
    const { claimMs, report } = this.settings;
    // Renews early enough for two attempts, even if the index is slow.
    const timer = setInterval(() => void this.extend({ claim, controller }), claimMs / 3).unref();
    const progress: IndexingProgress = { stored: claim.chunks };
    try {
      // All attempts are used up: each one killed its process.
      if (claim.attempts > this.settings.attempts)
        throw new UnusableFile('server_error', 'The file could not be indexed.');
      await indexFile(claim, this.settings, progress, controller.signal);
    } catch (error) {
      await this.fail(error, { claim, progress }, controller.signal).catch(report);
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

  private async fail(
    error: unknown,
    { claim, progress }: { readonly claim: IndexingClaim; readonly progress: IndexingProgress },
    signal: AbortSignal,
  ): Promise<void> {
    const { index, attempts, report } = this.settings;
    const now = Date.now();
    // Nothing happens if the claim was lost.
    if (signal.aborted) return void (await index.endClaim(claim, { status: 'retry', at: now }));
    if (!isFileFault(error)) report(error);
    const end = indexingFailure(error, claim, { attempts, now });
    if (end.status === 'failed') await discardChunks(claim, progress.stored, index);
    if ((await index.endClaim(claim, end)) && end.status === 'retry') this.wakeIn(end.at - now);
  }
}
