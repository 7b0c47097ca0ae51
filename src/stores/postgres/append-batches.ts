/** Collects appends to the logs of many responses into one statement: a disk commits less often than many responses append. */
import type { LogAppend } from '../../ports/background/event-log.ts';
import { placeOf, type ResponseKey } from '../../ports/store.ts';
import { isRecord } from '../../protocol/record.ts';

/** The statements that run at the same time; what comes meanwhile goes into the next ones. */
const MOST_AT_ONCE = 2;
/** The appends, and about the characters, of one statement. */
const MOST_APPENDS = 100;
const MOST_CHARACTERS = 1024 * 1024;
/** A statement that takes longer no longer counts as running: a dead connection must not hold up all logs. */
const SLOW_MS = 2000;

/** One append, and its log. */
export interface KeyedAppend {
  readonly key: ResponseKey;
  readonly append: LogAppend;
}

/** Writes appends to different logs, each all or nothing by itself; resolves with the indexes of those that were written. */
type WriteAppends = (appends: readonly KeyedAppend[]) => Promise<ReadonlySet<number>>;

interface Waiting extends KeyedAppend {
  readonly characters: number;
  resolve(isWritten: boolean): void;
  reject(error: unknown): void;
}

/** The appends of one store. */
export class AppendBatches {
  private readonly write: WriteAppends;
  private waiting: Waiting[] = [];
  private running = 0;
  private isPlanned = false;

  constructor(write: WriteAppends) {
    this.write = write;
  }

  /** Resolves with whether it was written; rejects if its statement failed. */
  append(key: ResponseKey, append: LogAppend): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const characters = append.events.reduce((sum, text) => sum + text.length, append.state.length);
      this.waiting.push({ key, append, characters, resolve, reject });
      this.plan();
    });
  }

  /** Not at once: the timers of many writers fire one after another, in one turn of the event loop. */
  private plan(): void {
    if (this.isPlanned || this.running >= MOST_AT_ONCE || this.waiting.length === 0) return;
    this.isPlanned = true;
    setImmediate(() => {
      this.isPlanned = false;
      void this.send(this.waiting.splice(0, this.countOfNext()));
      this.plan();
    });
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    const leave = this.enter();
    await this.writeAll(batch);
    leave();
  }

  /** A value that the database refuses fails its own append: the others of its statement are then written one by one. */
  private async writeAll(batch: readonly Waiting[]): Promise<void> {
    try {
      const written = await this.write(batch);
      for (const [index, { resolve }] of batch.entries()) resolve(written.has(index));
    } catch (error) {
      if (batch.length > 1 && refusesValue(error)) for (const each of batch) await this.writeAll([each]);
      else for (const { reject } of batch) reject(error);
    }
  }

  /** Takes one of the places of statements, until the returned function is called or the time is over. */
  private enter(): () => void {
    this.running += 1;
    const leave = () => {
      if (!timer) return;
      clearTimeout(timer);
      timer = undefined;
      this.running -= 1;
      this.plan();
    };
    let timer: NodeJS.Timeout | undefined = setTimeout(leave, SLOW_MS).unref();
    return leave;
  }

  /** How many may share a statement: the first ones, as far as each is of another log, at least one. */
  private countOfNext(): number {
    const places = new Set<string>();
    let characters = 0;
    for (const waiting of this.waiting) {
      const place = placeOf(waiting.key);
      characters += waiting.characters;
      if (places.size === MOST_APPENDS || places.has(place)) break;
      if (places.size > 0 && characters > MOST_CHARACTERS) break;
      places.add(place);
    }
    return places.size;
  }
}

/** Classes of SQLSTATE: data exceptions, broken constraints and exceeded limits. */
const VALUE_ERRORS = ['22', '23', '54'];

function refusesValue(error: unknown): boolean {
  return isRecord(error) && VALUE_ERRORS.includes(String(error.code).slice(0, 2));
}
