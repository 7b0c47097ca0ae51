/** A response whose messages are limited in size and time. */
import type { Deadline } from './deadline.ts';
import { EgressError } from './egress-error.ts';
import { bodyMeter, eventMeter, type MessageMeter } from './message-meter.ts';

/** The limits of one message, and the host that errors name. */
interface ResponseLimits {
  readonly maxBytes: number;
  readonly target: string;
}

/** The same response; its body breaks off with `answer_too_large` or `answer_too_slow`. Counts its bytes decompressed. */
export function limitedResponse(response: Response, limits: ResponseLimits, clock: Deadline): Response {
  const { body, status, statusText, headers } = response;
  if (!body) {
    clock.end();
    return response;
  }
  const isEvents = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
  if (!isEvents && Number(headers.get('content-length')) > limits.maxBytes) throw clock.cut(tooLarge(limits));
  // A server's events may be hours apart.
  if (isEvents) clock.pause();
  const limited = limitedBody(body.getReader(), isEvents ? eventMeter() : bodyMeter(), limits, clock);
  return new Response(limited, { status, statusText, headers: [...headers] });
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

function limitedBody(reader: Reader, meter: MessageMeter, limits: ResponseLimits, clock: Deadline): ReadableStream {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await nextPiece(reader, clock);
      if (!piece) return controller.close();
      const { largest, isOpen, hasBegun } = meter(piece);
      if (largest > limits.maxBytes) throw clock.cut(tooLarge(limits));
      if (hasBegun) clock.restart();
      if (!isOpen) clock.pause();
      controller.enqueue(piece);
    },
    cancel(reason) {
      clock.end();
      return reader.cancel(reason);
    },
  });
}

async function nextPiece(reader: Reader, clock: Deadline): Promise<Uint8Array | undefined> {
  try {
    const { value } = await reader.read();
    if (!value) clock.end();
    return value;
  } catch (error) {
    clock.end();
    throw error;
  }
}

function tooLarge({ maxBytes, target }: ResponseLimits): EgressError {
  return new EgressError('answer_too_large', target, `it sent a message of more than ${maxBytes} bytes`);
}
