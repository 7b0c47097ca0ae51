/** Turns replies of the core into text frames. */
import { DONE_FRAME } from '../streams/sse-frames.ts';

/** What only keeps idle timers from running out. */
export const PING = Symbol('ping');

/** The messages in a stretch of whole SSE frames: the data of each event, and a ping for each comment. */
export function* messagesIn(frames: string, lane: string | undefined): Generator<string | typeof PING> {
  for (const frame of frames.split('\n\n')) {
    if (frame.startsWith(':')) yield PING;
    else if (frame !== '' && !DONE_FRAME.startsWith(frame)) yield inLane(dataOf(frame), lane);
  }
}

/** A refusal, from the answer that it would be over HTTP. */
export function errorMessage(status: number, body: string, lane: string | undefined): string {
  // The cast: the core's refusals are envelopes.
  const { error } = JSON.parse(body) as { readonly error: unknown };
  return inLane(JSON.stringify({ type: 'error', status, error }), lane);
}

const DATA = 'data: ';

/** Some dialects name no event in front of the data. */
function dataOf(frame: string): string {
  return frame.startsWith(DATA) ? frame.slice(DATA.length) : frame.slice(frame.indexOf(`\n${DATA}`) + 1 + DATA.length);
}

/** The name is written as it is: its characters have been checked. */
function inLane(json: string, lane: string | undefined): string {
  return lane === undefined ? json : `${json.slice(0, -1)},"stream_id":"${lane}"}`;
}
