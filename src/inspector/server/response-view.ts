/** One response in full: its request, its timeline, its items and its model calls. */
import { withoutKeys } from '../../protocol/secrets/scrub.ts';
import type { LiveItem, ModelCall } from '../recording/entries.ts';
import { shownText } from '../recording/kept.ts';
import type { Recording } from '../recording/recording.ts';
import type { Ring } from '../recording/ring.ts';
import { rowOf } from './list-view.ts';

/** Items and model calls of one page: a response may have thousands. */
const MOST_ITEMS = 200;
const MOST_CALLS = 50;

/** The response; `items` is the index of the first item of the page, `calls` that of the first model call. */
export function responseView(ring: Ring, recording: Recording, query: URLSearchParams) {
  ring.endAborted();
  const { items, calls, tools, marks, body, error } = recording;
  const firstItem = placeIn(query, 'items');
  const firstCall = placeIn(query, 'calls');
  return {
    version: ring.version,
    ...rowOf(recording),
    elapsed: recording.elapsed(),
    upstreamModel: recording.upstreamModel ?? null,
    usage: recording.usage ?? null,
    previousId: recording.previousId ?? null,
    conversation: recording.conversation ?? null,
    failure: error ? { ...error, message: withoutKeys(error.message) } : null,
    events: recording.events,
    dropped: recording.dropped,
    body: { text: withoutKeys(body.text), cut: body.cut },
    itemCount: items.length,
    firstItem,
    itemList: items.slice(firstItem, firstItem + MOST_ITEMS).map(itemView),
    callCount: calls.length,
    firstCall,
    callList: calls.slice(firstCall, firstCall + MOST_CALLS).map(callView),
    toolRuns: tools.slice(0, MOST_ITEMS).map((run) => ({ ...run, error: run.error ? withoutKeys(run.error) : null })),
    marks: marks.slice(0, MOST_ITEMS).map((mark) => ({ ...mark, text: withoutKeys(mark.text) })),
  };
}

function placeIn(query: URLSearchParams, name: string): number {
  return Math.max(Math.trunc(Number(query.get(name))) || 0, 0);
}

function itemView({ index, type, id, start, argumentsAt, end, deltas, text, json }: LiveItem) {
  const times = { start, argumentsAt: argumentsAt ?? null, end: end ?? null };
  return { index, type, id, ...times, deltas, growing: withoutKeys(text), json: withoutKeys(json.text), cut: json.cut };
}

/** Each line of an event stream is a JSON value; any other text is one JSON body. */
function shownLines(text: string): string {
  const lines = text.split('\n');
  const isStream = /^[{[]/.test(lines[1] ?? '');
  return isStream ? lines.map(shownText).join('\n') : shownText(text);
}

function callView(call: ModelCall) {
  const { upstream, start, attempts, firstOutput, end, error, request, isWire, answer, answerCut, batches } = call;
  return {
    upstream,
    start,
    firstOutput: firstOutput ?? null,
    end: end ?? null,
    attempts,
    batches,
    isWire,
    error: error ? { ...error, message: withoutKeys(error.message) } : null,
    request: { text: shownText(request.text), cut: request.cut },
    answer: { text: shownLines(answer), cut: answerCut },
  };
}
