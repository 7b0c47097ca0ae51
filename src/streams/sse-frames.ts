/** The framing of events that this server sends. */

/** The JSON of an event: the type first, then the number, as everywhere. */
export function numberedJson<Event extends { readonly type: string }>(
  { type, ...fields }: Event,
  sequence: number,
): string {
  return JSON.stringify({ type, sequence_number: sequence, ...fields });
}

/** One whole frame, LF only: some clients lose an event whose frame is split or framed otherwise. */
export function numberedFrame<Event extends { readonly type: string }>(event: Event, sequence: number): string {
  return `event: ${event.type}\ndata: ${numberedJson(event, sequence)}\n\n`;
}

/** The last frame of every stream. */
const DONE = '[DONE]';
export const DONE_FRAME = `data: ${DONE}\n\n`;

/** A comment that only keeps idle timers from expiring. */
export const HEARTBEAT_FRAME = ': heartbeat\n\n';

/** With blanks around it; longer data cannot be the end marker. */
const MAX_DONE = 32;

/** Whether the data is the end marker of a stream. */
export function isDone(data: string): boolean {
  return data.length < MAX_DONE && data.trim() === DONE;
}
