/** Says a reply in a dialect. */

import type { About, Dialect, Fields, Frame, Wire } from '../ports/dialect.ts';
import { isRecord } from '../protocol/record.ts';
import type { Reply } from '../protocol/reply.ts';
import { DONE_FRAME, HEARTBEAT_FRAME } from '../streams/sse-frames.ts';

/** The reply as the dialect has it. */
export function inDialect(reply: Reply, dialect: Dialect): Reply {
  const { body, ownedTools } = reply;
  if (typeof body === 'string') return { ...reply, body: wholeBody(body, dialect) };
  // A stream that does not say whose its tools are is no response's, but a chat's.
  if (!ownedTools || !(dialect.rewriter || dialect.wire)) return reply;
  return { ...reply, body: rewritten(body, rewriterOf(dialect, { isOwned: (name) => ownedTools.has(name) })) };
}

function wholeBody(text: string, { resource, errorBody }: Dialect): string {
  if (!resource && !errorBody) return text;
  const body: unknown = JSON.parse(text);
  if (!isRecord(body)) return text;
  // A failed response has an error of its own.
  if (body.object === 'response') return resource ? JSON.stringify(resource(body)) : text;
  // The cast: the only errors that are answered are in the envelope.
  return errorBody && isRecord(body.error) ? JSON.stringify({ error: errorBody(body.error as never) }) : text;
}

const FULL: Wire = { eventLine: true, sequenceNumbers: true, done: true, keepalive: true };

/** An iterator, not a generator: closing a generator that never ran would leave the source open. */
function rewritten(pieces: AsyncIterable<string>, rewrite: (piece: string) => string): AsyncIterableIterator<string> {
  const source = pieces[Symbol.asyncIterator]();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const { done, value } = await source.next();
      if (done) return { done: true, value: undefined };
      try {
        return { done: false, value: rewrite(value) };
      } catch (error) {
        await source.return?.();
        throw error;
      }
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
}

/** Rewrites pieces of whole frames, one after another. */
function rewriterOf(dialect: Dialect, about: About): (piece: string) => string {
  const wire = dialect.wire ?? FULL;
  const rewrite = dialect.rewriter?.(about) ?? ((frame: Frame) => [frame]);
  let sequence = 0;
  let inComments = false;

  function framesOf(data: string): string {
    const frame: Frame = JSON.parse(data);
    if (frame.type === 'keepalive' && inComments && !wire.keepalive) return HEARTBEAT_FRAME;
    return rewrite(frame)
      .map((said) => frameText(said, sequence++, wire))
      .join('');
  }

  function partOf(part: string): string {
    const data = dataOf(part);
    if (data === DONE) return wire.done ? DONE_FRAME : '';
    if (data !== undefined) return framesOf(data);
    inComments = true;
    return `${part}\n\n`;
  }

  return (piece) => piece.split('\n\n').slice(0, -1).map(partOf).join('');
}

const DONE = '[DONE]';
const DATA = 'data: ';

/** By the bytes of our own frames: a pattern's `.` and `$` stop at line separators that JSON leaves in its texts. */
function dataOf(part: string): string | undefined {
  if (part.startsWith(DATA)) return part.slice(DATA.length);
  const start = part.indexOf(`\n${DATA}`);
  return part.startsWith('event: ') && start > 0 ? part.slice(start + 1 + DATA.length) : undefined;
}

/** The type first, then the number, as everywhere. */
function frameText({ type, sequence_number: _, ...fields }: Frame, sequence: number, wire: Wire): string {
  const numbered: Fields = wire.sequenceNumbers ? { sequence_number: sequence } : {};
  return `${wire.eventLine ? `event: ${type}\n` : ''}data: ${JSON.stringify({ type, ...numbered, ...fields })}\n\n`;
}
