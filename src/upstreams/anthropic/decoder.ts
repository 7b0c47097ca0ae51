/** Reads the events of a Messages stream, or one whole message, as model events. */

import { usageReader } from '../../protocol/anthropic/usage.ts';
import { modelInfo } from '../../protocol/chat-completions/usage.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { FinishReason, ModelEvent } from '../../protocol/events.ts';
import type { Note } from '../../protocol/note.ts';
import { toPrintable } from '../../protocol/printable.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { errorInBody, secondAnswerError } from '../../protocol/upstream-errors/upstream-error.ts';
import { type BlockReader, blockReader } from './block-reader.ts';
import { KeptContent } from './kept-content.ts';
import type { Block } from './parts.ts';

/** A pause of a turn in which the server's own tools ran for long. */
export interface Pause {
  /** The content so far, of all messages; undefined where it cannot be sent back. */
  readonly content: readonly Block[] | undefined;
  /** Where the server's own tools keep their files. */
  readonly container: string | undefined;
  /** Tokens so far, of all messages. */
  readonly outputTokens: number;
}

/** Reads one model call: takes one parsed event after another. `note` gets the blocks that are left out; so many characters are kept for going on after a pause. */
export class MessagesDecoder {
  /** Whether the message is whole: its `finish` event has been added, unless it is a pause. */
  done = false;
  private readonly note: (note: Note) => void;
  private readonly keptContent: KeptContent;
  private readonly blocks: BlockReader;
  private readonly usage = usageReader();
  private stopReason: unknown = undefined;
  private stopSequence: { readonly stopSequence?: string } = {};
  private container: string | undefined = undefined;
  /** The message that is being read, the highest index of its blocks, and whether it has begun again. */
  private message: { readonly id: unknown; readonly again: boolean; highest: number } | undefined = undefined;

  constructor(note: (note: Note) => void, kept = 0) {
    this.note = note;
    this.keptContent = new KeptContent(kept);
    this.blocks = recordBlocks(blockReader(note), this.keptContent);
  }

  /** What is needed to go on, where the message ended in a pause of the turn. */
  get pause(): Pause | undefined {
    if (!this.done || this.stopReason !== PAUSE) return undefined;
    const { container, usage } = this;
    return { content: this.keptContent.content(), container, outputTokens: usage.output };
  }

  /** Adds what the event holds to `events`; throws `ApiError` where it is an error. */
  take(event: unknown, events: ModelEvent[]): void {
    if (!isRecord(event)) throw new ApiError('upstream_error', 'The model server sent an event that is not an object.');
    switch (event.type) {
      case 'message_start':
        this.beginMessage(event.message);
        return this.takeMessage(event.message, events);
      case 'content_block_start':
        this.beginBlock(indexIn(event) ?? 0);
        return this.blocks.start(indexIn(event), event.content_block, events);
      case 'content_block_delta':
        this.beginUnstarted(event, events);
        return this.blocks.add(indexIn(event), event.delta, events);
      case 'content_block_stop':
        return this.blocks.stop(indexIn(event), events);
      case 'message_delta':
        this.usage.take(event.usage, events);
        return this.takeStop(event.delta);
      case 'message_stop':
        return void this.end(events);
      case 'message':
        this.takeMessage(event, events);
        return void this.end(events);
      default: {
        // Pings and events of later versions are skipped.
        const error = errorInBody(event);
        if (error) throw error;
      }
    }
  }

  /** Adds the `finish` if the message named its stop reason, unless it is a pause; returns whether it named one. */
  end(events: ModelEvent[]): boolean {
    const { stopReason } = this;
    this.blocks.stopAll(events);
    this.done = typeof stopReason === 'string';
    if (this.done && !STOP_REASONS.has(stopReason) && !CUT_OFF.has(stopReason)) {
      const message = `The model server ended its answer for a reason that is not known here, '${toPrintable(String(stopReason))}'; it counts as whole.`;
      this.note({ code: 'finish_reason_unknown', message });
    }
    if (this.done && stopReason !== PAUSE)
      events.push({
        type: 'finish',
        reason: CUT_OFF.get(stopReason) ?? 'stop',
        ...this.stopSequence,
        ...(stopReason === CONTEXT_FULL ? { isContextFull: true } : {}),
      });
    return this.done;
  }

  /** Goes on with another message of the same turn, after a pause. */
  resume(): void {
    this.keptContent.endMessage();
    this.usage.next();
    this.stopReason = undefined;
    this.message = undefined;
    this.done = false;
  }

  /** A gateway that loses its server may begin another answer within this one. */
  private beginMessage(message: unknown): void {
    const id = isRecord(message) ? message.id : undefined;
    const { message: known } = this;
    const hasBlocks = known !== undefined && known.highest >= 0;
    if (hasBlocks && known.id !== id) throw secondAnswerError();
    this.message = { id, again: hasBlocks, highest: known?.highest ?? -1 };
  }

  private beginBlock(index: number): void {
    this.message ??= { id: undefined, again: false, highest: -1 };
    if (this.message.again && index <= this.message.highest) throw secondAnswerError();
    this.message.highest = Math.max(this.message.highest, index);
  }

  /** Some servers do not start the block that their first deltas belong to. */
  private beginUnstarted(event: JsonObject, events: ModelEvent[]): void {
    const index = indexIn(event) ?? 0;
    if (index !== (this.message?.highest ?? -1) + 1 || !isRecord(event.delta)) return;
    const block = UNSTARTED.get(event.delta.type);
    if (!block) return;
    this.beginBlock(index);
    this.blocks.start(indexIn(event), block, events);
  }

  private takeMessage(message: unknown, events: ModelEvent[]): void {
    if (!isRecord(message)) return;
    const info = modelInfo(message.model, undefined);
    if (info) events.push(info);
    // Content that comes at once: all of an answer that is not streamed, and what a resumed message begins with.
    const { content } = message;
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    for (const block of Array.isArray(blocks) ? blocks : []) {
      this.blocks.start(undefined, block, events);
      this.blocks.stop(undefined, events);
    }
    this.usage.take(message.usage, events);
    this.takeStop(message);
  }

  private takeStop(from: unknown): void {
    if (!isRecord(from)) return;
    this.stopReason = from.stop_reason ?? this.stopReason;
    if (typeof from.stop_sequence === 'string') this.stopSequence = { stopSequence: from.stop_sequence };
    if (isRecord(from.container) && typeof from.container.id === 'string') this.container = from.container.id;
  }
}

const PAUSE = 'pause_turn';

/** The block that a delta of this type belongs to, as it starts. */
const UNSTARTED: ReadonlyMap<unknown, JsonObject> = new Map([
  ['text_delta', { type: 'text', text: '' }],
  ['thinking_delta', { type: 'thinking', thinking: '', signature: '' }],
]);

/** The reader, of whose blocks a copy is kept. */
function recordBlocks(blocks: BlockReader, keptContent: KeptContent): BlockReader {
  return {
    ...blocks,
    start(index, block, events) {
      keptContent.start(index, block);
      blocks.start(index, block, events);
    },
    add(index, delta, events) {
      keptContent.add(index, delta);
      blocks.add(index, delta, events);
    },
  };
}

/** Nothing else is kept as the key of a block. */
function indexIn({ index }: JsonObject): number | undefined {
  return typeof index === 'number' ? index : undefined;
}

/** Of a whole answer, and of a pause. */
const STOP_REASONS: ReadonlySet<unknown> = new Set(['end_turn', 'stop_sequence', 'tool_use', PAUSE]);

const CONTEXT_FULL = 'model_context_window_exceeded';

const CUT_OFF: ReadonlyMap<unknown, FinishReason> = new Map([
  ['max_tokens', 'length'],
  [CONTEXT_FULL, 'length'],
  ['refusal', 'content_filter'],
]);
