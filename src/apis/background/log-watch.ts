/** Watches the logs that other processes may write or take over: all of one router with one query at a time. */

import type { EventLog, LogHead } from '../../ports/background/event-log.ts';
import { type ResponseKey, storeKey } from '../../ports/store.ts';

/** The time between two queries, in milliseconds. */
const EVERY_MS = 250;
/** The maximum number of logs in one query. */
const MAX_KEYS = 500;
/** The shortest time between two reports of a failing log, in milliseconds. */
const REPORT_EVERY_MS = 10_000;

type OnHead = (head: LogHead | undefined) => void;

interface Watched {
  readonly key: ResponseKey;
  readonly watchers: Set<OnHead>;
}

/** The event log of one router, and the logs in it that are watched. */
export class LogWatch {
  readonly log: EventLog;
  private readonly onError: (error: unknown) => void;
  private readonly watched = new Map<string, Watched>();
  private timer: NodeJS.Timeout | undefined;
  private isAsking = false;
  private reportedAt = Number.NEGATIVE_INFINITY;

  constructor(log: EventLog, onError: (error: unknown) => void) {
    this.log = log;
    this.onError = onError;
  }

  /** Calls `onHead` with the position of the log, again and again; undefined if it is gone. Returns how to stop that. */
  watch(key: ResponseKey, onHead: OnHead): () => void {
    const place = storeKey(key);
    const { watchers } = this.watched.get(place) ?? this.addKey(place, key);
    watchers.add(onHead);
    this.timer ??= setInterval(() => void this.look(), EVERY_MS).unref();
    return () => {
      if (!watchers.delete(onHead)) return;
      if (watchers.size === 0) this.watched.delete(place);
      if (this.watched.size === 0) this.stop();
    };
  }

  /** Reports a failure of the log, unless one was just reported: while it is away, every use of it fails. */
  report(error: unknown): void {
    const now = performance.now();
    if (now - this.reportedAt < REPORT_EVERY_MS) return;
    this.reportedAt = now;
    this.onError(error);
  }

  private addKey(place: string, key: ResponseKey): Watched {
    const watched: Watched = { key, watchers: new Set() };
    this.watched.set(place, watched);
    return watched;
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** A failing store changes nothing: the next look may succeed. */
  private async look(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      const watched = [...this.watched.values()];
      for (let from = 0; from < watched.length; from += MAX_KEYS) await this.ask(watched.slice(from, from + MAX_KEYS));
    } catch (error) {
      this.report(error);
    } finally {
      this.isAsking = false;
    }
  }

  /** Who begins to watch meanwhile may have changed the log since, and must not hear how it was before. */
  private async ask(watched: readonly Watched[]): Promise<void> {
    const askers = watched.map(({ watchers }) => [...watchers]);
    const heads = await this.log.heads(watched.map(({ key }) => key));
    for (const [index, { watchers }] of watched.entries())
      for (const onHead of askers[index] ?? []) if (watchers.has(onHead)) onHead(heads[index]);
  }
}
