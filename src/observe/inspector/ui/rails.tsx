/** The rails of a tree of turns: which lines each row has to draw. */

/** A turn's place in its tree. */
interface TreeTurn {
  readonly number: number;
  /** The number of the turn that it continues. */
  readonly parent: number;
  /** The lane. */
  readonly branch: number;
}

/** One line of a row: from and to as an SVG's coordinates. */
interface Rail {
  readonly lane: number;
  readonly from: string;
  readonly to: string;
  /** Whether the row's own turn is on it. */
  readonly isOwn: boolean;
  /** The lane of the turn that it continues; set on the own one. */
  readonly parentLane?: number | undefined;
}

export type Rails = readonly Rail[];

/** Where a turn's dot is. */
const DOT = '20';

/**
 * Depth first, and of each turn the other replies before the first, which continues its line: a branch then leaves a rail on which
 * nothing stands between it and the turn that it answers.
 */
export function inDrawingOrder<Turn extends TreeTurn>(turns: readonly Turn[]): readonly Turn[] {
  const numbers = new Set(turns.map(({ number }) => number));
  const replies = new Map<number, Turn[]>();
  const repliesTo = (number: number) => {
    const known = replies.get(number) ?? [];
    replies.set(number, known);
    return known;
  };
  const open: Turn[] = [];
  for (const turn of turns)
    if (!numbers.has(turn.parent)) open.push(turn);
    else repliesTo(turn.parent).push(turn);
  const ordered: Turn[] = [];
  for (let next = open.pop(); next; next = open.pop()) {
    ordered.push(next);
    const [first, ...others] = replies.get(next.number) ?? [];
    if (first) open.push(first, ...others.reverse());
  }
  return ordered;
}

/** The rails of each row, in drawing order. */
export function rowRails(turns: readonly TreeTurn[]): readonly Rails[] {
  const rows = new Map(turns.map(({ number }, at) => [number, at]));
  const lastChild = new Map<number, number>();
  for (const [at, { parent }] of turns.entries()) {
    const row = rows.get(parent);
    if (row !== undefined) lastChild.set(row, at);
  }
  /** By lane, the row down to which its line goes on. */
  const open = new Map<number, number>();
  return turns.map((turn, at) => {
    const parentRow = rows.get(turn.parent);
    const parentLane = parentRow === undefined ? undefined : turns[parentRow]?.branch;
    const through = [...open].filter(([lane, until]) => until > at && lane !== turn.branch);
    const continues = lastChild.has(at);
    if (continues) open.set(turn.branch, Math.max(open.get(turn.branch) ?? 0, lastChild.get(at) ?? 0));
    const comes = parentLane === turn.branch;
    return [
      ...through.map(([lane]) => ({ lane, from: '0', to: '100%', isOwn: false })),
      { lane: turn.branch, from: comes ? '0' : DOT, to: continues ? '100%' : DOT, isOwn: true, parentLane },
    ];
  });
}
