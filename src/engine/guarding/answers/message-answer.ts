/** Guards an answer of Anthropic's Messages API that another server wrote: its events as they come, or the whole message. */

import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { BODY, PIECE } from '../texts/positions.ts';
import { holdsTexts } from '../texts/walk.ts';
import type { Track } from '../tracks/text-track.ts';
import { TypedAnswer } from './typed-answer.ts';

/** The text of the block that is being written. */
interface OpenTrack {
  readonly track: Track;
  readonly field: string;
  /** The index of the block. */
  readonly block: unknown;
  /** The last event with more of it. */
  event: JsonObject;
}

/** The field of each kind of delta that holds text, and where that text stands. */
const TEXTS: Readonly<Record<string, readonly [field: string | undefined, place?: string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'reasoning'],
  input_json_delta: ['partial_json', 'arguments'],
};

const NONE: ReadonlySet<string> = new Set();
const IN_DELTA: ReadonlySet<string> = new Set(['delta']);
/** Each field alone. */
const FIELDS = new Map(Object.values(TEXTS).map(([field = '']) => [field, new Set([field])] as const));

/** The end of a thought. */
const SIGNATURE = 'signature_delta';

/** One answer. */
export class MessageAnswer extends TypedAnswer {
  private open: OpenTrack | undefined;
  /** The index of the block that has begun and not ended. */
  private block: unknown;

  protected override async taken(event: JsonObject, type: string): Promise<readonly JsonObject[]> {
    if (type === 'content_block_delta' && isRecord(event.delta)) return this.delta(event, event.delta);
    // It may come in the middle of a text.
    if (type === 'ping') return [event];
    const before = await this.rest();
    if (type === 'content_block_start') this.block = event.index;
    if (type === 'content_block_stop') this.block = undefined;
    // The cast: texts are replaced by texts.
    return [...before, (await this.mapped(event)) as JsonObject];
  }

  private async delta(event: JsonObject, delta: JsonObject): Promise<readonly JsonObject[]> {
    const [field = '', place = 'text'] = TEXTS[String(delta.type)] ?? [textField(delta)];
    const text = delta[field];
    // The casts here: texts are replaced by texts.
    if (delta.type === SIGNATURE) return [...(await this.rest()), (await this.mapped(event)) as JsonObject];
    // Such as a citation, which is whole, and does not end the text before it.
    if (typeof text !== 'string') return [(await this.mapped(event)) as JsonObject];
    this.takeRoom(text);
    const { index: block } = event;
    const before = this.open?.field === field && this.open.block === block ? [] : await this.rest();
    this.open ??= { track: this.guards.textTrack(place), field, block, event };
    const isBare = !holdsTexts(event, BODY, IN_DELTA) && !holdsTexts(delta, PIECE, FIELDS.get(field) ?? NONE);
    this.open.event = isBare
      ? event
      : ((await this.mapped({ ...event, delta: { ...delta, [field]: '' } })) as JsonObject);
    return [...before, ...withText(this.open, await this.open.track.write(text))];
  }

  /** The held-back rest of a text that is complete now. */
  private async rest(): Promise<readonly JsonObject[]> {
    const { open } = this;
    if (!open) return [];
    this.open = undefined;
    return withText(open, await open.track.end());
  }

  /** Ends the block that has begun, and the message. */
  protected override blockedEnd(): readonly JsonObject[] {
    const stop = this.block === undefined ? [] : [{ type: 'content_block_stop', index: this.block }];
    const delta = { stop_reason: 'refusal', stop_sequence: null };
    const end = { type: 'message_delta', delta, usage: { output_tokens: 0 } };
    return [...stop, end, { type: 'message_stop' }];
  }

  protected override blockedWhole(fields: JsonObject): JsonObject {
    return { ...fields, content: [], stop_reason: 'refusal', stop_sequence: null };
  }
}

/** The text of a delta of any other kind. */
function textField(delta: JsonObject): string | undefined {
  return Object.keys(delta).find((name) => name !== 'type' && typeof delta[name] === 'string');
}

function withText({ event, field }: OpenTrack, text: string): readonly JsonObject[] {
  return text === '' ? [] : [{ ...event, delta: { ...(event.delta as JsonObject), [field]: text } }];
}
