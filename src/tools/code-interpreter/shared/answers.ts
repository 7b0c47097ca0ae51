/** Reads the answers of an untrusted process: every frame is counted before it is kept. */
import type { Readable } from 'node:stream';
import { type Frame, frameReader, HEADER_BYTES } from './frames.ts';
import type { Kind } from './kinds.ts';

/** A file of an answer. */
interface AnswerFile {
  readonly name: string;
  readonly data: Buffer;
}

/** A whole answer: its texts by kind, if there were any, and its files. */
export interface Answer {
  readonly texts: Readonly<Partial<Record<Kind, string>>>;
  readonly files: readonly AnswerFile[];
}

/** The limits of one answer. */
export interface AnswerLimits {
  /** Bytes in total. */
  readonly bytes: number;
  /** Bytes of its texts together. */
  readonly textBytes: number;
  readonly files: number;
}

/** The reader's side of the answers. */
interface Answers {
  /** The answer to this question; frames for others are dropped, and count. One caller at a time. */
  next(id: number): Promise<Answer>;
}

/** The cost of a frame beside its bytes: many empty ones add up as well. */
const FRAME_COST = HEADER_BYTES + 64;

/** Nothing is read after an answer that exceeds a limit, or after an invalid frame. */
export function answerReader(stream: Readable, limits: AnswerLimits, onExcess: () => void): Answers {
  let current = answerBuilder();
  let pending: { readonly id: number; readonly resolve: (answer: Answer) => void } | undefined;
  let used = { bytes: 0, textBytes: 0, files: 0 };
  let ended = false;

  function end(): void {
    ended = true;
    current = answerBuilder();
    onExcess();
  }

  function addFrame({ kind, id, data }: Frame): void {
    used.bytes += data.length + FRAME_COST;
    if (kind === 'name') used.files += 1;
    else if (kind !== 'data') used.textBytes += data.length;
    if (used.bytes > limits.bytes || used.textBytes > limits.textBytes || used.files > limits.files) return end();
    if (id !== pending?.id) return;
    if (kind !== 'done') return current.add(kind, data);
    const { resolve } = pending;
    pending = undefined;
    resolve(current.answer());
    current = answerBuilder();
  }

  const read = frameReader({ frame: (frame) => ended || addFrame(frame), broken: end });
  stream.on('data', (chunk) => ended || read(chunk));
  return {
    next: (id) =>
      new Promise((resolve) => {
        pending = { id, resolve };
        current = answerBuilder();
        used = { bytes: 0, textBytes: 0, files: 0 };
      }),
  };
}

/** Assembles the frames of one answer. */
function answerBuilder() {
  const texts = new Map<Kind, Buffer[]>();
  const files: { readonly name: Buffer; readonly data: Buffer[] }[] = [];
  return {
    add(kind: Kind, data: Buffer): void {
      if (kind === 'name') files.push({ name: data, data: [] });
      else if (kind === 'data') files.at(-1)?.data.push(data);
      else if (!texts.get(kind)?.push(data)) texts.set(kind, [data]);
    },
    answer: (): Answer => ({
      texts: Object.fromEntries([...texts].map(([kind, parts]) => [kind, Buffer.concat(parts).toString('utf8')])),
      files: files.map(({ name, data }) => ({ name: name.toString('utf8'), data: Buffer.concat(data) })),
    }),
  };
}
