/** Where the events of a response in the background go, and whether this process may go on with it. */

import type { TurnState } from '../../engine/turn/machine/state.ts';
import { fromStore, isRunning, type ResponseKey, type ResponseStore } from '../../ports/store.ts';
import type { TurnEvent } from '../../protocol/events.ts';
import type { NumberedEvent } from './event-text.ts';
import type { LogWatch } from './log-watch.ts';
import { LogWriter, type LogWriterHost, type OpenLog } from './log-writer.ts';
import { type RecordedEvent, Recording } from './recording.ts';

/** How often the store is checked for a cancellation or deletion, perhaps by another node, in milliseconds. */
const CHECK_MS = 5000;
/** The fixed cost of an event besides its text. */
const EVENT_SIZE = 200;
/** The response holds the content of these anyway. */
const REPEATING: ReadonlySet<TurnEvent['type']> = new Set([
  'turn-start',
  'turn-queued',
  'turn-progress',
  'text-end',
  'arguments-end',
  'part-end',
  'item-end',
  'turn-end',
]);

/** The keeper of one run. */
export interface RunKeeper {
  /** The events that this process still knows; undefined if nobody reads them. */
  readonly recording: Recording<TurnEvent> | undefined;
  /** Calls `onLost` when the response was ended, deleted or taken over. Returns how to stop watching. */
  watch(onLost: () => void): () => void;
  /** Takes a batch, with the state after it if there is one; resolves when the next batch may be made. */
  take(batch: readonly TurnEvent[], state: TurnState | undefined): Promise<void>;
  /**
   * Resolves when everything so far is kept, and this state where another process may go on from it; returns whether
   * the response is still this process's.
   */
  confirm(state?: TurnState): Promise<boolean>;
  /** Whether another process may go on with the response. */
  readonly isShared: boolean;
  /** Whether one does, once this one lets go of it. */
  readonly continuesElsewhere: boolean;
  /** Called when the run is stopped: what cannot be kept within seconds is given up. */
  shortenDeadline(): void;
  /** Called once, after the last batch; rejects if that could not be kept. A released response is continued by another process. */
  end(isReleased: boolean): Promise<void>;
}

/** Keeps the events in the memory of this process, if anybody is to read them. */
export class MemoryKeeper implements RunKeeper {
  readonly isShared = false;
  readonly continuesElsewhere = false;
  readonly recording: Recording<TurnEvent> | undefined;
  private readonly store: ResponseStore;
  private readonly key: ResponseKey;
  private readonly signal: AbortSignal;
  private readonly onError: (error: unknown) => void;
  /** The number of the last event. */
  private sequence = -1;

  constructor(
    store: ResponseStore,
    key: ResponseKey,
    { isRead, signal, onError }: { isRead: boolean; signal: AbortSignal; onError: (error: unknown) => void },
  ) {
    this.recording = isRead ? new Recording<TurnEvent>() : undefined;
    this.store = store;
    this.key = key;
    this.signal = signal;
    this.onError = onError;
  }

  watch(onLost: () => void): () => void {
    const look = async () => {
      if (!(await this.confirm())) onLost();
    };
    const timer = setInterval(() => void look(), CHECK_MS).unref();
    return () => clearInterval(timer);
  }

  async take(batch: readonly TurnEvent[]): Promise<void> {
    const events = batch.map((event) => {
      if ('sequence' in event) this.sequence = event.sequence;
      return toRecordedEvent(event, this.sequence);
    });
    this.recording?.add(events);
    await this.recording?.readersBehind(this.signal);
  }

  /** If the store fails, the response counts as wanted, and the failure is reported. */
  async confirm(): Promise<boolean> {
    try {
      const stored = await fromStore(() => this.store.get(this.key));
      return stored !== undefined && isRunning(stored);
    } catch (error) {
      this.onError(error);
      return true;
    }
  }

  shortenDeadline(): void {}

  async end(): Promise<void> {
    this.recording?.end();
  }
}

/** The end of one response's log, and the watch over all. */
interface WatchedLog extends Omit<OpenLog, 'log'> {
  readonly watch: LogWatch;
}

/** Keeps the events in the store's log; this process shows them once they are there. */
export class LogKeeper implements RunKeeper {
  readonly isShared = true;
  readonly continuesElsewhere: boolean;
  readonly recording = new Recording<TurnEvent>();
  private readonly open: WatchedLog;
  private readonly writer: LogWriter;
  private onLost = () => {};

  constructor(open: WatchedLog, host: Omit<LogWriterHost, 'onWritten' | 'onLost'>, continuesElsewhere: boolean) {
    this.open = open;
    this.continuesElsewhere = continuesElsewhere;
    const writerHost = {
      ...host,
      onWritten: (events: readonly NumberedEvent[]) =>
        this.recording.add(events.map((event) => toRecordedEvent(event, event.sequence))),
      onLost: () => this.onLost(),
    };
    this.writer = new LogWriter({ ...open, log: open.watch.log }, writerHost);
  }

  watch(onLost: () => void): () => void {
    this.onLost = onLost;
    const { watch, key, epoch } = this.open;
    return watch.watch(key, (head) => {
      // A smaller one was read before this process claimed the log.
      if (!head || head.epoch > epoch || head.ended) onLost();
    });
  }

  take(batch: readonly TurnEvent[], state: TurnState | undefined): Promise<void> {
    return this.writer.add(batch, state);
  }

  confirm(state?: TurnState): Promise<boolean> {
    return state ? this.writer.writeState(state) : this.writer.flush();
  }

  shortenDeadline(): void {
    this.writer.shortenDeadline();
  }

  async end(isReleased: boolean): Promise<void> {
    try {
      if (isReleased) await this.writer.release();
      else await this.writer.flush();
    } finally {
      this.recording.end();
    }
  }
}

function toRecordedEvent(event: TurnEvent, sequence: number): RecordedEvent<TurnEvent> {
  const text = 'text' in event ? event.text.length : 0;
  const logprobs = 'logprobs' in event ? event.logprobs.length : 0;
  return { sequence, event, size: EVENT_SIZE + text + logprobs, isRepeated: REPEATING.has(event.type) };
}
