/** Reads the events of a response from its log, for one client: what is there, and what is still to come. */

import { AsyncResource } from 'node:async_hooks';
import type { Lifetime } from '../../engine/turn/lifetime.ts';
import type { LogHead } from '../../ports/background/event-log.ts';
import { fromStore, type ResponseKey } from '../../ports/store.ts';
import { isStoreError } from '../../ports/store-error.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { TurnEvent } from '../../protocol/events.ts';
import { quoteId } from '../../protocol/ids.ts';
import { type Consumer, deliver, NULL_CONSUMER, Stage } from '../../streams/pull-stream.ts';
import { eventIn, unreadableEvents } from './event-text.ts';
import type { LogWatch } from './log-watch.ts';
import type { EventReader } from './recording.ts';

/** Milliseconds before a failed reading is tried again, and for how long. */
const RETRY_MS = 1000;
const MAX_RETRYING_MS = 60_000;
/** Bytes of events that are read at once. */
const PAGE_BYTES = 256 * 1024;

/** The events that this process has just written; undefined if it has not, or no longer, those after that number. */
type RecentEvents = (after: number) => readonly TurnEvent[] | undefined;

/** What a follower reads. */
interface Followed {
  readonly watch: LogWatch;
  readonly key: ResponseKey;
  /** Spares the store what this process knows. */
  readonly recent: RecentEvents;
  /** Registers a function that is called when this process has written more; returns how to unregister it. */
  readonly onWritten: (wake: () => void) => () => void;
  /** Whether the response itself is still stored. Throws `store_error`. */
  readonly isStored: () => Promise<boolean>;
}

/** How it is read. */
export interface Following {
  /** The number of the last event that the client has. */
  readonly after: number;
  readonly reader: EventReader<TurnEvent>;
  /** Ends the reading, which ends it when it is over. */
  readonly life: Lifetime;
  /** Milliseconds without events before a heartbeat; undefined for none. */
  readonly heartbeatMs: number | undefined;
}

const LATER = Symbol('later');

/** One reading. It runs in its own client's async context, not in that of the response. */
export class LogFollower extends Stage<string> {
  private readonly followed: Followed;
  private readonly following: Following;
  private readonly context = new AsyncResource('LOGGED_EVENTS');
  /** The number of the last event that was read. */
  private sequence: number;
  private consumer: Consumer<string> = NULL_CONSUMER;
  private isPulled = false;
  /** What was read while nobody pulled. */
  private ready = '';
  private isReading = false;
  /** Whether the log has changed since it was read. */
  private hasChanged = true;
  private isOver = false;
  private heartbeat: NodeJS.Timeout | undefined;
  /** Undefined while the store answers. */
  private failingSince: number | undefined;
  /** Whether the log was not there at the last look. */
  private wasMissing = false;
  private readonly leave: readonly (() => void)[];

  constructor(followed: Followed, following: Following) {
    super();
    this.followed = followed;
    this.following = following;
    this.sequence = following.reader.readsAll ? -1 : following.after;
    const { signal } = following.life;
    signal.addEventListener('abort', this.resume, { once: true });
    this.leave = [
      followed.watch.watch(followed.key, (head) => this.onHead(head)),
      followed.onWritten(this.wake),
      () => signal.removeEventListener('abort', this.resume),
      following.life.leave,
    ];
  }

  pull(consumer: Consumer<string>): void {
    this.consumer = consumer;
    this.isPulled = true;
    this.awaitBeat();
    if (this.ready !== '') this.deliver(this.ready);
    else this.resume();
  }

  close(): void {
    this.isOver = true;
    this.isPulled = false;
    clearTimeout(this.heartbeat);
    for (const leave of this.leave) leave();
  }

  private readonly wake = (): void => {
    this.hasChanged = true;
    this.resume();
  };

  private readonly resume = (): void => {
    if (this.isPulled && !this.isReading) this.context.runInAsyncScope(() => void this.read());
  };

  private onHead(head: LogHead | undefined): void {
    if (!head || head.ended || head.next > this.sequence + 1) this.wake();
  }

  /** Hands on the next events, or waits for some. */
  private async read(): Promise<void> {
    this.isReading = true;
    try {
      while (this.isPulled && this.hasChanged && !this.isOver && !this.following.life.signal.aborted) {
        this.hasChanged = false;
        await this.readSome();
      }
    } catch (error) {
      this.cutShort(error);
    } finally {
      this.isReading = false;
    }
    this.finishRead();
  }

  private async readSome(): Promise<void> {
    const recent = this.followed.recent(this.sequence);
    if (recent) return recent.length > 0 ? this.handOn(recent, false) : undefined;
    const { watch, key } = this.followed;
    const page = await fromStore(() => watch.log.read(key, this.sequence, PAGE_BYTES)).catch(this.tryAgain);
    if (page === LATER) return;
    this.failingSince = undefined;
    if (!page) return this.onMissing();
    this.wasMissing = false;
    if (page.events.length === 0 && page.next > this.sequence + 1) throw unreadableEvents();
    const events = page.events.map(eventIn);
    const isWhole = page.ended && page.from + events.length >= page.next;
    if (events.length > 0 || isWhole) this.handOn(events, isWhole);
  }

  /** Its log is deleted before the response is: whether that was deleted shows a moment later. */
  private async onMissing(): Promise<void> {
    const { key, isStored } = this.followed;
    if (!(await isStored()))
      throw new ApiError('response_not_found', `Response with id ${quoteId(key.id)} was deleted.`);
    if (this.wasMissing) throw new ApiError('events_expired', 'The events of this response are no longer kept.');
    this.wasMissing = true;
    setTimeout(this.wake, RETRY_MS).unref();
  }

  /** A store that is down for a while breaks no stream. */
  private readonly tryAgain = (error: ApiError): typeof LATER => {
    if (isStoreError(error.cause, 'unreadable_log')) throw unreadableEvents(error.cause);
    this.failingSince ??= performance.now();
    if (performance.now() - this.failingSince > MAX_RETRYING_MS) throw error;
    setTimeout(this.wake, RETRY_MS).unref();
    return LATER;
  };

  private handOn(events: readonly TurnEvent[], isWhole: boolean): void {
    const { reader, after } = this.following;
    let text = '';
    for (const event of events) {
      if ('sequence' in event) this.sequence = event.sequence;
      text += reader.read(event, after);
    }
    this.hasChanged = true;
    this.isOver = isWhole || events.at(-1)?.type === 'turn-end';
    if (this.isOver) text += reader.end();
    if (text !== '') this.deliver(text);
  }

  /** A heartbeat may have answered the pull while the store was asked. */
  private deliver(text: string): void {
    if (!this.isPulled) {
      this.ready += text;
      return;
    }
    this.isPulled = false;
    this.ready = '';
    clearTimeout(this.heartbeat);
    deliver(this.consumer, text);
  }

  /** After a reading: ends, or waits for more. */
  private finishRead(): void {
    if (!this.isPulled) return;
    const { life } = this.following;
    if (this.isOver) return this.finishPulled();
    if (life.signal.aborted) return this.cutShort(life.signal.reason);
    if (this.hasChanged) this.resume();
  }

  /** From the pull on, so that readings without events do not delay it. */
  private awaitBeat(): void {
    const { heartbeatMs } = this.following;
    clearTimeout(this.heartbeat);
    if (heartbeatMs !== undefined) this.heartbeat = setTimeout(this.sendHeartbeat, heartbeatMs).unref();
  }

  private readonly sendHeartbeat = (): void => {
    if (this.isPulled) this.deliver(this.following.reader.read({ type: 'heartbeat' }, this.following.after));
  };

  /** Reports why it ends here; a client that has left receives no report. */
  private cutShort(reason: unknown): void {
    this.isOver = true;
    if (reason instanceof ApiError) this.deliver(this.following.reader.fail(this.sequence + 1, reason.body));
    else if (this.isPulled) this.finishPulled();
  }

  private finishPulled(): void {
    this.isPulled = false;
    this.finish(this.consumer);
  }
}
