/** One response in full: its request, its timeline, its items and its model calls. */
import { createParser } from 'eventsource-parser';
import { wholeText } from '../../../protocol/grown-text.ts';
import { withoutKeys } from '../../../protocol/secrets/scrub.ts';
import { maskText, NO_TEXT } from '../recording/bounded-text.ts';
import type { ModelCall } from '../recording/entries.ts';
import type { Recording } from '../recording/recording.ts';
import type { Ring } from '../recording/ring.ts';
import { listRow } from './list-view.ts';

/** Items and model calls of one page: a response may have thousands. */
const MAX_ITEMS = 200;
const MAX_CALLS = 50;

/**
 * The response; `items` is the index of the first item of the page, `calls` that of the first model call. `texts` names the calls whose
 * texts are wanted, such as `0,3`: a page that shows none of fifty open calls does not make the server read them all. Default: all.
 */
export function responseView(ring: Ring, recording: Recording, query: URLSearchParams) {
  ring.endAborted();
  const { items, calls, tools, marks, body, error } = recording;
  const firstItem = pageStart(query, 'items');
  const firstCall = pageStart(query, 'calls');
  const wanted = query.get('texts')?.split(',').map(Number);
  return {
    version: ring.version,
    ...listRow(recording),
    elapsed: recording.elapsed(),
    usage: recording.usage ?? null,
    previousId: recording.previousId ?? null,
    conversation: recording.conversation ?? null,
    failure: error ? { ...error, message: withoutKeys(error.message) } : null,
    dropped: recording.dropped,
    body: { text: withoutKeys(body.text), cut: body.cut },
    itemCount: items.length,
    firstItem,
    itemList: items
      .slice(firstItem, firstItem + MAX_ITEMS)
      .map(({ argumentsAt = null, end = null, growing, json, ...item }) => ({
        index: item.index,
        type: item.type,
        id: item.id,
        start: item.start,
        argumentsAt,
        end,
        deltas: item.deltas,
        growing: withoutKeys(wholeText(growing)),
        json: withoutKeys(json.text),
        cut: json.cut,
      })),
    callCount: calls.length,
    firstCall,
    callList: calls
      .slice(firstCall, firstCall + MAX_CALLS)
      .map((call, at) => callView(call, wanted?.includes(firstCall + at) ?? true)),
    toolRuns: tools.slice(0, MAX_ITEMS).map((run) => ({ ...run, error: run.error ? withoutKeys(run.error) : null })),
    marks: marks.slice(0, MAX_ITEMS).map((mark) => ({ ...mark, text: withoutKeys(mark.text) })),
  };
}

function pageStart(query: URLSearchParams, name: string): number {
  return Math.max(Math.trunc(Number(query.get(name))) || 0, 0);
}

/** The answer, a line for each event. What has not arrived whole is left out: the secrets in it could not be found by their names. */
function maskedAnswer({ answer, answerCut, end }: ModelCall): string {
  const isWhole = answerCut === 0 && end !== undefined;
  let lines: string[] = [];
  if (/^\s*[{[]/.test(answer)) {
    // A JSON body, or a line of JSON for each event.
    lines = answer.trimEnd().split('\n');
    const isStream = lines.length > 1 && /^[{[]/.test(lines[1] ?? '');
    if (!isStream) lines = isWhole ? [answer] : [];
    else if (!isWhole) lines.pop();
  } else {
    const parser = createParser({ onEvent: ({ data }) => lines.push(data) });
    // The last event may have no blank line behind it.
    parser.feed(isWhole ? `${answer}\n\n` : answer);
  }
  return lines.map(maskText).join('\n');
}

function callView(call: ModelCall, withTexts: boolean) {
  const { upstream, start, attempts, firstOutput, end, error, request, isWire, answerCut, batches } = call;
  return {
    upstream,
    start,
    firstOutput: firstOutput ?? null,
    end: end ?? null,
    attempts,
    batches,
    isWire,
    error: error ? { ...error, message: withoutKeys(error.message) } : null,
    hasText: request !== NO_TEXT,
    request: withTexts ? { text: maskText(request.text), cut: request.cut } : NO_TEXT,
    answer: withTexts ? { text: maskedAnswer(call), cut: answerCut } : NO_TEXT,
  };
}
