/** Collects appends to the logs of many responses into one statement: a disk commits less often than many responses append. */
import type { LogAppend } from '../../ports/background/event-log.ts';
import type { Linked } from '../../ports/queues/line.ts';
import { TurnQueue } from '../../ports/queues/turn-queue.ts';
import { limitScope } from '../../ports/scope.ts';
import { type ResponseKey, storeKey } from '../../ports/store.ts';
import { isRecord } from '../../protocol/record.ts';

/** The statements that run at the same time; what comes meanwhile goes into the next ones. */
const MAX_STATEMENTS = 2;
/** The appends, and about the characters, of one statement. */
const MAX_APPENDS = 100;
const MAX_CHARACTERS = 1024 * 1024;
/** A statement that takes longer no longer counts as running: a dead connection must not hold up all logs. */
const SLOW_MS = 2000;

/** One append, and its log. */
export interface KeyedAppend {
  readonly key: ResponseKey;
  readonly append: LogAppend;
}

/** Writes appends to different logs, each all or nothing by itself; resolves with the indexes of those that were written. */
type WriteAppends = (appends: readonly KeyedAppend[]) => Promise<ReadonlySet<number>>;

interface Waiting extends KeyedAppend, Linked<Waiting> {
  readonly tenant: string;
  readonly characters: number;
  resolve(isWritten: boolean): void;
  reject(error: unknown): void;
}

/** The appends of one store; those of several tenants take turns. */
export class AppendBatches {
  private readonly write: WriteAppends;
  private readonly waiting = new TurnQueue<Waiting>();
  private running = 0;
  private isPlanned = false;

  constructor(write: WriteAppends) {
    this.write = write;
  }

  /** Resolves with whether it was written; rejects if its statement failed. */
  append(key: ResponseKey, append: LogAppend): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const characters = append.events.reduce((sum, text) => sum + text.length, append.state.length);
      this.waiting.add({ key, append, tenant: limitScope(key.scope), characters, resolve, reject });
      this.plan();
    });
  }

  /** Not at once: the timers of many writers fire one after another, in one turn of the event loop. */
  private plan(): void {
    if (this.isPlanned || this.running >= MAX_STATEMENTS || this.waiting.size === 0) return;
    this.isPlanned = true;
    setImmediate(() => {
      this.isPlanned = false;
      void this.send(this.nextBatch());
      this.plan();
    });
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    const release = this.takeSlot();
    await this.writeAll(batch);
    release();
  }

  /** A value that the database refuses fails its own append: the others of its statement are then written one by one. */
  private async writeAll(batch: readonly Waiting[]): Promise<void> {
    try {
      const written = await this.write(batch);
      for (const [index, { resolve }] of batch.entries()) resolve(written.has(index));
    } catch (error) {
      const refusesValue = isRecord(error) && VALUE_ERRORS.includes(String(error.code).slice(0, 2));
      if (batch.length > 1 && refusesValue) for (const each of batch) await this.writeAll([each]);
      else for (const { reject } of batch) reject(error);
    }
  }

  /** Takes one of the slots of statements, until the returned function is called or the time is over. */
  private takeSlot(): () => void {
    this.running += 1;
    const release = () => {
      if (!timer) return;
      clearTimeout(timer);
      timer = undefined;
      this.running -= 1;
      this.plan();
    };
    let timer: NodeJS.Timeout | undefined = setTimeout(release, SLOW_MS).unref();
    return release;
  }

  /** Those that share the next statement: as far as each is of another log and there is room, at least one. */
  private nextBatch(): readonly Waiting[] {
    const batch: Waiting[] = [];
    const places = new Set<string>();
    const passed = new Set<string>();
    let characters = 0;
    const hasRoom = (tenant: string, first: Waiting) => {
      const fits = places.size === 0 || characters + first.characters <= MAX_CHARACTERS;
      if (fits && !places.has(storeKey(first.key))) return true;
      passed.add(tenant);
      return false;
    };
    while (batch.length < MAX_APPENDS) {
      const next = this.waiting.next(hasRoom);
      if (!next) break;
      batch.push(next);
      places.add(storeKey(next.key));
      characters += next.characters;
    }
    for (const tenant of passed) this.waiting.wake(tenant);
    return batch;
  }
}

/** Classes of SQLSTATE: data exceptions, broken constraints and exceeded limits. */
const VALUE_ERRORS = ['22', '23', '54'];
