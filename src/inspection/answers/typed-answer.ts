/** Guards an answer whose events have a type each: what the Responses API and Anthropic's Messages API have in common. */

import { ApiError } from '../../protocol/errors.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import type { RequestGuards } from '../request/request-guards.ts';
import { mapTexts } from '../request/texts.ts';
import type { Track } from '../tracks/text-track.ts';

/** One answer. */
export abstract class TypedAnswer {
  protected readonly guards: RequestGuards;
  private room: number;
  /** Whether nothing may follow. */
  isBlocked = false;

  /** Whether the request wants JSON. */
  protected readonly isJson: boolean;

  /** The maximum number of characters of one answer, and whether its text is JSON. */
  constructor(guards: RequestGuards, mostCharacters: number, isJson = false) {
    this.guards = guards;
    this.room = mostCharacters;
    this.isJson = isJson;
  }

  /** The events in the place of one. Rejects with `guard_failed`. */
  async event(data: string): Promise<readonly string[]> {
    if (this.isBlocked) return [];
    if (isDone(data)) return [data];
    const event = jsonIn(data);
    try {
      if (!isRecord(event) || typeof event.type !== 'string') return [await this.guards.output(data, 'text')];
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
      const shown = body === undefined ? await this.guarded(text, false) : this.spelled(await this.mapped(body));
      return this.guards.onlyObserves ? text : shown;
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      return this.spelled(this.blockedWhole(isRecord(body) ? body : {}));
    }
  }

  /** The events in the place of one. */
  protected abstract taken(event: JsonObject, type: string): Promise<readonly JsonObject[]>;
  /** The events that end an answer which is blocked. */
  protected abstract blockedEnd(): readonly JsonObject[];
  /** The visible form of a whole answer that is blocked. */
  protected abstract blockedWhole(body: JsonObject): JsonObject;

  /** The type first, by which the event is named. */
  protected eventText(event: JsonObject): string {
    return this.spelled({ type: event.type, ...event });
  }

  protected spelled(value: unknown): string {
    return JSON.stringify(value);
  }

  protected mapped(value: unknown): Promise<unknown> {
    const { isJson } = this;
    const json = (text: string) => this.guarded(text, true);
    return mapTexts(value, '', { map: (text) => this.guarded(text, false), json, isJson });
  }

  /** A whole text. */
  protected guarded(text: string, isJson: boolean): Promise<string> {
    return isJson ? this.guards.outputJson(text, 'arguments') : this.guards.output(text, 'text');
  }

  protected trackOf(place: string, isJson: boolean): Track {
    return isJson || place === 'arguments' ? this.guards.jsonTrack(place) : this.guards.textTrack(place);
  }

  /** Throws `output_too_large`. */
  protected takeRoom(text: string): void {
    this.room -= text.length;
    if (this.room < 0) throw new ApiError('output_too_large', 'The handler wrote more than the limit for one answer.');
  }
}
