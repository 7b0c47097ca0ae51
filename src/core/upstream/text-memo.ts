/** Reads the text out of chunks that differ in nothing else, without parsing them: most of a stream is such chunks. */
import { isRecord } from '../record.ts';

/** What the last chunks had in common. */
export interface TextMemo {
  /** The text of a chunk that is as the learnt ones but for it; undefined for any other. */
  read(data: string): string | undefined;
  /** Learns from a chunk that was parsed. */
  learn(data: string, chunk: unknown): void;
}

const KEY = /"content": ?"/;
/** Stands in for the text, where a guess is proven. */
const MARK = 'x';

/**
 * Saves 1 µs of 3 for each event of a burst: the model server writes the same 200 bytes around every word. What it
 * reads is exactly what parsing gives: the frame around the text is proven by parsing it once, and text with anything
 * but plain characters in it goes through `JSON.parse`.
 */
export function textMemo(): TextMemo {
  let prefix = '';
  let suffix = '';
  let proven = false;

  return {
    read(data) {
      const end = data.length - suffix.length;
      if (!proven || end < prefix.length) return undefined;
      // Not `startsWith` and `endsWith`: V8 compares slices ten times as fast.
      if (data.slice(0, prefix.length) !== prefix || data.slice(end) !== suffix) return undefined;
      return plainText(data.slice(prefix.length, end));
    },
    learn(data, chunk) {
      const found = isPlain(chunk) ? KEY.exec(data) : null;
      if (!found) return;
      const start = found.index + found[0].length;
      const end = endOfText(data, start);
      // Proof costs as much as parsing, so it is asked for what has come twice.
      const again =
        data.length - end === suffix.length && data.startsWith(prefix) && data.endsWith(suffix) && prefix !== '';
      prefix = data.slice(0, start);
      suffix = data.slice(end);
      proven = again && isFrame(prefix, suffix);
    },
  };
}

function endOfText(data: string, start: number): number {
  let end = data.indexOf('"', start);
  while (end > start && isEscaped(data, end)) end = data.indexOf('"', end + 1);
  return end < 0 ? data.length : end;
}

function isEscaped(data: string, at: number): boolean {
  let before = at;
  while (data[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}

/** Whether the bytes around the text mean nothing but that text. */
function isFrame(prefix: string, suffix: string): boolean {
  try {
    const chunk: unknown = JSON.parse(prefix + MARK + suffix);
    return isPlain(chunk) && textIn(chunk) === MARK;
  } catch {
    return false;
  }
}

function textIn({ choices }: Readonly<Record<string, unknown>>): unknown {
  const [choice] = choices as readonly { readonly delta: { readonly content: unknown } }[];
  return choice?.delta.content;
}

/** Whether the chunk says one piece of text and nothing else that anybody here reads. */
function isPlain(chunk: unknown): chunk is Readonly<Record<string, unknown>> {
  if (!isRecord(chunk) || chunk.usage || chunk.error || chunk.x_groq || chunk.type === 'error') return false;
  if (chunk.object === 'error' || !Array.isArray(chunk.choices) || chunk.choices.length !== 1) return false;
  const [choice] = chunk.choices;
  if (!isRecord(choice) || (choice.index ?? 0) !== 0 || choice.finish_reason || choice.logprobs || choice.message)
    return false;
  return isRecord(choice.delta) && Object.entries(choice.delta).every(isTextOnly);
}

function isTextOnly([name, value]: readonly [string, unknown]): boolean {
  return name === 'content' ? typeof value === 'string' : name === 'role' || value === null || value === '';
}

const UNPLAIN = /["\\\p{Cc}]/u;

/** Undefined where it is not one whole JSON text. */
function plainText(literal: string): string | undefined {
  if (!UNPLAIN.test(literal)) return literal;
  try {
    const text: unknown = JSON.parse(`"${literal}"`);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}
