/** Guards an answer of Anthropic's Messages API that another server wrote: its events as they come, or the whole message. */

import { isRecord, type JsonObject, plainText } from '../../../protocol/record.ts';
import { PIECE } from '../texts/positions.ts';
import { isReadText } from '../texts/walk.ts';
import { AnswerReader, type GrowingText } from './answer-reader.ts';

/** The field of each kind of delta whose text grows, and its place. */
const GROWING_FIELDS: ReadonlyMap<string, readonly [field: string, place: string]> = new Map([
  ['text_delta', ['text', 'text']],
  ['thinking_delta', ['thinking', 'reasoning']],
  ['input_json_delta', ['partial_json', 'arguments']],
]);

/** Comes whole, at the end of a thought. */
const SIGNATURE = 'signature_delta';

/** One answer. Its blocks come one after another, so at most one text grows at a time. */
export class MessageAnswer extends AnswerReader {
  /** The index of the block that has begun and not ended. */
  private openBlock: unknown;

  protected override async readEvent(event: JsonObject): Promise<readonly JsonObject[]> {
    const { type, index, delta, content_block: block } = event;
    if (type === 'content_block_start' && isRecord(block)) {
      const deltaType = `${plainText(block.type)}_delta`;
      const [field = ''] = GROWING_FIELDS.get(deltaType) ?? [];
      const text = plainText(block[field]);
      // Clients add the deltas to what a block begins with, so that is shown as one of them.
      if (text !== '')
        return [
          ...(await this.readEvent({ ...event, content_block: { ...block, [field]: '' } })),
          ...(await this.readEvent({ type: 'content_block_delta', index, delta: { type: deltaType, [field]: text } })),
        ];
    }
    const growing = type === 'content_block_delta' && isRecord(delta) ? growingText(delta, index) : undefined;
    // These may come in the middle of a text, as a citation does, which is whole.
    const isBetween =
      typeof type !== 'string' ||
      type === 'ping' ||
      (type === 'content_block_delta' && isRecord(delta) && delta.type !== SIGNATURE);
    const events: JsonObject[] = [];
    for (const open of this.openTexts.values())
      if (growing ? open.key !== growing.key : !isBetween) events.push(...(await this.endText(open)));
    if (type === 'content_block_start') this.openBlock = index;
    if (type === 'content_block_stop') this.openBlock = undefined;
    // The cast: texts are replaced by texts.
    events.push(...(growing ? await this.growText(event, growing) : [(await this.mapTexts(event)) as JsonObject]));
    return events;
  }

  /** The type first, by which the event is named. */
  protected override eventText(event: JsonObject): string {
    return JSON.stringify('type' in event ? { type: event.type, ...event } : event);
  }

  /** Ends the block that has begun, and the message. */
  protected override blockedEnd(): readonly string[] {
    const stop = this.openBlock === undefined ? [] : [{ type: 'content_block_stop', index: this.openBlock }];
    const delta = { stop_reason: 'refusal', stop_sequence: null };
    const end = { type: 'message_delta', delta, usage: { output_tokens: 0 } };
    return [...stop, end, { type: 'message_stop' }].map((event) => JSON.stringify(event));
  }

  protected override blockedWhole(fields: JsonObject): JsonObject {
    return { ...fields, content: [], stop_reason: 'refusal', stop_sequence: null };
  }
}

/** That of a delta of an unknown kind is its first text. */
function growingText(delta: JsonObject, block: unknown): GrowingText | undefined {
  if (delta.type === SIGNATURE) return undefined;
  const isRead = (name: string) => typeof delta[name] === 'string' && isReadText(delta, name, delta[name], PIECE);
  const [field, place] = GROWING_FIELDS.get(String(delta.type)) ?? [Object.keys(delta).find(isRead), 'text'];
  if (field === undefined || typeof delta[field] !== 'string') return undefined;
  return { key: `${plainText(block)} ${field}`, place, steps: ['delta', field] };
}
