/** Says a reply in a dialect. */
import { isRecord } from '../record.ts';
import type { Reply } from '../reply.ts';
import type { About, Dialect, Fields, Frame, Wire } from './dialect.ts';

/** The reply as the dialect has it. */
export function inDialect(reply: Reply, dialect: Dialect): Reply {
  const owned = reply.ownedTools;
  const about: About = { isOwned: (name) => owned?.has(name) ?? false };
  const { body } = reply;
  if (typeof body === 'string') return { ...reply, body: wholeBody(body, dialect, about) };
  return dialect.rewriter || dialect.wire ? { ...reply, body: rewritten(body, dialect, about) } : reply;
}

function wholeBody(text: string, { resource, errorBody }: Dialect, about: About): string {
  if (!resource && !errorBody) return text;
  const body: unknown = JSON.parse(text);
  if (!isRecord(body)) return text;
  if (resource && body.object === 'response') return JSON.stringify(resource(body, about));
  // The cast: the only errors that are answered are in the envelope.
  return errorBody && isRecord(body.error) ? JSON.stringify({ error: errorBody(body.error as never) }) : text;
}

const FULL: Wire = { eventLine: true, sequenceNumbers: true, done: true };

async function* rewritten(pieces: AsyncIterable<string>, dialect: Dialect, about: About): AsyncGenerator<string> {
  const rewrite = dialect.rewriter?.(about) ?? ((frame: Frame) => [frame]);
  const wire = dialect.wire ?? FULL;
  let sequence = 0;
  for await (const piece of pieces) {
    let text = '';
    for (const part of piece.split('\n\n')) {
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (data === undefined) text += part === '' ? '' : `${part}\n\n`;
      else if (data === '[DONE]') text += wire.done ? 'data: [DONE]\n\n' : '';
      else for (const frame of rewrite(JSON.parse(data))) text += frameText(frame, sequence++, wire);
    }
    yield text;
  }
}

/** The type first, then the number, as everywhere. */
function frameText({ type, sequence_number: _, ...fields }: Frame, sequence: number, wire: Wire): string {
  const numbered: Fields = wire.sequenceNumbers ? { sequence_number: sequence } : {};
  return `${wire.eventLine ? `event: ${type}\n` : ''}data: ${JSON.stringify({ type, ...numbered, ...fields })}\n\n`;
}
