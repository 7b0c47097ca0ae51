/** The port that keeps the events of responses that outlive their request, so that any process can show and continue them. */
import type { MaybePromise, ResponseKey } from './response-key.ts';

/** A log before its first event. */
export interface NewEventLog {
  /** The number of the process that writes it: 1 or more. */
  readonly epoch: number;
  /** The request, as text that only the package reads: another process continues the response with it. */
  readonly request: string;
  /** Milliseconds since the epoch; afterwards an unended log counts as missing. */
  readonly expiresAt: number;
}

/** Events to append, and the state after them. */
export interface LogAppend {
  /** The writer's epoch; nothing is written if the log has another one. */
  readonly epoch: number;
  /** The sequence number of the first event; nothing is written unless it is the log's `next`. */
  readonly from: number;
  /** One JSON text for each event, in the order of their numbers, without gaps; empty to replace the state alone. */
  readonly events: readonly string[];
  /** Replaces the log's state; text that only the package reads. */
  readonly state: string;
  /** Set if these are the last events: the log ends, and is kept until this time, in milliseconds since the epoch. */
  readonly endsUntil?: number | undefined;
}

/** The position of a log. */
export interface LogHead {
  /** The owner's number: whoever claims the log has a higher one. */
  readonly epoch: number;
  /** The sequence number of the next event. */
  readonly next: number;
  /** Whether there will be no more events. */
  readonly ended: boolean;
}

/** A log that another process continues. */
export interface ClaimedLog extends LogHead {
  /** The request as it was given to `begin`. */
  readonly request: string;
  /** The state of the last append; empty before the first. */
  readonly state: string;
}

/** Some events of a log. */
export interface LogPage extends LogHead {
  /** The sequence number of the first of these events. */
  readonly from: number;
  /** The events, as they were appended. */
  readonly events: readonly string[];
}

/**
 * Keeps one log of events for each response. Every method is one atomic step for all processes. A log that is missing,
 * deleted, expired or in another scope is never created by another method than `begin`.
 */
export interface EventLog {
  /** Whether other processes see it, unlike what is in the memory of one. */
  readonly isShared: boolean;
  /** Creates the log, in the place of any other with this key. */
  begin(key: ResponseKey, log: NewEventLog): MaybePromise<void>;
  /** Appends if epoch and position fit and the log has not ended; returns whether it did. */
  append(key: ResponseKey, append: LogAppend): MaybePromise<boolean>;
  /**
   * Takes the log over: it has this epoch from now on. Returns undefined and changes nothing if the log is missing or
   * its epoch is not lower. A log that has ended can be claimed, but not appended to. Throws a `StoreError` (`unreadable_log`) for a text
   * that the log cannot read.
   */
  claim(key: ResponseKey, epoch: number): MaybePromise<ClaimedLog | undefined>;
  /**
   * Ends the log without further events, if its epoch is lower; it has this one from now on, and is kept until the
   * given time. Returns whether it did.
   */
  end(key: ResponseKey, epoch: number, until: number): MaybePromise<boolean>;
  /**
   * The events after this sequence number (-1 for all), oldest first: at least one if there is one, and no more than
   * about `maxBytes` of JSON. Undefined if the log is missing. Throws a `StoreError` (`unreadable_log`) for a text that the log cannot read.
   */
  read(key: ResponseKey, after: number, maxBytes: number): MaybePromise<LogPage | undefined>;
  /** The positions of these logs, in their order, in one round trip; undefined for a missing one. */
  heads(keys: readonly ResponseKey[]): MaybePromise<readonly (LogHead | undefined)[]>;
  /** Deletes the log. Returns whether there was one. */
  delete(key: ResponseKey): MaybePromise<boolean>;
}
