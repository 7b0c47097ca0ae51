/** Reads the events of a Messages stream, or one whole message, as model events. */
import { ApiError } from '../../protocol/errors.ts';
import type { FinishReason, ModelEvent } from '../../protocol/events.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord } from '../../protocol/record.ts';
import { errorInBody } from '../../protocol/upstream-error.ts';
import { type BlockReader, blockReader } from './block-reader.ts';
import { usageReader } from './usage.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Takes one parsed event after another. */
export interface MessagesDecoder {
  /** Whether the message is whole: its `finish` has been told. */
  readonly done: boolean;
  /** Adds what the event says to `events`; throws `ApiError` where it is an error. */
  take(event: unknown, events: ModelEvent[]): void;
  /** Adds the `finish` where the message told why it stopped, and answers whether it did. */
  end(events: ModelEvent[]): boolean;
}

/** The state of one model call. `note` is told of blocks that are left out. */
export function messagesDecoder(note: (note: Note) => void): MessagesDecoder {
  const blocks = blockReader(note);
  const usage = usageReader();
  let stopReason: unknown;
  let done = false;

  function end(events: ModelEvent[]): boolean {
    blocks.stopAll(events);
    done = typeof stopReason === 'string';
    if (done) events.push({ type: 'finish', reason: finishReason(stopReason) });
    return done;
  }

  function takeMessage(message: unknown, events: ModelEvent[]): void {
    if (!isRecord(message)) return;
    takeWhole(message.content, blocks, events);
    usage.take(message.usage, events);
    stopReason = message.stop_reason ?? stopReason;
  }

  function take(event: unknown, events: ModelEvent[]): void {
    if (!isRecord(event)) throw new ApiError('upstream_error', 'The model server sent an event that is not an object.');
    switch (event.type) {
      case 'message_start':
        return takeMessage(event.message, events);
      case 'content_block_start':
        return blocks.start(event.index, event.content_block, events);
      case 'content_block_delta':
        return blocks.add(event.index, event.delta, events);
      case 'content_block_stop':
        return blocks.stop(event.index, events);
      case 'message_delta':
        usage.take(event.usage, events);
        stopReason = (isRecord(event.delta) ? event.delta.stop_reason : undefined) ?? stopReason;
        return;
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
    take,
    end,
  };
}

/** Content that comes at once: all of an answer that is not streamed, and what a resumed message begins with. */
function takeWhole(content: unknown, blocks: BlockReader, events: ModelEvent[]): void {
  if (!Array.isArray(content)) return;
  for (const block of content) {
    blocks.start(undefined, block, events);
    blocks.stop(undefined, events);
  }
}

/** Pings and events of the future say nothing. */
function throwError(event: Fields): void {
  const error = errorInBody(event);
  if (error) throw error;
}

/** A paused turn, in which the server's own tools ran for too long, is not whole either. */
const CUT_OFF: ReadonlyMap<unknown, FinishReason> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['pause_turn', 'length'],
  ['refusal', 'content_filter'],
]);

function finishReason(reason: unknown): FinishReason {
  return CUT_OFF.get(reason) ?? 'stop';
}
