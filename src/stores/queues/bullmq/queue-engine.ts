/** Claims jobs while there is room, runs them, and returns unfinished ones to the queue. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BackgroundEngine, BackgroundWorker, SubmitTerms } from '../../../ports/background/background-engine.ts';
import type { ResponseKey } from '../../../ports/background/response-key.ts';
import { withTimeout } from '../../../ports/host/in-time.ts';
import { isRecord } from '../../../protocol/record.ts';
import { ErrorCode } from './bullmq.ts';
import { ClockGuard, type Clocks } from './clock-guard.ts';
import { Failures } from './failures.ts';
import { FairOrder } from './fair-order.ts';
import { type HeldJob, HeldJobs } from './held-jobs.ts';
import { JOB_NAME, readJobKey, responseJob } from './job.ts';
import { type Link, type Session, settledWithin } from './session.ts';
import { Slots } from './slots.ts';

/** What the engine is made of. */
interface EngineSettings {
  readonly link: Link;
  readonly concurrency: number;
  readonly lockMs: number;
}

/** How long a submit waits for the database, in milliseconds. */
const SUBMITS_WITHIN_MS = 10_000;
/** The pause after a failure of the database, and before a job is returned to the queue without a request to do so. */
const RETRY_AFTER_MS = 1000;
/** How long a released engine waits for a database that does not answer. */
const RELEASES_WITHIN_MS = 3000;
const TOO_LATE = `bullmqEngine: the database did not answer within ${SUBMITS_WITHIN_MS} ms`;
/** A worker never rejects; a job with which it did so this often is given up, and so is one that nobody reads. */
const MAX_ATTEMPTS = 10;
/** The job was taken over, or is over. */
const LOST: ReadonlySet<unknown> = new Set([
  ErrorCode.JobNotExist,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotInState,
  ErrorCode.JobLockMismatch,
]);

type Outcome = Awaited<ReturnType<BackgroundWorker['run']>>;

const SYSTEM_CLOCKS: Clocks = { now: Date.now, compareEveryMs: 60_000 };

/** An engine over a queue in a database. */
export class QueueEngine implements BackgroundEngine {
  readonly name = 'bullmq';
  readonly takesOver = true;
  private readonly id = randomUUID();
  private claims = 0;
  private readonly failures = new Failures();
  private readonly order = new FairOrder();
  private readonly slots: Slots;
  private readonly held: HeldJobs;
  private readonly clock: ClockGuard;
  /** Aborted on release. */
  private readonly stopping = new AbortController();
  private opening: Promise<Session> | undefined;
  private session: Session | undefined;
  /** Whether the worker looks for jobs whose process is gone. */
  private isLookingForStalled = false;
  /** The worker's answers that a release waits for. */
  private readonly runs = new Set<Promise<unknown>>();
  /** Requests to the database that a release waits for, but not for ever. */
  private readonly pending = new Set<Promise<unknown>>();
  private readonly timers: NodeJS.Timeout[] = [];
  private released: Promise<void> | undefined;
  private closed: Promise<void> | undefined;

  private readonly settings: EngineSettings;
  private readonly clocks: Clocks;

  constructor(settings: EngineSettings, clocks: Clocks = SYSTEM_CLOCKS) {
    this.settings = settings;
    this.clocks = clocks;
    this.slots = new Slots(settings.concurrency);
    this.held = new HeldJobs(settings.lockMs, (error) => this.reportLost(error));
    this.clock = new ClockGuard(clocks, settings.lockMs);
  }

  start(worker: BackgroundWorker): void {
    if (this.failures.worker)
      throw new TypeError('bullmqEngine: the engine has a worker already; create one for each router');
    this.failures.worker = worker;
    if (this.isReleased) return;
    trackPromise(this.pending, this.claimLoop());
    this.every(this.settings.lockMs / 3, (session) => this.held.renew(session));
    this.every(this.clocks.compareEveryMs, (session) => this.compareClocks(session));
  }

  async submit(key: ResponseKey, { delayMs = 0 }: SubmitTerms = {}): Promise<void> {
    if (this.isReleased) throw new Error('bullmqEngine: the engine is released and takes no more responses');
    // With room it is the next job to be claimed, and this process the first to ask for it.
    const mayClaim = delayMs <= 0 && this.failures.worker !== undefined && this.clock.isRight && this.slots.tryTake();
    const session = await withTimeout(this.add(key, mayClaim, delayMs), SUBMITS_WITHIN_MS, () => TOO_LATE).catch(
      (error: unknown) => {
        if (mayClaim) this.slots.giveBack();
        throw this.settings.link.explain(error);
      },
    );
    if (mayClaim) await settledWithin(SUBMITS_WITHIN_MS, () => trackPromise(this.pending, this.claim(session, false)));
  }

  release(): Promise<void> {
    this.released ??= this.releaseOnce();
    return this.released;
  }

  close(): Promise<void> {
    this.closed ??= this.closeOnce();
    return this.closed;
  }

  private get isReleased(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Opened once it is needed, and again if that failed; BullMQ itself connects again later. */
  private open(): Promise<Session> {
    this.opening ??= this.openOnce();
    return this.opening;
  }

  private async openOnce(): Promise<Session> {
    try {
      this.session = await this.settings.link.open({
        onError: (error) => this.reportLost(error),
        signal: this.stopping.signal,
      });
      return this.session;
    } catch (error) {
      this.opening = undefined;
      throw error;
    }
  }

  private async add(key: ResponseKey, lifo: boolean, delayMs: number): Promise<Session> {
    const session = await this.open();
    // The response has its times by this clock: other processes would take it for overdue, or its log for expired.
    if (!this.clock.isRight && !(await this.compareClocks(session)))
      throw new Error(
        "bullmqEngine: the clock of this process does not agree with the database's: it takes no responses",
      );
    const { jobId, data } = responseJob(key);
    const delay = Math.max(Math.ceil(delayMs), 0);
    const terms = { jobId, delay, removeOnComplete: true, removeOnFail: true };
    if (lifo) await session.queue.add(JOB_NAME, data, { ...terms, lifo });
    else {
      const [head] = await session.queue.getPrioritized(0, 0);
      await session.queue.add(JOB_NAME, data, { ...terms, priority: this.order.next(key.scope, head?.priority) });
    }
    return session;
  }

  private async claimLoop(): Promise<void> {
    while (await this.slots.take()) await this.claimWhenPossible();
  }

  /** Has a place, which it gives back. */
  private async claimWhenPossible(): Promise<void> {
    try {
      const session = await this.open();
      if (this.clock.isRight || (await this.compareClocks(session))) return await this.claim(session, true);
      await this.pause(this.clocks.compareEveryMs);
    } catch (error) {
      this.reportLost(error);
      await this.pause(RETRY_AFTER_MS);
    }
    this.slots.giveBack();
  }

  /** Runs the next job, if there is one, in a place that the caller took. */
  private async claim(session: Session, block: boolean): Promise<void> {
    this.claims += 1;
    const token = `${this.id}:${this.claims}`;
    const job = await session.worker.getNextJob(token, { block }).catch(async (error: unknown) => {
      this.reportLost(error);
      await this.pause(RETRY_AFTER_MS);
    });
    if (job) trackPromise(this.pending, this.run(this.held.hold(job, token)));
    else this.slots.giveBack();
  }

  private async run(held: HeldJob): Promise<void> {
    const outcome = await this.runJob(held);
    // Without a reason to hand it over, it does not run again at once.
    if (outcome === 'released' && !held.controller.signal.aborted) await this.pause(RETRY_AFTER_MS);
    while (!held.isLost && !(await this.settleJob(held, outcome)) && !this.isReleased) await this.pause(RETRY_AFTER_MS);
    this.held.drop(held);
    this.slots.giveBack();
  }

  private async runJob({ job, controller }: HeldJob): Promise<Outcome> {
    const { worker } = this.failures;
    // A claim that was on its way when the engine was released, or when the clocks no longer agreed.
    if (!worker || this.isReleased || !this.clock.isRight) return 'released';
    const key = readJobKey(job.data);
    const left: Outcome = job.attemptsStarted >= MAX_ATTEMPTS ? 'ended' : 'released';
    if (!key) {
      // A newer version may have submitted it, during an update.
      const message =
        `bullmqEngine: job ${job.id} is no response of this version: it is left to other processes, and given up at the ` +
        `${MAX_ATTEMPTS}th attempt`;
      this.failures.report('job', new Error(message));
      return left;
    }
    try {
      return await trackPromise(this.runs, worker.run({ key, signal: controller.signal }));
    } catch (error) {
      this.failures.report('worker', error);
      return left;
    }
  }

  /** Whether the job is settled: completed, returned to the queue, or lost. */
  private async settleJob({ job, token }: HeldJob, outcome: Outcome): Promise<boolean> {
    try {
      await (outcome === 'ended' ? job.moveToCompleted(null, token, false) : job.moveToWait(token));
      return true;
    } catch (error) {
      if (isRecord(error) && LOST.has(error.code)) return true;
      this.failures.report('database', this.settings.link.explain(error));
      return false;
    }
  }

  /** Whether the clocks agree. Without an answer of the database, whether they did before. */
  private async compareClocks({ worker, now }: Session): Promise<boolean> {
    const difference = await this.clock.compare(now).catch((error: unknown) => this.reportLost(error));
    if (difference) this.failures.report('clock', difference);
    const { isRight } = this.clock;
    if (this.isReleased || isRight === this.isLookingForStalled) return isRight;
    this.isLookingForStalled = isRight;
    // By a clock that is ahead, the jobs of others would be stalled.
    if (!isRight) await worker.pause(true);
    else await worker.resume().then(() => worker.startStalledCheckTimer());
    return isRight;
  }

  private every(ms: number, action: (session: Session) => Promise<unknown>): void {
    const timer = setInterval(() => {
      if (this.session) void action(this.session);
    }, ms);
    this.timers.push(timer.unref());
  }

  /** Ends early on release. */
  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => {});
  }

  /** Errors of connections that the engine is closing are not reported. */
  private reportLost(error: unknown): void {
    if (!this.isReleased) this.failures.report('database', this.settings.link.explain(error));
  }

  private async releaseOnce(): Promise<void> {
    this.stopping.abort(new Error('The engine is released.'));
    this.slots.close();
    this.held.abortAll(new Error('The engine is released.'));
    await settledWithin(RELEASES_WITHIN_MS, () => this.stopWaiting());
    while (this.runs.size > 0) await Promise.allSettled(this.runs);
    await settledWithin(RELEASES_WITHIN_MS, async () => {
      while (this.pending.size > 0) await Promise.all(this.pending);
    });
    for (const timer of this.timers) clearInterval(timer);
  }

  /** Ends the request that waits for a job. */
  private async stopWaiting(): Promise<void> {
    await this.session?.worker.pause(true);
    await this.session?.worker.getBackend().disconnectBlocking();
  }

  private async closeOnce(): Promise<void> {
    await this.release();
    await settledWithin(RELEASES_WITHIN_MS, () => Promise.resolve(this.opening));
    await this.session?.close();
  }
}

/** The promise, which is in the set until it settles. */
function trackPromise<Value>(all: Set<Promise<unknown>>, promise: Promise<Value>): Promise<Value> {
  const entry = promise.catch(() => {}).finally(() => all.delete(entry));
  all.add(entry);
  return promise;
}
