/** Reads the events of a Messages stream, or one whole message, as model events. */

import { modelInfo } from '../../protocol/chat-completions/model-info.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { FinishReason, ModelEvent } from '../../protocol/events.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { errorInBody } from '../../protocol/upstream-errors/upstream-error.ts';
import { type BlockReader, blockReader } from './block-reader.ts';
import { KeptContent } from './kept-content.ts';
import type { Block } from './parts.ts';
import { usageReader } from './usage.ts';

/** Receives parsed events one by one. */
export interface MessagesDecoder {
  /** Whether the message is complete: its `finish` has been emitted, or it is a pause. */
  readonly done: boolean;
  /** The data needed to continue if the message ended in a pause of the turn. */
  readonly pause: Pause | undefined;
  /** Adds the model events of one event to `events`; throws `ApiError` if it is an error. */
  take(event: unknown, events: ModelEvent[]): void;
  /** Adds the `finish` and returns true if the message has a stop reason other than a pause. */
  end(events: ModelEvent[]): boolean;
  /** Continues with another message of the same turn after a pause. */
  resume(): void;
}

/** A pause of a turn in which the API's own tools ran for a long time. */
export interface Pause {
  /** The output of all messages so far; undefined if it cannot be sent back. */
  readonly content: readonly Block[] | undefined;
  /** The container in which the API's own tools keep their files. */
  readonly container: string | undefined;
  /** Tokens of all messages so far. */
  readonly outputTokens: number;
}

/** The state of one model call. `note` receives the omitted blocks; at most so many characters are kept to continue after a pause. */
export function messagesDecoder(note: (note: Note) => void, kept = 0): MessagesDecoder {
  const keptContent = new KeptContent(kept);
  const blocks = keptBlocks(blockReader(note), keptContent);
  const usage = usageReader();
  let stopReason: unknown;
  let container: string | undefined;
  let done = false;

  function end(events: ModelEvent[]): boolean {
    blocks.stopAll(events);
    done = typeof stopReason === 'string';
    if (done && stopReason !== PAUSE) events.push({ type: 'finish', reason: finishReason(stopReason) });
    return done;
  }

  function takeStop(from: unknown): void {
    if (!isRecord(from)) return;
    stopReason = from.stop_reason ?? stopReason;
    if (isRecord(from.container) && typeof from.container.id === 'string') container = from.container.id;
  }

  function takeMessage(message: unknown, events: ModelEvent[]): void {
    if (!isRecord(message)) return;
    const info = modelInfo(message.model, undefined);
    if (info) events.push(info);
    takeWhole(message.content, blocks, events);
    usage.take(message.usage, events);
    takeStop(message);
  }

  function take(event: unknown, events: ModelEvent[]): void {
    if (!isRecord(event)) throw new ApiError('upstream_error', 'The model server sent an event that is not an object.');
    switch (event.type) {
      case 'message_start':
        return takeMessage(event.message, events);
      case 'content_block_start':
        return blocks.start(indexIn(event), event.content_block, events);
      case 'content_block_delta':
        return blocks.add(indexIn(event), event.delta, events);
      case 'content_block_stop':
        return blocks.stop(indexIn(event), events);
      case 'message_delta':
        usage.take(event.usage, events);
        return takeStop(event.delta);
      case 'message_stop':
        return void end(events);
      case 'message':
        takeMessage(event, events);
        return void end(events);
      default:
        throwError(event);
    }
  }

  return {
    get done() {
      return done;
    },
    get pause() {
      if (!done || stopReason !== PAUSE) return undefined;
      return { content: keptContent.content(), container, outputTokens: usage.output };
    },
    take,
    end,
    resume() {
      keptContent.endMessage();
      usage.next();
      stopReason = undefined;
      done = false;
    },
  };
}

const PAUSE = 'pause_turn';

/** Creates the reader and keeps a copy of its blocks. */
function keptBlocks(blocks: BlockReader, keptContent: KeptContent): BlockReader {
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

/** Only a number is kept as the key of a block. */
function indexIn({ index }: JsonObject): number | undefined {
  return typeof index === 'number' ? index : undefined;
}

/** Content that arrives at once: all of an answer that is not streamed, or the start of a resumed message. */
function takeWhole(content: unknown, blocks: BlockReader, events: ModelEvent[]): void {
  if (!Array.isArray(content)) return;
  for (const block of content) {
    blocks.start(undefined, block, events);
    blocks.stop(undefined, events);
  }
}

/** Pings and unknown future events are ignored. */
function throwError(event: JsonObject): void {
  const error = errorInBody(event);
  if (error) throw error;
}

const CUT_OFF: ReadonlyMap<unknown, FinishReason> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

function finishReason(reason: unknown): FinishReason {
  return CUT_OFF.get(reason) ?? 'stop';
}
