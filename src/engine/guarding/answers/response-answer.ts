/** Guards an answer of the Responses API that another server wrote: its events as they come, or the whole response. */

import { isRecord, type JsonObject, plainTextOf } from '../../../protocol/record.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import { BODY } from '../texts/positions.ts';
import { holdsTexts } from '../texts/walk.ts';
import type { Track } from '../tracks/text-track.ts';
import { placed } from './placed-citations.ts';
import { TypedAnswer } from './typed-answer.ts';

/** A text that is being written. */
interface OpenTrack {
  readonly track: Track;
  /** The last event with more of it. */
  event: JsonObject;
  shown: string;
}

/** A completed text. */
interface Completed {
  readonly shown: string;
  /** Where its characters are now. */
  readonly track: Track;
}

const DELTA = '.delta';
const PIECE_OF_TEXT: ReadonlySet<string> = new Set(['delta']);
const DONE = '.done';
/** The field of an event that holds a whole text. */
const WHOLE = ['text', 'refusal', 'arguments', 'input', 'code', 'transcript'] as const;
const UNREADABLE = /^response\.(output_)?audio\.delta$/;
const MOST_TRACKS = 4096;
const TEXT_DELTA = 'response.output_text.delta';
const ARGUMENTS = 'arguments';

/** One answer. Its output is kept until its end. */
export class ResponseAnswer extends TypedAnswer {
  private readonly tracks = new Map<string, OpenTrack>();
  /** The guarded form of completed texts, which later events repeat. */
  private readonly known = new Map<string, Completed>();
  private isWhole = false;
  private readonly output: unknown[] = [];
  private response: JsonObject | undefined;
  private sequence: number | undefined;

  protected override async taken(event: JsonObject, type: string): Promise<readonly JsonObject[]> {
    if (type.endsWith(DELTA) && typeof event.delta === 'string') return this.delta(event, type, event.delta);
    const before = type.endsWith(DONE) ? await this.rest(event, type) : [];
    // The cast: texts are replaced by texts.
    const mapped = (await this.mapped(event)) as JsonObject;
    const { annotation } = mapped;
    const moved = isRecord(annotation) ? { annotation: placed(annotation, this.trackAt(event)) } : {};
    const shown: JsonObject = { ...mapped, ...moved };
    if (isRecord(shown.response)) this.response = shown.response;
    if (type === 'response.output_item.done') this.output.push(shown.item);
    return [...before, shown];
  }

  private async delta(event: JsonObject, type: string, delta: string): Promise<readonly JsonObject[]> {
    // The cast: texts are replaced by texts.
    const around = holdsTexts(event, BODY, PIECE_OF_TEXT)
      ? ((await this.mapped({ ...event, delta: '' })) as JsonObject)
      : event;
    if (UNREADABLE.test(type)) return [{ ...around, delta }];
    const key = keyOf(event, type);
    let open = this.tracks.get(key);
    if (!open) {
      if (this.tracks.size >= MOST_TRACKS) throw new GuardBlocked('It has too many parts.');
      open = { track: this.guards.textTrack(placeOf(type)), event: around, shown: '' };
      this.tracks.set(key, open);
    }
    open.event = around;
    this.takeRoom(delta);
    const text = await open.track.write(delta);
    open.shown += text;
    return text === '' ? [] : [{ ...around, delta: text }];
  }

  /** The held-back rest of a text that is complete now. */
  private async rest(event: JsonObject, type: string): Promise<readonly JsonObject[]> {
    const key = keyOf(event, type.slice(0, -DONE.length) + DELTA);
    const open = this.tracks.get(key);
    if (!open) return [];
    this.tracks.delete(key);
    const text = await open.track.end();
    const field = WHOLE.find((name) => typeof event[name] === 'string');
    if (field) this.known.set(String(event[field]), { shown: open.shown + text, track: open.track });
    return text === '' ? [] : [{ ...open.event, delta: text }];
  }

  override whole(text: string): Promise<string> {
    this.isWhole = true;
    return super.whole(text);
  }

  /** With the citations of each text where they are now. */
  protected override async mapped(value: unknown): Promise<unknown> {
    return this.withCitations(value, await super.mapped(value));
  }

  protected override async guarded(text: string): Promise<string> {
    const known = this.known.get(text);
    if (known) return known.shown;
    const track = this.guards.textTrack('text');
    const shown = (await track.write(text)) + (await track.end());
    // The answer has it only once.
    if (this.isWhole) this.known.set(text, { shown, track });
    return shown;
  }

  /** The text that a citation of its own event is in. */
  private trackAt(event: JsonObject): Track | undefined {
    return this.tracks.get(keyOf(event, TEXT_DELTA))?.track;
  }

  private withCitations(given: unknown, shown: unknown): unknown {
    if (given === shown) return shown;
    if (Array.isArray(given) && Array.isArray(shown))
      return shown.map((each, at) => this.withCitations(given[at], each));
    if (!isRecord(given) || !isRecord(shown)) return shown;
    const fields = Object.entries(shown).map(([name, each]) => [name, this.withCitations(given[name], each)]);
    const { annotations, text } = given;
    const whole: JsonObject = Object.fromEntries(fields);
    if (!Array.isArray(annotations) || typeof text !== 'string') return whole;
    return { ...whole, annotations: placed(whole.annotations, this.known.get(text)?.track) };
  }

  protected override eventText(event: JsonObject): string {
    const { sequence_number: given } = event;
    if (typeof given !== 'number') return super.eventText(event);
    this.sequence = this.sequence === undefined ? given : this.sequence + 1;
    return super.eventText({ ...event, sequence_number: this.sequence });
  }

  protected override blockedEnd(): readonly JsonObject[] {
    return [{ type: 'response.incomplete', sequence_number: 0, response: this.incomplete() }];
  }

  protected override blockedWhole(fields: JsonObject): JsonObject {
    this.response = fields;
    return this.incomplete();
  }

  private incomplete(): JsonObject {
    const { response, output } = this;
    return { ...response, status: 'incomplete', incomplete_details: { reason: 'content_filter' }, output };
  }
}

function keyOf(event: JsonObject, type: string): string {
  const { item_id: item, output_index: index, content_index: part, summary_index: summary } = event;
  return [type, ...[item, index, part, summary].map(plainTextOf)].join(' ');
}

function placeOf(type: string): string {
  if (type.includes(ARGUMENTS)) return ARGUMENTS;
  if (type.includes('reasoning')) return 'reasoning';
  return type.includes('refusal') ? 'refusal' : 'text';
}
