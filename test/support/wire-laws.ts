/** The laws of a stream as a client sees it: framing read strictly, then every event replayed and held to what went before. */
import { broken, law, same } from './law.ts';
import { expectValidEvent } from './open-responses-schema.ts';
import { replayItems } from './wire-items.ts';
import { expectWire, type WireEvent, type WireResponse } from './wire-schemas.ts';

type Lifecycle = Extract<WireEvent, { response: unknown }>;

/**
 * The events of a whole event stream. Throws where a frame is not one `event:` line and one `data:` line of the same
 * type, where a line ends otherwise than in LF, where `[DONE]` is not last, or where a schema refuses an event.
 */
export function readWire(stream: string): readonly WireEvent[] {
  law(!stream.includes('\r'), 'lines end in LF only', stream.slice(0, 200));
  law(stream.endsWith('\n\ndata: [DONE]\n\n'), '[DONE] is the last frame', stream.slice(-200));
  const frames = stream.split('\n\n').slice(0, -2);
  return frames.filter((frame) => !frame.startsWith(':')).map(readFrame);
}

function readFrame(frame: string): WireEvent {
  const [, name, data = ''] =
    /^event: (\S+)\ndata: (\{[^\n]*\})$/.exec(frame) ?? broken('a frame is event and data', frame);
  const event = expectWire(JSON.parse(data));
  law(event.type === name, 'the event line names the type of its data', frame);
  expectValidEvent(event);
  return event;
}

/**
 * The response in the terminal event. Throws, naming the law, unless the events are one whole stream that keeps every
 * law: numbering, one lifecycle, items and parts announced before they are used and closed once, ids and call ids
 * that never change, deltas that add up to what is done and to the final output.
 */
export function expectWireLaws(events: readonly WireEvent[]): WireResponse {
  expectDenseSequence(events);
  const response = expectLifecycle(events);
  same(response.output, replayItems(events), 'the final output holds every item in its place, as it was done');
  expectStatuses(response);
  return response;
}

function expectDenseSequence(events: readonly WireEvent[]): void {
  for (const [index, event] of events.entries())
    law(event.sequence_number === index, `sequence_number is dense from 0 (expected ${index})`, event);
}

const LIFECYCLE =
  /^response.created (response.queued )?response.in_progress (response.(completed|incomplete)|error response.failed)$/;

function expectLifecycle(events: readonly WireEvent[]): WireResponse {
  const told = events.filter((event) => 'response' in event || event.type === 'error');
  law(LIFECYCLE.test(told.map(({ type }) => type).join(' ')), 'a stream has one beginning and one end', told);
  const snapshots = told.filter((event): event is Lifecycle => 'response' in event);
  const first = snapshots[0]?.response ?? broken('a stream begins with its response', events);
  const last = snapshots.at(-1)?.response ?? broken('a stream ends with its response', events);
  same(events.slice(0, snapshots.length - 1), snapshots.slice(0, -1), 'a stream says first that it has begun');
  same(events.at(-1), snapshots.at(-1), 'nothing comes after the end');
  for (const { response } of snapshots) same(settled(response), settled(first), 'what was settled at first stays so');
  for (const { response } of snapshots.slice(0, -1)) same(open(response), UNTOLD, 'nothing is told ahead');
  expectError(events, last);
  return last;
}

/** What a response is from its first event on; who answered is known at its end. */
function settled(response: WireResponse): unknown {
  const { status, completed_at, error, incomplete_details, output, usage, model, service_tier, ...rest } = response;
  return rest;
}

function open({ completed_at, error, incomplete_details, output, usage }: WireResponse): unknown {
  return { completed_at, error, incomplete_details, output, usage };
}

const UNTOLD = { completed_at: null, error: null, incomplete_details: null, output: [], usage: null };

/** What both say; a response has a code of OpenAI's, and the event's own as its reason. */
function toldIn(error: WireResponse['error'] | Extract<WireEvent, { type: 'error' }>): unknown {
  if (!error) return null;
  const reason = 'reason' in error ? error.reason : undefined;
  return { code: reason ?? error.code, message: error.message, param: error.param };
}

function expectError(events: readonly WireEvent[], { error }: WireResponse): void {
  const event = events.find((candidate) => candidate.type === 'error');
  same(toldIn(error), event ? toldIn(event) : null, 'the response repeats the error event');
  if (!event) return;
  law(events.indexOf(event) === events.length - 2, 'an error is followed by response.failed', event);
  const { code, message, param } = event;
  same({ ...event.error }, { type: event.error.type, code, message, param }, 'the error is nested and flat alike');
}

function expectStatuses({ status, output, incomplete_details, completed_at }: WireResponse): void {
  law((status === 'incomplete') === (incomplete_details !== null), 'a response has a reason exactly when incomplete', {
    status,
    incomplete_details,
  });
  law((status === 'completed') === (completed_at !== null), 'completed_at is for completed responses', completed_at);
  if (status === 'failed') return;
  const cutOff = output.filter((item) => 'status' in item && item.status === 'incomplete');
  law(cutOff.length === 0 || status === 'incomplete', 'an incomplete item makes its response incomplete', output);
  law(
    cutOff.every((item) => item === output.at(-1)),
    'only the last item may be incomplete',
    output,
  );
}
