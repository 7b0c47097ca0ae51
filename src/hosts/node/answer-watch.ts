/** Reads the data of an answer while a handler writes it: a whole body, or the events of a stream. */
import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import type { AnswerReader } from '../../apis/endpoint/answer-reader.ts';
import type { Limits } from '../../ports/limits.ts';
import { bodyText } from '../../streams/bytes.ts';
import { eventLines } from '../../streams/event-lines.ts';
import { type AnswerHead, isEventStream } from './event-stream.ts';
import type { AnswerWatch } from './held-answer.ts';

/** Reads the data, but not a turn. */
interface DataReader extends Pick<AnswerReader, 'event' | 'whole'> {
  /** Takes what is kept of a whole answer above the limit, and its last kilobytes. */
  readonly ends?: (start: string, end: string) => void;
}

/** Bytes of the end of an answer above the limit. */
const END_BYTES = 16 * 1024;

/** The watch of an answer in plain JSON or plain events; undefined for any other. */
export function watchAnswer(
  head: AnswerHead,
  reader: DataReader,
  { outputBytes, eventBytes }: Pick<Limits, 'outputBytes' | 'eventBytes'>,
  settle: AnswerWatch['settle'],
): AnswerWatch | undefined {
  if (isEventStream(head)) return watchEvents(reader, eventBytes, settle);
  const isJson = head.plain && /[/+]json\b/i.test(head.type);
  return isJson ? watchWholeBody(reader, outputBytes, settle) : undefined;
}

/** An answer with an event above the limit is sent unchanged. */
function watchEvents(reader: DataReader, eventBytes: number, settle: AnswerWatch['settle']): AnswerWatch {
  const decoder = new StringDecoder('utf8');
  const toLines = eventLines();
  let isOver = false;
  let isTooLarge = false;
  const parser = createParser({
    maxBufferSize: eventBytes,
    onEvent({ data }) {
      isOver = isOver || reader.event(data);
    },
    onError({ type }) {
      isTooLarge ||= type === 'max-buffer-size-exceeded';
    },
  });
  return {
    whole: false,
    take(bytes) {
      if (!isTooLarge) parser.feed(toLines(decoder.write(Buffer.from(bytes))));
      return isOver;
    },
    settle() {
      // A last event without its blank line counts.
      if (!isTooLarge && !isOver) parser.feed(toLines(`${decoder.end()}\n\n`));
      return isTooLarge ? Promise.resolve() : settle();
    },
  };
}

/** An answer above the limit is sent unchanged. */
function watchWholeBody(reader: DataReader, limit: number, settle: AnswerWatch['settle']): AnswerWatch {
  const pieces: Uint8Array[] = [];
  let size = 0;
  let end: Uint8Array | undefined;
  return {
    whole: true,
    take(bytes) {
      const room = limit - size;
      size += bytes.byteLength;
      if (size <= limit) pieces.push(bytes);
      else if (reader.ends) {
        end = Buffer.concat([...(end ? [end] : pieces), bytes]).subarray(-END_BYTES);
        if (room > 0) pieces.push(bytes.subarray(0, room));
      }
      return size > limit;
    },
    settle() {
      if (size <= limit) reader.whole(bodyText(pieces));
      else reader.ends?.(bodyText(pieces), bodyText(end ? [end] : []));
      return settle();
    },
  };
}
