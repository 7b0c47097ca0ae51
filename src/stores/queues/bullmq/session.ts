/** What the engine needs of a database: the queue, its worker, and the database's time. */

/** A job that this process has claimed. */
export interface ClaimedJob {
  readonly id?: string | undefined;
  /** Whatever is in the queue. */
  readonly data: unknown;
  /** How often it has been claimed, this time included. */
  readonly attemptsStarted: number;
  moveToCompleted(value: null, token: string, fetchNext: false): Promise<unknown>;
  moveToWait(token: string): Promise<unknown>;
}

/** A worker without a processor: the engine claims, renews and completes its jobs. */
interface JobWorker {
  getNextJob(token: string, options: { readonly block: boolean }): Promise<ClaimedJob | undefined>;
  /** Resolves with the ids of those that no longer belong to their tokens. */
  extendJobLocks(ids: string[], tokens: string[], ms: number): Promise<readonly string[]>;
  startStalledCheckTimer(): Promise<void>;
  pause(doNotWaitActive: true): Promise<void>;
  resume(): Promise<void>;
  getBackend(): { disconnectBlocking(): Promise<void> };
}

interface JobQueue {
  add(name: string, data: unknown, options: object): Promise<unknown>;
  /** Those that wait with a priority, the next to be claimed first. */
  getPrioritized(start: number, end: number): Promise<readonly ({ readonly priority: number } | undefined)[]>;
}

/** A queue and its worker on a database that answered. */
export interface Session {
  readonly queue: JobQueue;
  readonly worker: JobWorker;
  /** The database's clock, in milliseconds since the epoch. */
  now(): Promise<number>;
  /** Ends every connection of the engine's own, even if the database does not answer. */
  close(): Promise<void>;
}

/** The caller of a session that is to be opened. */
export interface Opening {
  /** Receives lost connections, as long as the session is open. */
  readonly onError: (error: Error) => void;
  /** Aborted if the session is no longer wanted before it is open. */
  readonly signal: AbortSignal;
}

/** How sessions on one database are opened. */
export interface Link {
  /** Rejects if the database cannot be used; another call tries again. */
  open(opening: Opening): Promise<Session>;
  /** The error, or one that names what to do about it. */
  explain(error: unknown): unknown;
}

/** The settings of the queue. */
export interface QueueSettings {
  readonly queueName: string;
  readonly lockMs: number;
  readonly prefix: string;
}

/** The longest wait for an empty queue, in seconds: after it the worker looks again, whatever it has missed. */
const MAX_WAIT_SECONDS = 5;

/** The options of the worker. */
export function workerOptions({ lockMs, prefix }: QueueSettings) {
  return {
    prefix,
    autorun: false,
    lockDuration: lockMs,
    stalledInterval: Math.ceil(lockMs / 2),
    // The router counts failed attempts: the queue gives no job up.
    maxStalledCount: 1_000_000_000,
    drainDelay: Math.min(MAX_WAIT_SECONDS, lockMs / 2000),
  };
}

/** The options of the queue. Its log of events is for others to read, so it is kept short. */
export function queueOptions({ prefix }: QueueSettings) {
  return { prefix, streams: { events: { maxLen: 100 } } };
}

/** How long the database may take to close a connection, in milliseconds. */
const CLOSES_WITHIN_MS = 3000;

/** Closes the queue and its worker, or leaves them if the database does not answer. */
export async function closeQuietly(...parts: readonly (() => Promise<unknown>)[]): Promise<void> {
  await Promise.all(parts.map((part) => settledWithin(CLOSES_WITHIN_MS, part)));
}

/** Resolves when the work has settled, or when the time is over. */
export async function settledWithin(ms: number, work: () => Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work().then(done, done);
  });
}
