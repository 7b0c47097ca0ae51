/** Guards an answer whose events have a type each: what the Responses API and Anthropic's Messages API have in common. */

import { ApiError } from '../../../protocol/errors.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { isDone } from '../../../streams/sse-frames.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import type { RequestGuards } from '../request/request-guards.ts';
import { BODY } from '../texts/positions.ts';
import { mapTexts } from '../texts/walk.ts';

/** One answer. */
export abstract class TypedAnswer {
  protected readonly guards: RequestGuards;
  private room: number;
  /** Whether nothing may follow. */
  isBlocked = false;

  /** The maximum number of characters of one answer. */
  constructor(guards: RequestGuards, mostCharacters: number) {
    this.guards = guards;
    this.room = mostCharacters;
  }

  /** The events in the place of one. Rejects with `guard_failed`. */
  async event(data: string): Promise<readonly string[]> {
    if (this.isBlocked) return [];
    if (isDone(data)) return [data];
    const event = jsonIn(data);
    try {
      if (event === undefined) return [await this.guarded(data)];
      if (!isRecord(event) || typeof event.type !== 'string') return [JSON.stringify(await this.mapped(event))];
      const events = await this.taken(event, event.type);
      return this.guards.onlyObserves ? [data] : events.map((each) => this.eventText(each));
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      this.isBlocked = true;
      return this.blockedEnd().map((each) => this.eventText(each));
    }
  }

  async end(): Promise<readonly string[]> {
    return [];
  }

  /** The JSON of a whole answer. Rejects with `guard_failed`. */
  async whole(text: string): Promise<string> {
    const body = jsonIn(text);
    try {
      const shown = body === undefined ? await this.guarded(text) : JSON.stringify(await this.mapped(body));
      return this.guards.onlyObserves ? text : shown;
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      return JSON.stringify(this.blockedWhole(isRecord(body) ? unreadFields(body) : {}));
    }
  }

  /** The events in the place of one. */
  protected abstract taken(event: JsonObject, type: string): Promise<readonly JsonObject[]>;
  /** The events that end an answer which is blocked. */
  protected abstract blockedEnd(): readonly JsonObject[];
  /** The visible form of a whole answer that is blocked, of which these fields hold no text. */
  protected abstract blockedWhole(fields: JsonObject): JsonObject;

  /** The type first, by which the event is named. */
  protected eventText(event: JsonObject): string {
    return JSON.stringify({ type: event.type, ...event });
  }

  protected async mapped(value: unknown): Promise<unknown> {
    return mapTexts(value, '', BODY, { map: (text) => this.guarded(text) });
  }

  /** A whole text. */
  protected guarded(text: string): Promise<string> {
    return this.guards.output(text, 'text');
  }

  /** Throws `output_too_large`. */
  protected takeRoom(text: string): void {
    this.room -= text.length;
    if (this.room < 0) throw new ApiError('output_too_large', 'The handler wrote more than the limit for one answer.');
  }
}

/** What is shown of an answer that is blocked: what guards do not read. */
function unreadFields(body: JsonObject): JsonObject {
  const isUnread = ([name, value]: readonly [string, unknown]) => {
    if (BODY.skipped.has(name)) return true;
    return typeof value === 'string' ? BODY.unread.has(name) : typeof value !== 'object' || value === null;
  };
  return Object.fromEntries(Object.entries(body).filter(isUnread));
}
