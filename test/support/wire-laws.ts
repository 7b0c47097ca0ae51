/** The laws of a stream as a client sees it: reads the framing strictly, then checks every event against the laws of a turn. */
import { broken, law, same } from './law.ts';
import { expectLaws } from './laws.ts';
import { expectValidEvent } from './open-responses-schema.ts';
import { expectWire, type WireEvent, type WireResponse } from './wire-schemas.ts';
import { turnEventsOf } from './wire-turn.ts';

type Lifecycle = Extract<WireEvent, { response: unknown }>;

/**
 * The events of a whole event stream. Throws if a frame is not one `event:` line and one `data:` line of the same
 * type, if a line does not end in LF, if `[DONE]` is not last, or if a schema refuses an event.
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
 * law of a turn, and those of its responses: fields that are settled in the first one do not change, and none reports anything too early.
 */
export function expectWireLaws(events: readonly WireEvent[]): WireResponse {
  expectLaws(turnEventsOf(events));
  const snapshots = events.filter((event): event is Lifecycle => 'response' in event);
  const first = snapshots[0]?.response ?? broken('a stream begins with its response', events);
  const last = snapshots.at(-1)?.response ?? broken('a stream ends with its response', events);
  for (const { response } of snapshots) same(settled(response), settled(first), 'what was settled at first stays so');
  for (const { response } of snapshots.slice(0, -1)) same(open(response), UNKNOWN, 'nothing is reported ahead');
  for (const event of events) if (event.type === 'error') expectNestedError(event);
  return last;
}

/** The fields that are settled from the first event on; the answering model and what its server found are known only at the end. */
function settled(response: WireResponse): unknown {
  const { status, completed_at, error, incomplete_details, output, usage, model, service_tier, ...known } = response;
  const { content_filters, ...rest } = known;
  return rest;
}

function open({ completed_at, error, incomplete_details, output, usage }: WireResponse): unknown {
  return { completed_at, error, incomplete_details, output, usage };
}

const UNKNOWN = { completed_at: null, error: null, incomplete_details: null, output: [], usage: null };

/** The error has both forms, since each client reads the one that it knows. */
function expectNestedError({ code, message, param, error }: Extract<WireEvent, { type: 'error' }>): void {
  same({ ...error }, { type: error.type, code, message, param }, 'the error is nested and flat alike');
}
