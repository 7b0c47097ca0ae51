/** The traces of agents: those beside one response, with the data of their spans, or the last ones of all. */
import { withoutKeys } from '../../../protocol/secrets/scrub.ts';
import { maskText } from '../recording/bounded-text.ts';
import type { Ring } from '../recording/ring.ts';
import type { RecordedSpan, RecordedTrace, TraceLog } from '../recording/traces.ts';

/** The most traces of an answer, and spans of a trace in it. */
const MAX_TRACES = 20;
const MAX_SPANS = 200;
/** Characters of a span's data in an answer. */
const MAX_DATA = 4000;
const MAX_DEPTH = 32;

/** The newest first; with `response`, the number of a recording, those of its tenant that name it. */
export function traceView(ring: Ring, log: TraceLog, query: URLSearchParams) {
  const number = query.get('response');
  const recording = number === null ? undefined : ring.get(Number(number));
  const found =
    number === null ? log.newestFirst() : recording ? log.forResponse(recording.info.scope, recording.clientId) : [];
  const numbers = new Map<string, number>();
  for (const each of ring.newestFirst()) {
    if (each.clientId === undefined) continue;
    const key = JSON.stringify([each.info.scope, each.clientId]);
    if (!numbers.has(key)) numbers.set(key, each.number);
  }
  return {
    version: ring.version,
    found: found.length,
    traces: found.slice(0, MAX_TRACES).map((trace) => traceEntry(trace, numbers, number !== null)),
  };
}

function traceEntry(trace: RecordedTrace, numbers: ReadonlyMap<string, number>, withData: boolean) {
  const { scope, id, name, groupId, spans, dropped } = trace;
  const shown = inOrder(spans).slice(0, MAX_SPANS);
  const startedAt = spans.reduce((first, span) => Math.min(first, span.startedAt), Number.POSITIVE_INFINITY);
  return {
    ...{ id, name, groupId, tenant: scope, spanCount: spans.length, dropped: dropped + spans.length - shown.length },
    at: Number.isFinite(startedAt) ? startedAt : null,
    spans: shown.map(({ span, depth }) => {
      const { responseId, error, data } = span;
      const text = withData ? maskText(data.text) : '';
      return {
        ...{ id: span.id, type: span.type, name: span.name, depth, responseId: responseId ?? null },
        ...{ start: span.startedAt - startedAt, duration: span.endedAt - span.startedAt },
        error: error === null ? null : withoutKeys(error),
        // Only of the same tenant: a client may name any response.
        response: responseId === undefined ? null : (numbers.get(JSON.stringify([scope, responseId])) ?? null),
        data: { text: text.slice(0, MAX_DATA), cut: data.cut + Math.max(text.length - MAX_DATA, 0) },
      };
    }),
  };
}

/** Each span behind the one that it is a part of, with its depth; those whose parents are not there, or are their own parts, begin anew. */
function inOrder(spans: readonly RecordedSpan[]) {
  const sorted = spans.toSorted((one, other) => one.startedAt - other.startedAt || one.endedAt - other.endedAt);
  const byId = new Set(sorted.map(({ id }) => id));
  const parts = new Map<string, RecordedSpan[]>();
  for (const span of sorted) {
    if (span.parentId === null || !byId.has(span.parentId)) continue;
    const list = parts.get(span.parentId) ?? [];
    list.push(span);
    parts.set(span.parentId, list);
  }
  const listed = new Set<RecordedSpan>();
  const ordered: { readonly span: RecordedSpan; readonly depth: number }[] = [];
  const list = (root: RecordedSpan) => {
    const open = [{ span: root, depth: 0 }];
    for (let next = open.pop(); next; next = open.pop()) {
      if (listed.has(next.span)) continue;
      listed.add(next.span);
      ordered.push({ span: next.span, depth: Math.min(next.depth, MAX_DEPTH) });
      const { depth } = next;
      for (const span of (parts.get(next.span.id) ?? []).toReversed()) open.push({ span, depth: depth + 1 });
    }
  };
  for (const span of sorted) if (span.parentId === null || !byId.has(span.parentId)) list(span);
  // A circle of spans has no beginning.
  for (const span of sorted) list(span);
  return ordered;
}
