/** The framing of events that this server sends. */

/** One whole frame, LF only: some clients lose an event whose frame is split or framed otherwise. */
export function frame<Event extends { readonly type: string }>(event: Event): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The last frame of every stream. */
const DONE = '[DONE]';
export const DONE_FRAME = `data: ${DONE}\n\n`;

/** Says nothing, but keeps idle timers from running out. */
export const HEARTBEAT_FRAME = ': heartbeat\n\n';

/** With blanks around it; longer data need not be looked at. */
const LONGEST_DONE = 32;

/** Whether the data is that of the event which ends a stream. */
export function isDone(data: string): boolean {
  return data.length < LONGEST_DONE && data.trim() === DONE;
}
