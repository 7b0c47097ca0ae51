/** Goes through a list that is too long for one page. */
import { formatCount } from './format.tsx';

interface PagerProps {
  readonly first: number;
  readonly shown: number;
  readonly all: number;
  readonly size: number;
  readonly onPage: (first: number) => void;
}

export function Pager({ first, shown, all, size, onPage }: PagerProps) {
  if (shown >= all) return null;
  return (
    <div class="bar">
      <button type="button" disabled={first === 0} onClick={() => onPage(Math.max(first - size, 0))}>
        Earlier
      </button>
      <span>
        {formatCount(first + 1)}–{formatCount(first + shown)} of {formatCount(all)}
      </span>
      <button type="button" disabled={first + shown >= all} onClick={() => onPage(first + size)}>
        Later
      </button>
    </div>
  );
}
