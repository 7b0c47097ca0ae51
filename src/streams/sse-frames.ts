/** The framing of events that this server sends. */

/** One whole frame, LF only: some clients lose an event whose frame is split or framed otherwise. */
export function frame<Event extends { readonly type: string }>(event: Event): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The last frame of every stream. */
export const DONE_FRAME = 'data: [DONE]\n\n';

/** Says nothing, but keeps idle timers from running out. */
export const HEARTBEAT_FRAME = ': heartbeat\n\n';
