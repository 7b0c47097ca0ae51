/** Pages of lists in both directions: a page before an entry is read from that entry backwards. */
import type { VectorPage, VectorPageQuery } from '../../ports/vectors/vector-index.ts';

/** The sort key of lists. */
interface Place {
  readonly createdAt: number;
  readonly id: string;
}

/** Whether the page is the one that ends right before an entry. */
export function isBackwards({ after, before }: VectorPageQuery): boolean {
  return before !== undefined && after === undefined;
}

/** The page of the rows that were read: one more than is wanted, in the direction of reading. */
export function pageOfRows<Entry>(rows: readonly Entry[], query: VectorPageQuery): VectorPage<Entry> {
  const entries = rows.slice(0, query.limit);
  return { entries: isBackwards(query) ? entries.toReversed() : entries, hasMore: rows.length > query.limit };
}

/** The page of all entries, which may be in any order; `find` finds those of the cursors. */
export function pageOf<Entry extends Place>(
  entries: readonly Entry[],
  query: VectorPageQuery,
  find: (id: string) => Place | undefined,
): VectorPage<Entry> {
  const ends = [query.after, query.before].map((id) => (id === undefined ? undefined : find(id)));
  const [after, before] = ends;
  if ((query.after !== undefined && !after) || (query.before !== undefined && !before)) return unknownPage();
  const sign = query.order === 'asc' ? 1 : -1;
  const between = entries
    .filter((each) => !after || sign * inOrder(each, after) > 0)
    .filter((each) => !before || sign * inOrder(each, before) < 0)
    .toSorted((one, other) => sign * inOrder(one, other));
  return pageOfRows(isBackwards(query) ? between.toReversed() : between, query);
}

/** The page of an unknown cursor. */
export function unknownPage(): VectorPage<never> {
  return { entries: [], hasMore: false, unknown: true };
}

function inOrder(one: Place, other: Place): number {
  if (one.createdAt !== other.createdAt) return one.createdAt - other.createdAt;
  if (one.id === other.id) return 0;
  return one.id < other.id ? -1 : 1;
}
