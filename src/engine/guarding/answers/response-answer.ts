/** Guards an answer of the Responses API that another server wrote: its events as they come, or the whole response. */

import { isRecord, type JsonObject, plainText } from '../../../protocol/record.ts';
import type { Track } from '../tracks/text-track.ts';
import { AnswerReader, type GrowingText, type OpenText, shownCitations } from './answer-reader.ts';

const DELTA = '.delta';
const DONE = '.done';
const TEXT = 'response.output_text';
/** Its deltas are base64. */
const AUDIO_DELTA = /^response\.(output_)?audio\.delta$/;
const STEPS = ['delta'] as const;
/** The text of each type of part, and the event that continues it. */
const BEGINNINGS: ReadonlyMap<unknown, readonly [field: string, delta: string]> = new Map([
  ['output_text', ['text', TEXT + DELTA]],
  ['refusal', ['refusal', 'response.refusal.delta']],
  ['reasoning_text', ['text', 'response.reasoning_text.delta']],
  ['summary_text', ['text', 'response.reasoning_summary_text.delta']],
]);

/** A complete text as it was shown, and where its characters are now. */
interface CompleteText {
  readonly shown: string;
  readonly track: Track;
}

/** One answer. Its output is kept until its end, for the last event of an answer that is blocked. */
export class ResponseAnswer extends AnswerReader {
  /** What has come of each open text, and what was shown of it. */
  private readonly streamedTexts = new Map<string, { written: string; shown: string }>();
  /** Complete texts as they came, which later events repeat. */
  private readonly completeTexts = new Map<string, CompleteText>();
  private readonly output: unknown[] = [];
  private response: JsonObject | undefined;
  private sequence: number | undefined;

  protected override async readEvent(event: JsonObject): Promise<readonly JsonObject[]> {
    const { type, delta, part: added, ...place } = event;
    // The cast: texts are replaced by texts.
    if (typeof type !== 'string') return [(await this.mapTexts(event)) as JsonObject];
    if (type.endsWith('_part.added') && isRecord(added)) {
      const [field, deltaType] = BEGINNINGS.get(added.type) ?? ['', ''];
      const text = plainText(added[field]);
      // Clients add the deltas to what a part begins with, so that is shown as one of them.
      if (text !== '')
        return [
          ...(await this.readEvent({ ...event, part: { ...added, [field]: '' } })),
          ...(await this.readEvent({ ...place, type: deltaType, delta: text })),
        ];
    }
    if (type.endsWith(DELTA) && typeof delta === 'string') {
      // The cast: texts are replaced by texts.
      if (AUDIO_DELTA.test(type)) return [{ ...((await this.mapTexts({ ...event, delta: '' })) as JsonObject), delta }];
      const part = type.slice(0, -DELTA.length);
      const growing: GrowingText = { key: textKey(event, part), place: partPlace(part), steps: STEPS };
      return this.noteText(growing.key, delta, await this.growText(event, growing));
    }
    const key = type.endsWith(DONE) ? textKey(event, type.slice(0, -DONE.length)) : undefined;
    const rest: JsonObject[] = [];
    for (const open of this.endedBy(event, type, key)) rest.push(...(await this.endText(open)));
    // The cast: texts are replaced by texts.
    const guarded = (await this.mapTexts(event)) as JsonObject;
    const track = this.openTexts.get(textKey(event, TEXT))?.track;
    const shown: JsonObject = isRecord(guarded.annotation)
      ? { ...guarded, annotation: shownCitations(track, guarded.annotation) }
      : guarded;
    if (isRecord(shown.response)) this.response = shown.response;
    if (type === 'response.output_item.done') {
      this.countKept(shown.item);
      this.output.push(shown.item);
    }
    return [...rest, shown];
  }

  /** Some servers leave out the event that ends a text. Few events end any, and thousands may be open. */
  private endedBy(event: JsonObject, type: string, key: string | undefined): readonly OpenText[] {
    if (ENDS.has(type)) return [...this.openTexts.values()];
    if (!type.endsWith('_part.done') && type !== 'response.output_item.done') {
      const open = key === undefined ? undefined : this.openTexts.get(key);
      return open ? [open] : [];
    }
    return [...this.openTexts.values()].filter((each) => each.key === key || isWithin(each.event, event));
  }

  private noteText(key: string, delta: string, events: readonly JsonObject[]): readonly JsonObject[] {
    const text = this.streamedTexts.get(key) ?? { written: '', shown: '' };
    text.written += delta;
    for (const event of events) text.shown += plainText(event.delta);
    this.streamedTexts.set(key, text);
    return events;
  }

  protected override async endText(open: OpenText): Promise<readonly JsonObject[]> {
    const { key, track } = open;
    const events = this.noteText(key, '', await super.endText(open));
    const { written = '', shown = '' } = this.streamedTexts.get(key) ?? {};
    this.completeTexts.set(written, { shown, track });
    this.streamedTexts.delete(key);
    return events;
  }

  protected override async guardText(text: string, path: string, tracks?: Map<string, Track>): Promise<string> {
    return this.completeTexts.get(text)?.shown ?? super.guardText(text, path, tracks);
  }

  protected override trackOf(text: string): Track | undefined {
    return this.completeTexts.get(text)?.track;
  }

  /** The type first, by which the event is named, and numbers without gaps. */
  protected override eventText(event: JsonObject): string {
    const { type, sequence_number: number } = event;
    if (type === undefined) return JSON.stringify(event);
    if (typeof number !== 'number') return JSON.stringify({ type, ...event });
    this.sequence = this.sequence === undefined ? number : this.sequence + 1;
    return JSON.stringify({ type, ...event, sequence_number: this.sequence });
  }

  protected override blockedEnd(): readonly string[] {
    return [this.eventText({ type: 'response.incomplete', sequence_number: 0, response: this.incomplete() })];
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

/** Whether the text of this delta is of the part or of the item that the event ends. */
function isWithin(delta: JsonObject, event: JsonObject): boolean {
  const isPartOf = (index: string) => event[index] === undefined || delta[index] === event[index];
  return delta.output_index === event.output_index && isPartOf('content_index') && isPartOf('summary_index');
}

const ENDS: ReadonlySet<unknown> = new Set([
  ...['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled', 'error'],
]);

/**
 * Names a text by the events that bring it, such as `response.output_text`, and by where it stands in the output. The id of
 * its item counts only where that is missing: GitHub Copilot's server gives an item another one in each event.
 */
function textKey(event: JsonObject, part: string): string {
  const { item_id: id, output_index: index, content_index: content = 0, summary_index: summary = 0 } = event;
  return [part, ...[index ?? `of ${plainText(id)}`, content, summary].map(plainText)].join(' ');
}

function partPlace(part: string): string {
  if (part.includes('arguments')) return 'arguments';
  if (part.includes('reasoning')) return 'reasoning';
  return part.includes('refusal') ? 'refusal' : 'text';
}
