/** The numbers of all listed responses, and when they arrived. */
import type { listView } from '../server/list-view.ts';
import { formatCount, formatDollars, formatMs, formatTime } from './parts/format.tsx';
import { type Stat, Stats } from './parts/parts.tsx';

type Summary = ReturnType<typeof listView>['summary'];

export function Overview({ of }: { readonly of: Summary }) {
  const cost: readonly Stat[] = of.cost === null ? [] : [{ name: 'Cost', value: formatDollars(of.cost) }];
  return (
    <Stats
      of={[
        { name: 'Running', value: formatCount(of.running) },
        { name: 'Failed', value: formatCount(of.failed), isBad: of.failed > 0 },
        { name: 'Tokens in', value: formatCount(of.inputTokens) },
        { name: 'Tokens out', value: formatCount(of.outputTokens) },
        ...cost,
        { name: 'First token', value: formatMs(of.firstOutput), note: 'median' },
        {
          name: 'Duration',
          value: formatMs(of.duration),
          note: of.slowest === null ? 'median' : `p95 ${formatMs(of.slowest)}`,
        },
      ]}
    />
  );
}

const HEIGHT = 28;
const STEP = 10;

/** When the responses arrived; each bar is a sixtieth of the time. */
export function Activity({ of: { from, to, intervals } }: { readonly of: Summary['activity'] }) {
  const most = Math.max(1, ...intervals.map(({ all }) => all));
  const heightOf = (value: number) => (value === 0 ? 0 : Math.max((value / most) * HEIGHT, 2));
  return (
    <figure class="activity">
      <svg viewBox={`0 0 ${intervals.length * STEP} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {intervals.map(({ all, failed }, at) => (
          <g key={at}>
            <rect x={at * STEP} y={HEIGHT - heightOf(all)} width={STEP - 2} height={heightOf(all)} class="all" />
            <rect
              x={at * STEP}
              y={HEIGHT - heightOf(failed)}
              width={STEP - 2}
              height={heightOf(failed)}
              class="failed"
            />
          </g>
        ))}
      </svg>
      <figcaption>
        <span>{formatTime(from)}</span>
        <span class="hidden">to</span>
        <span>{formatTime(to)}</span>
      </figcaption>
    </figure>
  );
}
