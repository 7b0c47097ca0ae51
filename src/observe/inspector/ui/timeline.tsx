/** The timeline of a response: a table whose last column draws each span to scale. */
import { useState } from 'preact/hooks';
import type { responseView } from '../server/response-view.ts';
import { formatMs, showHidden } from './parts/format.tsx';

type Response = ReturnType<typeof responseView>;

/** One line; times in milliseconds since the request. */
interface Span {
  readonly key: string;
  readonly kind: 'whole' | 'model' | 'tool' | 'item' | 'mark';
  readonly label: string;
  readonly start: number;
  readonly end: number;
  /** When its first output came, where it has one: the bar is light before. */
  readonly first: number | undefined;
  /** Points within it. */
  readonly points: readonly number[];
  readonly isOpen: boolean;
  readonly isFailed: boolean;
  /** The part of the page that has more of it. */
  readonly target: string | undefined;
}

const MAX_ROWS = 40;

const KINDS = { model: 'model call', tool: 'tool call', item: 'item', mark: 'note, approval or compaction' } as const;

export function Timeline({ response }: { readonly response: Response }) {
  const [isWhole, setWhole] = useState(false);
  const spans = buildSpans(response);
  const last = Math.max(1, ...spans.slice(0, 2000).map(({ end }) => end));
  const rows = isWhole ? spans : spans.slice(0, MAX_ROWS);
  return (
    <div class="card">
      <table class="timeline">
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">What</span>
            </th>
            <th scope="col" class="number">
              Start
            </th>
            <th scope="col" class="number">
              Took
            </th>
            <th scope="col">
              <span class="hidden">Drawn from 0 to {formatMs(last)}</span>
              <Axis last={last} />
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((span) => (
            <Line key={span.key} span={span} last={last} />
          ))}
        </tbody>
      </table>
      <Legend spans={spans} />
      {rows.length < spans.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show {spans.length - rows.length} more
        </button>
      )}
    </div>
  );
}

function Line({ span, last }: { readonly span: Span; readonly last: number }) {
  const took = formatMs(span.end - span.start);
  const { target } = span;
  return (
    <tr data-start={span.start} data-end={span.end} class={span.isFailed ? 'failed' : ''}>
      <th scope="row" title={showHidden(span.label)}>
        <span class={`kind ${span.kind}`} aria-hidden="true" />
        {target === undefined ? (
          showHidden(span.label)
        ) : (
          <button type="button" class="link" onClick={() => reveal(target)}>
            {showHidden(span.label)}
          </button>
        )}
      </th>
      <td class="number">{formatMs(span.start)}</td>
      <td class="number">{span.kind === 'mark' ? '' : span.isOpen ? `${took} …` : took}</td>
      <td>
        <Bar span={span} last={last} />
      </td>
    </tr>
  );
}

/** Opens that part of the page, and moves there. */
function reveal(id: string): void {
  const part = document.getElementById(id);
  const fold = part?.querySelector<HTMLDetailsElement>('details.call');
  if (fold) fold.open = true;
  part?.scrollIntoView({ block: 'start' });
  part?.querySelector<HTMLElement>('summary, [tabindex]')?.focus({ preventScroll: true });
}

function Legend({ spans }: { readonly spans: readonly Span[] }) {
  const kinds = (['model', 'tool', 'item', 'mark'] as const).filter((kind) => spans.some((span) => span.kind === kind));
  const hasBeats = (spans[0]?.points.length ?? 0) > 0;
  return (
    <p class="legend">
      {kinds.map((kind) => (
        <span key={kind}>
          <span class={`kind ${kind}`} aria-hidden="true" /> {KINDS[kind]}
        </span>
      ))}
      {kinds.includes('model') && (
        <span>
          <span class="kind wait" aria-hidden="true" /> before its first token
        </span>
      )}
      {hasBeats && (
        <span>
          <span class="kind beat" aria-hidden="true" /> heartbeat
        </span>
      )}
    </p>
  );
}

/** The units of the drawing's width, and the narrowest span in them, so that every span is visible. */
const WIDTH = 1000;
const MIN_WIDTH = 3;

/** Round times, of which at most six fit. */
function axisTicks(last: number): readonly number[] {
  const rough = last / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, at) => at * step);
}

function Axis({ last }: { readonly last: number }) {
  return (
    <svg class="axis" aria-hidden="true">
      {axisTicks(last).map((at, place) => (
        // The first and the last time stay within the drawing.
        <text key={at} x={`${(at / last) * 100}%`} y="11" class={place === 0 ? 'from' : at > last * 0.94 ? 'to' : 'on'}>
          {at === 0 ? '0' : formatMs(at)}
        </text>
      ))}
    </svg>
  );
}

function Bar({ span, last }: { readonly span: Span; readonly last: number }) {
  const place = (at: number) => Math.round((at / last) * WIDTH);
  const x = Math.min(place(span.start), WIDTH - MIN_WIDTH);
  const width = Math.max(place(span.end) - x, MIN_WIDTH);
  const wait = span.first === undefined ? 0 : Math.min(place(span.first) - x, width);
  return (
    <svg class="lane" viewBox={`0 0 ${WIDTH} 16`} preserveAspectRatio="none" aria-hidden="true">
      {axisTicks(last).map((at) => (
        <line key={at} x1={place(at)} x2={place(at)} y1="-8" y2="24" class="grid" />
      ))}
      <rect class={`${span.kind} ${span.isFailed ? 'failed' : ''}`} x={x} y={3} width={width} height={10} />
      {wait > 0 && <rect class="wait" x={x} y={3} width={wait} height={10} />}
      {span.points.map((at) => (
        <rect key={at} class="point" x={Math.min(place(at), WIDTH - 2)} y={0} width={2} height={16} />
      ))}
    </svg>
  );
}

function buildSpans(response: Response): readonly Span[] {
  const now = response.elapsed ?? 0;
  const { status, duration, callList, toolRuns, itemList, marks, failure } = response;
  const end = duration ?? now;
  const heartbeats = marks.filter(({ kind }) => kind === 'heartbeat').map(({ at }) => at);
  const rest = [
    ...callList.map((call, at) => ({
      ...toSpan('model', `model call ${at + 1 + response.firstCall}`, call, now),
      first: call.firstOutput ?? undefined,
      points: call.attempts.slice(1).map((attempt) => attempt.at),
      isFailed: call.error !== null,
      target: `call-${at + response.firstCall}`,
    })),
    ...toolRuns.map((run) => ({
      ...toSpan('tool', `${run.server} · ${run.name}`, run, now),
      isFailed: run.error !== null,
    })),
    ...itemList.map((item) => ({
      ...toSpan('item', `${item.type} ${item.index}`, item, now),
      points: item.argumentsAt === null ? [] : [item.argumentsAt],
      target: `item-${item.index}`,
    })),
    ...marks
      .filter(({ kind }) => kind !== 'heartbeat')
      .map((mark) => toSpan('mark', `${mark.kind} ${mark.text}`, { start: mark.at, end: mark.at }, now)),
  ].sort((one, other) => one.start - other.start);
  const whole = { ...toSpan('whole', 'response', { start: 0, end }, now), points: heartbeats.slice(0, 200) };
  return [{ ...whole, isOpen: status === 'running', isFailed: failure !== null }, ...rest].map((span, key) => ({
    ...span,
    key: String(key),
  }));
}

function toSpan(
  kind: Span['kind'],
  label: string,
  { start, end }: { start: number; end: number | null },
  now: number,
): Span {
  const name = label.length > 60 ? `${label.slice(0, 60)}…` : label;
  const none = { first: undefined, points: [], isFailed: false, target: undefined };
  return { key: '', kind, label: name, start, end: end ?? now, isOpen: end === null, ...none };
}
