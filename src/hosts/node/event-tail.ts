/** Follows the bytes of an event stream to detect whether they end between two events. */

const CR = 13;
const LF = 10;

/** Whether the bytes so far end with a whole event. */
interface EventTail {
  take(chunk: string | Uint8Array): void;
  readonly between: boolean;
}

/** The position before the first byte is between two events too. */
export function eventTail(): EventTail {
  let tail = '\n\n';
  return {
    take(chunk) {
      // Of bytes only the line ends matter.
      const last =
        typeof chunk === 'string'
          ? chunk.slice(-4)
          : [...chunk.subarray(-4)].map((byte) => (byte === CR ? '\r' : byte === LF ? '\n' : '.')).join('');
      if (last !== '') tail = (tail + last).slice(-4);
    },
    get between() {
      return /(\n\n|\r\r|\r\n\r\n)$/.test(tail);
    },
  };
}
