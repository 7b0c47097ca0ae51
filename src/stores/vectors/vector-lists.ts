/** What indexes of vector stores share: pages of lists in both directions, counts of files, and the check of embeddings. */

import { dimensionMismatch } from '../../ports/store-error.ts';
import type { FileCounts, IndexingStatus, VectorPage, VectorPageQuery } from '../../ports/vectors/vector-index.ts';

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
export function toPage<Entry>(rows: readonly Entry[], query: VectorPageQuery): VectorPage<Entry> {
  const entries = rows.slice(0, query.limit);
  return { entries: isBackwards(query) ? entries.toReversed() : entries, hasMore: rows.length > query.limit };
}

/** The page of all entries, which may be in any order; `find` finds those of the cursors. */
export function sortedPage<Entry extends Place>(
  entries: readonly Entry[],
  query: VectorPageQuery,
  find: (id: string) => Place | undefined,
): VectorPage<Entry> {
  const ends = [query.after, query.before].map((id) => (id === undefined ? undefined : find(id)));
  const [after, before] = ends;
  if ((query.after !== undefined && !after) || (query.before !== undefined && !before)) return unknownPage();
  const sign = query.order === 'asc' ? 1 : -1;
  const between = entries
    .filter((each) => !after || sign * compareEntries(each, after) > 0)
    .filter((each) => !before || sign * compareEntries(each, before) < 0)
    .toSorted((one, other) => sign * compareEntries(one, other));
  return toPage(isBackwards(query) ? between.toReversed() : between, query);
}

/** The page of an unknown cursor. */
export function unknownPage(): VectorPage<never> {
  return { entries: [], hasMore: false, unknown: true };
}

function compareEntries(one: Place, other: Place): number {
  if (one.createdAt !== other.createdAt) return one.createdAt - other.createdAt;
  if (one.id === other.id) return 0;
  return one.id < other.id ? -1 : 1;
}

/** How many files have a status, and their bytes. */
export interface StatusRow {
  readonly status: IndexingStatus;
  readonly files: unknown;
  readonly bytes: unknown;
}

/** The counts that the rows hold. */
export function toFileCounts(rows: readonly StatusRow[]): FileCounts {
  const counts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, bytes: 0 };
  for (const { status, files, bytes } of rows) {
    counts[status] = Number(files);
    counts.bytes += Number(bytes);
  }
  return counts;
}

/** Throws for embeddings of another length than the stored ones; undefined if there are none. */
export function checkDimensions(embedding: Float32Array, stored: number | undefined): void {
  if (stored !== undefined && stored !== embedding.length) throw dimensionMismatch(embedding.length, stored);
}
