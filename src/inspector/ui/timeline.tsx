/** The timeline of a response: a table whose last column draws each span to scale. */
import { useState } from 'preact/hooks';
import type { responseView } from '../server/response-view.ts';
import { ms, visible } from './format.tsx';

type Response = ReturnType<typeof responseView>;

/** One line; times in milliseconds since the request. */
interface Span {
  readonly key: string;
  readonly kind: 'whole' | 'model' | 'tool' | 'item' | 'mark';
  readonly label: string;
  readonly start: number;
  readonly end: number;
  /** Points within it. */
  readonly points: readonly number[];
  readonly isOpen: boolean;
  readonly isFailed: boolean;
}

const SHOWN = 40;

export function Timeline({ response }: { readonly response: Response }) {
  const [isWhole, setWhole] = useState(false);
  const spans = spansOf(response);
  const last = Math.max(1, ...spans.slice(0, 2000).map(({ end }) => end));
  const shown = isWhole ? spans : spans.slice(0, SHOWN);
  return (
    <>
      <table class="timeline">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" class="number">
              Start
            </th>
            <th scope="col" class="number">
              Took
            </th>
            <th scope="col">
              <Axis last={last} />
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((span) => (
            <tr key={span.key} data-start={span.start} data-end={span.end} class={span.isFailed ? 'failed' : ''}>
              <th scope="row">
                <span class={`kind ${span.kind}`} aria-hidden="true" />
                {visible(span.label)}
              </th>
              <td class="number">{ms(span.start)}</td>
              <td class="number">{span.isOpen ? `${ms(span.end - span.start)} …` : ms(span.end - span.start)}</td>
              <td>
                <Bar span={span} last={last} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < spans.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show {spans.length - shown.length} more
        </button>
      )}
    </>
  );
}

function Axis({ last }: { readonly last: number }) {
  return (
    <span class="axis">
      <span>0</span>
      <span>{ms(last / 2)}</span>
      <span>{ms(last)}</span>
    </span>
  );
}

/** The units of the drawing's width, and the narrowest span in them, so that every span is visible. */
const WIDTH = 1000;
const NARROWEST = 3;

function Bar({ span, last }: { readonly span: Span; readonly last: number }) {
  const place = (at: number) => Math.round((at / last) * WIDTH);
  const x = Math.min(place(span.start), WIDTH - NARROWEST);
  const width = Math.max(place(span.end) - x, NARROWEST);
  return (
    <svg class="lane" viewBox={`0 0 ${WIDTH} 12`} preserveAspectRatio="none" aria-hidden="true">
      <rect class={`${span.kind} ${span.isFailed ? 'failed' : ''}`} x={x} y={1} width={width} height={10} />
      {span.points.map((at) => (
        <rect key={at} class="point" x={Math.min(place(at), WIDTH - 2)} y={0} width={2} height={12} />
      ))}
    </svg>
  );
}

function spansOf(response: Response): readonly Span[] {
  const now = response.elapsed ?? 0;
  const { status, duration, callList, toolRuns, itemList, marks, failure } = response;
  const end = duration ?? now;
  const heartbeats = marks.filter(({ kind }) => kind === 'heartbeat').map(({ at }) => at);
  const rest = [
    ...callList.map((call, at) => ({
      ...spanOf('model', `model call ${at + 1 + response.firstCall}`, call, now),
      points: [
        ...call.attempts.slice(1).map((attempt) => attempt.at),
        ...(call.firstOutput === null ? [] : [call.firstOutput]),
      ],
      isFailed: call.error !== null,
    })),
    ...toolRuns.map((run) => ({
      ...spanOf('tool', `${run.server} ${run.name}`, run, now),
      isFailed: run.error !== null,
    })),
    ...itemList.map((item) => ({
      ...spanOf('item', `item ${item.index} ${item.type}`, item, now),
      points: item.argumentsAt === null ? [] : [item.argumentsAt],
    })),
    ...marks
      .filter(({ kind }) => kind !== 'heartbeat')
      .map((mark) => spanOf('mark', `${mark.kind} ${mark.text}`, { start: mark.at, end: mark.at }, now)),
  ].sort((one, other) => one.start - other.start);
  const whole = { ...spanOf('whole', 'response', { start: 0, end }, now), points: heartbeats.slice(0, 200) };
  return [{ ...whole, isOpen: status === 'running', isFailed: failure !== null }, ...rest].map((span, key) => ({
    ...span,
    key: String(key),
  }));
}

function spanOf(
  kind: Span['kind'],
  label: string,
  { start, end }: { start: number; end: number | null },
  now: number,
): Span {
  const name = label.length > 60 ? `${label.slice(0, 60)}…` : label;
  return { key: '', kind, label: name, start, end: end ?? now, points: [], isOpen: end === null, isFailed: false };
}
