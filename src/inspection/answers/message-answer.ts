/** Guards an answer of Anthropic's Messages API that another server wrote: its events as they come, or the whole message. */

import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { Track } from '../tracks/text-track.ts';
import { TypedAnswer } from './typed-answer.ts';

/** The text of the block that is being written. */
interface OpenTrack {
  readonly track: Track;
  readonly field: string;
  /** The last event with more of it. */
  event: JsonObject;
}

/** The field of each kind of delta that holds text, and where that text stands. */
const TEXTS: Readonly<Record<string, readonly [field: string, place: string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'reasoning'],
  input_json_delta: ['partial_json', 'arguments'],
};

/** One answer. */
export class MessageAnswer extends TypedAnswer {
  private open: OpenTrack | undefined;
  /** The index of the block that has begun and not ended. */
  private block: unknown;

  protected override async taken(event: JsonObject, type: string): Promise<readonly JsonObject[]> {
    if (type === 'content_block_delta' && isRecord(event.delta)) return this.delta(event, event.delta);
    const before = await this.rest();
    if (type === 'content_block_start') this.block = event.index;
    if (type === 'content_block_stop') this.block = undefined;
    // The cast: texts are replaced by texts.
    return [...before, (await this.mapped(event)) as JsonObject];
  }

  private async delta(event: JsonObject, delta: JsonObject): Promise<readonly JsonObject[]> {
    const [field = '', place = ''] = TEXTS[String(delta.type)] ?? [];
    const text = delta[field];
    // Such as a signature or a citation, which is whole.
    if (typeof text !== 'string') return [...(await this.rest()), (await this.mapped(event)) as JsonObject];
    this.takeRoom(text);
    const before = this.open?.field === field ? [] : await this.rest();
    this.open ??= { track: this.trackOf(place), field, event };
    this.open.event = event;
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

  protected override blockedWhole(body: JsonObject): JsonObject {
    return { ...body, content: [], stop_reason: 'refusal', stop_sequence: null };
  }
}

function withText({ event, field }: OpenTrack, text: string): readonly JsonObject[] {
  return text === '' ? [] : [{ ...event, delta: { ...(event.delta as JsonObject), [field]: text } }];
}
