/** The port to what runs responses in the background: in this process, or in whichever process claims them first. */
import { withMethods } from '../host/options-check.ts';
import type { ResponseKey } from './response-key.ts';

/** A response that an engine hands to a worker. */
export interface ClaimedRun {
  /** Whose response it is. */
  readonly key: ResponseKey;
  /** Aborted when the run is to be handed over to another process, or no longer belongs to this one. */
  readonly signal: AbortSignal;
}

/** What a router does with the responses that its engine claims. */
export interface BackgroundWorker {
  /**
   * Runs the response to its end. Resolves with `ended` if nothing is left to do, with `released` if another process
   * is to continue it. Never rejects.
   */
  run(claimed: ClaimedRun): Promise<'ended' | 'released'>;
  /** Reports a failure of the engine itself, such as a lost connection. */
  onError(error: unknown): void;
}

/** How a response is handed in. */
export interface SubmitTerms {
  /** Milliseconds, as a whole number, before any process claims it. Default: 0. */
  readonly delayMs?: number | undefined;
}

/** Runs responses that outlive their requests. */
export interface BackgroundEngine {
  /** A short name for messages and the status. */
  readonly name: string;
  /**
   * Whether another process continues a run whose process is gone. Such an engine needs a store with `replace` and an
   * event log.
   */
  readonly takesOver: boolean;
  /** Begins to claim responses for this worker. Called once; throws a `TypeError` the second time. */
  start(worker: BackgroundWorker): void;
  /**
   * Hands in a response; resolves when it is kept for some process to claim. The engine claims it for its own worker
   * at once if that has room. Nothing happens for a response that waits or runs already. Rejects if it could not be kept.
   */
  submit(key: ResponseKey, terms?: SubmitTerms): Promise<void>;
  /**
   * Claims nothing more, and releases what runs: aborts the signals, and resolves when all workers have answered. May
   * be called twice.
   */
  release(): Promise<void>;
  /** Releases what runs, and every connection of the engine's own. May be called twice. */
  close(): Promise<void>;
}

/** Whether the value has the methods of an engine. */
export const isBackgroundEngine = withMethods('start', 'submit', 'release', 'close');

/** What an engine needs that other processes continue, besides itself. */
interface SharedParts {
  /** A store of responses. */
  readonly store:
    | { readonly events?: { readonly isShared?: boolean | undefined } | undefined; readonly replace?: unknown }
    | undefined;
  readonly secret: unknown;
}

/**
 * Throws a `TypeError` where other processes could not do what the engine hands over to them, such as `continues responses`; `place`
 * is the function of the host, and its option.
 */
export function checkTakeOver(
  place: string,
  engine: Pick<BackgroundEngine, 'name' | 'takesOver'>,
  what: string,
  { store, secret }: SharedParts,
): void {
  if (!engine.takesOver) return;
  const why = `${place}: engine '${engine.name}' ${what} in other processes`;
  if (!store?.events?.isShared || !store.replace)
    throw new TypeError(`${why}, so store must be one that they share: redisStore, postgresStore or sqliteStore`);
  if (secret === undefined) throw new TypeError(`${why}, so secret must be set, the same in all of them`);
}
