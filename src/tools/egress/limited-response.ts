/** A response whose messages are limited in size and time. */
import { isEventStreamType } from '../../streams/event-lines.ts';
import type { Deadline } from './deadline.ts';
import { EgressError } from './egress-error.ts';
import { bodyMeter, eventMeter } from './message-meter.ts';

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
  const { maxBytes, target } = limits;
  const tooLarge = () =>
    new EgressError('answer_too_large', target, `it sent a message of more than ${maxBytes} bytes`);
  const isEvents = isEventStreamType(headers.get('content-type'));
  if (!isEvents && Number(headers.get('content-length')) > maxBytes) throw clock.cut(tooLarge());
  // A server's events may be hours apart.
  if (isEvents) clock.pause();
  const reader = body.getReader();
  const measure = isEvents ? eventMeter() : bodyMeter();
  const limitedBody = new ReadableStream<Uint8Array>({
    async pull(controller) {
      let piece: Uint8Array | undefined;
      try {
        ({ value: piece } = await reader.read());
      } finally {
        if (!piece) clock.end();
      }
      if (!piece) return controller.close();
      const { largest, isOpen, hasBegun } = measure(piece);
      if (largest > maxBytes) throw clock.cut(tooLarge());
      if (hasBegun) clock.restart();
      if (!isOpen) clock.pause();
      controller.enqueue(piece);
    },
    cancel(reason) {
      clock.end();
      return reader.cancel(reason);
    },
  });
  return new Response(limitedBody, { status, statusText, headers: [...headers] });
}
