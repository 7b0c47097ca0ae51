/** What the answers of all APIs have in common for guards that read another server's bytes: one walk, and texts that grow from event to event. */

import { bytesOfItem } from '../../../ports/limits.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import { moveCitations } from '../../../protocol/annotations.ts';
import { outputTooLarge } from '../../../protocol/errors.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isPromise, isRecord, type JsonObject, mapMaybePromise } from '../../../protocol/record.ts';
import { isDone } from '../../../streams/sse-frames.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import type { RequestGuards } from '../request/request-guards.ts';
import { BODY, type Position } from '../texts/positions.ts';
import { mapTexts } from '../texts/walk.ts';
import type { Track } from '../tracks/text-track.ts';

/** The names and indices that lead from an event to a text in it. */
export type Steps = readonly (string | number)[];

/** A text of an event that later events continue. A text that a format does not list as one of these is guarded as a whole. */
export interface GrowingText {
  /** The same in all events with parts of this text. */
  readonly key: string;
  /** For the reports of guards. */
  readonly place: string;
  readonly steps: Steps;
}

/** A growing text that has begun and not ended. */
export interface OpenText {
  readonly key: string;
  readonly track: Track;
  /** The last event with a part of it, with its texts guarded, and where that part stands. */
  event: JsonObject;
  steps: Steps;
}

/** The maximum number of texts that grow at the same time. */
const MAX_OPEN_TEXTS = 4096;

/** One answer. A format says which texts grow, where they end, and how an answer ends that is blocked. */
export abstract class AnswerReader {
  /** Whether nothing may follow. */
  isBlocked = false;
  protected readonly guards: RequestGuards;
  protected readonly openTexts = new Map<string, OpenText>();
  private textBudget: number;
  private keptBudget: number;
  private keptValues = 0;

  /** `maxCharacters` limits the growing texts of one answer, and what is kept of it, which may repeat them. */
  constructor(guards: RequestGuards, maxCharacters: number = Number.POSITIVE_INFINITY) {
    this.guards = guards;
    this.textBudget = maxCharacters;
    this.keptBudget = maxCharacters;
  }

  /** The events that take the place of one. Rejects with `guard_failed` and `output_too_large`. */
  async event(data: string): Promise<readonly string[]> {
    if (this.isBlocked) return [];
    try {
      if (isDone(data)) return [...(await this.endedTexts()), data];
      const event = jsonIn(data);
      if (event === undefined) return [await this.guardText(data, '')];
      if (!isRecord(event)) return [JSON.stringify(await this.mapTexts(event))];
      const events = await this.readEvent(event);
      return this.guards.onlyObserves ? [data] : events.map((each) => this.eventText(each));
    } catch (error) {
      return this.block(error);
    }
  }

  /** The events at the end of a stream that has no end of its own. */
  async end(): Promise<readonly string[]> {
    if (this.isBlocked) return [];
    try {
      return await this.endedTexts();
    } catch (error) {
      return this.block(error);
    }
  }

  private block(error: unknown): readonly string[] {
    if (!(error instanceof GuardBlocked)) throw error;
    this.isBlocked = true;
    return this.blockedEnd();
  }

  /** The JSON of a whole answer, or another text. Rejects with `guard_failed`. */
  async whole(text: string, body: unknown = jsonIn(text)): Promise<string> {
    const isJson = body !== undefined;
    const guarded = await this.wholeBody(isJson ? body : text);
    if (this.guards.onlyObserves) return text;
    return isJson || typeof guarded !== 'string' ? JSON.stringify(guarded) : guarded;
  }

  /** A whole answer. Rejects with `guard_failed`. */
  async wholeBody(body: unknown): Promise<unknown> {
    try {
      return await (typeof body === 'string' ? this.guardText(body, '') : this.readWhole(body));
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      return this.blockedWhole(isRecord(body) ? unreadFields(body) : {});
    }
  }

  /** The events that take the place of one. It was parsed for this reader alone, which may change it. */
  protected abstract readEvent(event: JsonObject): Promise<readonly JsonObject[]>;
  /** The data that end an answer which is blocked. */
  protected abstract blockedEnd(): readonly string[];
  /** What is shown of a whole answer that is blocked, of which these fields hold no text. */
  protected abstract blockedWhole(fields: JsonObject): JsonObject;

  /** What is held back at the end of the stream, of texts that have not ended before. */
  protected async endedTexts(): Promise<readonly string[]> {
    const events: JsonObject[] = [];
    for (const open of this.openTexts.values()) events.push(...(await this.endText(open)));
    return events.map((event) => this.eventText(event));
  }

  protected readWhole(body: unknown): MaybePromise<unknown> {
    return this.mapTexts(body);
  }

  /** The place of a whole text for the reports of guards. */
  protected placeAt(_path: string): string {
    return 'text';
  }

  protected eventText(event: JsonObject): string {
    return JSON.stringify(event);
  }

  /** The value with each of its texts guarded as a whole, and citations where their text is now. */
  protected mapTexts(value: unknown, position: Position = BODY): MaybePromise<unknown> {
    const tracks = new Map<string, Track>();
    const map = (text: string, path: string) => this.guardText(text, path, tracks);
    // Most events hold no text but one that grows.
    return mapMaybePromise(mapTexts(value, '', position, { map }), (mapped) =>
      this.withCitations(value, mapped, tracks),
    );
  }

  /** Counts a value that is kept beside the growing texts. Throws `output_too_large`. */
  protected countKept(value: unknown): void {
    this.keptValues += 1;
    this.keptBudget -= JSON.stringify(value ?? null).length + bytesOfItem(this.keptValues);
    if (this.keptBudget < 0) throw outputTooLarge('a response');
  }

  /** A whole text. Its track is added to `tracks`. */
  protected async guardText(text: string, path: string, tracks?: Map<string, Track>): Promise<string> {
    const track = this.guards.textTrack(this.placeAt(path));
    tracks?.set(text, track);
    return (await track.write(text)) + (await track.end());
  }

  /** The track of a text that was guarded before. */
  protected trackOf(_text: string): Track | undefined {
    return undefined;
  }

  private withCitations(before: unknown, after: unknown, tracks: ReadonlyMap<string, Track>): unknown {
    if (before === after) return after;
    if (Array.isArray(before) && Array.isArray(after))
      return after.map((each, at) => this.withCitations(before[at], each, tracks));
    if (!isRecord(before) || !isRecord(after)) return after;
    const fields = Object.entries(after).map(([name, each]) => [name, this.withCitations(before[name], each, tracks)]);
    const value: JsonObject = Object.fromEntries(fields);
    // A part of the Responses API has a text, and a message of Chat Completions a content.
    const text = before.text ?? before.content;
    if (!Array.isArray(before.annotations) || typeof text !== 'string') return value;
    return { ...value, annotations: shownCitations(this.trackOf(text) ?? tracks.get(text), value.annotations) };
  }

  /**
   * The event with its growing texts as far as they may pass on, and all others guarded. Throws `output_too_large` and
   * `GuardBlocked`.
   */
  protected async growTexts(event: JsonObject, growing: readonly GrowingText[]): Promise<JsonObject> {
    const texts = growing.map(({ steps }) => String(followSteps(event, steps)));
    for (const { steps } of growing) setValue(event, steps, '');
    const mapped = this.mapTexts(event);
    // The cast: texts are replaced by texts.
    const guarded = (isPromise(mapped) ? await mapped : mapped) as JsonObject;
    for (const [at, { key, place, steps }] of growing.entries()) {
      const text = texts[at] ?? '';
      this.textBudget -= text.length;
      if (this.textBudget < 0) throw outputTooLarge('a response');
      const open = this.openText(key, place, guarded, steps);
      setValue(guarded, steps, await open.track.write(text));
    }
    return guarded;
  }

  private openText(key: string, place: string, event: JsonObject, steps: Steps): OpenText {
    let open = this.openTexts.get(key);
    if (!open) {
      if (this.openTexts.size >= MAX_OPEN_TEXTS) throw new GuardBlocked('It has too many parts.');
      open = { key, track: this.guards.textTrack(place), event, steps };
      this.openTexts.set(key, open);
    }
    // A text continues in the form in which it came last.
    open.event = event;
    open.steps = steps;
    return open;
  }

  /** The events for one with a single text that grows: none while that text is held back. */
  protected async growText(event: JsonObject, growing: GrowingText): Promise<readonly JsonObject[]> {
    const guarded = await this.growTexts(event, [growing]);
    return followSteps(guarded, growing.steps) === '' ? [] : [guarded];
  }

  /** The rest of a text that is complete. */
  protected async endText(open: OpenText): Promise<readonly JsonObject[]> {
    this.openTexts.delete(open.key);
    const text = await open.track.end();
    return text === '' ? [] : [this.continuation(open, text)];
  }

  /** An event that brings more of a text, like the last one that did. */
  protected continuation({ event, steps }: OpenText, text: string): JsonObject {
    const copy = (value: unknown, [step, ...rest]: Steps): unknown =>
      step === undefined ? text : { ...Object(value), [step]: copy(followSteps(value, [step]), rest) };
    // The cast: an event with a text in it stays one.
    return copy(event, steps) as JsonObject;
  }
}

/** The value that the steps lead to. */
export function followSteps(value: unknown, steps: Steps): unknown {
  let at = value;
  // The cast: names and indices are both keys.
  for (const step of steps) at = Object(at)[step as string];
  return at;
}

/** Changes the value in place. Does nothing where the steps lead nowhere, because a guard has rewritten what was there. */
function setValue(value: JsonObject, steps: Steps, text: string): void {
  const owner = followSteps(value, steps.slice(0, -1));
  if (typeof owner !== 'object' || owner === null) return;
  // The cast: names and indices are both keys.
  (owner as Record<string | number, unknown>)[steps.at(-1) ?? ''] = text;
}

/** One citation, or a list of them, where the text that they are about is now. */
export function shownCitations(track: Track | undefined, citations: unknown): unknown {
  return track ? moveCitations(citations, (place) => track.placeOf(place)) : citations;
}

/** What guards do not read, and so may be shown of an answer that is blocked. */
function unreadFields(body: JsonObject): JsonObject {
  const isUnread = ([name, value]: readonly [string, unknown]) => {
    if (BODY.skipped.has(name)) return true;
    return typeof value === 'string' ? BODY.unread.has(name) : typeof value !== 'object' || value === null;
  };
  return Object.fromEntries(Object.entries(body).filter(isUnread));
}
