/** The difference of two texts, line by line. */
import { showHidden } from './format.tsx';
import { Scroll } from './parts.tsx';

/** A line, and where it stands. */
interface DiffLine {
  readonly side: 'both' | 'left' | 'right';
  readonly text: string;
}

/** Changed lines beyond which two texts are shown as different: the time grows with their square. */
const MAX_CHANGES = 1500;

/** Myers' shortest edit; undefined if there are too many changes. */
function diff(left: readonly string[], right: readonly string[]): readonly DiffLine[] | undefined {
  const trail: Map<number, number>[] = [];
  const reached = new Map([[1, 0]]);
  for (let changes = 0; changes <= MAX_CHANGES; changes += 1) {
    trail.push(new Map(reached));
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      const down =
        diagonal === -changes || (diagonal !== changes && at(reached, diagonal - 1) < at(reached, diagonal + 1));
      let x = down ? at(reached, diagonal + 1) : at(reached, diagonal - 1) + 1;
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x += 1;
      reached.set(diagonal, x);
      if (x >= left.length && x - diagonal >= right.length) return traceBack(left, right, trail);
    }
    if (trail.length * changes > 600_000) return undefined;
  }
  return undefined;
}

function at(reached: ReadonlyMap<number, number>, diagonal: number): number {
  return reached.get(diagonal) ?? -1;
}

function traceBack(
  left: readonly string[],
  right: readonly string[],
  trail: readonly ReadonlyMap<number, number>[],
): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let [x, y] = [left.length, right.length];
  for (let changes = trail.length - 1; changes >= 0; changes -= 1) {
    const reached = trail[changes] as ReadonlyMap<number, number>;
    const diagonal = x - y;
    const down =
      diagonal === -changes || (diagonal !== changes && at(reached, diagonal - 1) < at(reached, diagonal + 1));
    const before = down ? diagonal + 1 : diagonal - 1;
    const [fromX, fromY] = [at(reached, before), at(reached, before) - before];
    for (; x > fromX && y > fromY && x > 0 && y > 0; y -= 1) lines.push({ side: 'both', text: left[--x] ?? '' });
    if (changes === 0) break;
    if (down) lines.push({ side: 'right', text: right[--y] ?? '' });
    else lines.push({ side: 'left', text: left[--x] ?? '' });
  }
  return lines.reverse();
}

const SIGNS = { both: ' ', left: '−', right: '+' };

export function Diff({
  left,
  right,
  label,
}: {
  readonly left: string;
  readonly right: string;
  readonly label: string;
}) {
  const lines = diff(left.split('\n'), right.split('\n'));
  if (!lines) return <p class="faint">The two differ in too many lines.</p>;
  return (
    <Scroll label={label}>
      <pre class="diff">
        {lines.map(({ side, text }, index) => (
          <div key={index} class={side}>
            {SIGNS[side]} {showHidden(text)}
          </div>
        ))}
      </pre>
    </Scroll>
  );
}
