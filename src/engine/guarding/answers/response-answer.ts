/** Guards an answer of the Responses API that another server wrote: its events as they come, or the whole response. */

import { isRecord, type JsonObject, plainText } from '../../../protocol/record.ts';
import type { Track } from '../tracks/text-track.ts';
import { AnswerReader, type GrowingText, shownCitations } from './answer-reader.ts';

const DELTA = '.delta';
const DONE = '.done';
const TEXT = 'response.output_text';
/** Its deltas are base64. */
const AUDIO_DELTA = /^response\.(output_)?audio\.delta$/;
const STEPS = ['delta'] as const;
/** The fields of events that hold a whole text. */
const WHOLE_FIELDS = ['text', 'refusal', 'arguments', 'input', 'code', 'transcript'] as const;

/** A complete text as it was shown, and where its characters are now. */
interface CompleteText {
  readonly shown: string;
  readonly track: Track;
}

/** One answer. Its output is kept until its end, for the last event of an answer that is blocked. */
export class ResponseAnswer extends AnswerReader {
  /** What was shown of each open text. */
  private readonly shownTexts = new Map<string, string>();
  /** Complete texts, which later events repeat. */
  private readonly completeTexts = new Map<string, CompleteText>();
  private readonly output: unknown[] = [];
  private response: JsonObject | undefined;
  private sequence: number | undefined;

  protected override async readEvent(event: JsonObject): Promise<readonly JsonObject[]> {
    const { type, delta } = event;
    // The cast: texts are replaced by texts.
    if (typeof type !== 'string') return [(await this.mapTexts(event)) as JsonObject];
    if (type.endsWith(DELTA) && typeof delta === 'string') {
      // The cast: texts are replaced by texts.
      if (AUDIO_DELTA.test(type)) return [{ ...((await this.mapTexts({ ...event, delta: '' })) as JsonObject), delta }];
      const part = type.slice(0, -DELTA.length);
      const growing: GrowingText = { key: textKey(event, part), place: partPlace(part), steps: STEPS };
      return this.shown(growing.key, await this.growText(event, growing));
    }
    const rest = type.endsWith(DONE) ? [...(await this.completeText(event, type.slice(0, -DONE.length)))] : [];
    // Some servers leave out the event that ends a text.
    for (const open of this.openTexts.values())
      if (isOver(open.event, event)) rest.push(...this.shown(open.key, await this.endText(open)));
    // The cast: texts are replaced by texts.
    const guarded = (await this.mapTexts(event)) as JsonObject;
    const track = this.openTexts.get(textKey(event, TEXT))?.track;
    const shown: JsonObject = isRecord(guarded.annotation)
      ? { ...guarded, annotation: shownCitations(track, guarded.annotation) }
      : guarded;
    if (isRecord(shown.response)) this.response = shown.response;
    if (type === 'response.output_item.done') this.output.push(shown.item);
    return [...rest, shown];
  }

  private shown(key: string, events: readonly JsonObject[]): readonly JsonObject[] {
    for (const { delta } of events) this.shownTexts.set(key, (this.shownTexts.get(key) ?? '') + plainText(delta));
    return events;
  }

  /** The rest of the text that the event ends. */
  private async completeText(event: JsonObject, part: string): Promise<readonly JsonObject[]> {
    const key = textKey(event, part);
    const open = this.openTexts.get(key);
    if (!open) return [];
    const rest = this.shown(key, await this.endText(open));
    const field = WHOLE_FIELDS.find((name) => typeof event[name] === 'string');
    const shown = this.shownTexts.get(key) ?? '';
    if (field) this.completeTexts.set(String(event[field]), { shown, track: open.track });
    this.shownTexts.delete(key);
    return rest;
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

/** Whether the event ends the text of this delta: that of its part, of its item, or of the response. */
function isOver(delta: JsonObject, event: JsonObject): boolean {
  const { type } = event;
  if (ENDS.has(type)) return true;
  if (!String(type).endsWith('_part.done') && type !== 'response.output_item.done') return false;
  const isPartOf = (index: string) => event[index] === undefined || delta[index] === event[index];
  return delta.output_index === event.output_index && isPartOf('content_index') && isPartOf('summary_index');
}

const ENDS: ReadonlySet<unknown> = new Set([
  ...['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled', 'error'],
]);

/** Names a text by the events that bring it, such as `response.output_text`, and by where it stands in the output. */
function textKey(event: JsonObject, part: string): string {
  const { item_id: item, output_index: index, content_index: content, summary_index: summary } = event;
  return [part, ...[item, index, content, summary].map(plainText)].join(' ');
}

function partPlace(part: string): string {
  if (part.includes('arguments')) return 'arguments';
  if (part.includes('reasoning')) return 'reasoning';
  return part.includes('refusal') ? 'refusal' : 'text';
}
