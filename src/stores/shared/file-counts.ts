/** The counts of the files of a vector store, from a database. */
import type { FileCounts, IndexingStatus } from '../../ports/vectors/vector-index.ts';

/** How many files have a status, and their bytes. */
export interface StatusRow {
  readonly status: IndexingStatus;
  readonly files: unknown;
  readonly bytes: unknown;
}

/** The counts that the rows hold. */
export function countsFrom(rows: readonly StatusRow[]): FileCounts {
  const counts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, bytes: 0 };
  for (const { status, files, bytes } of rows) {
    counts[status] = Number(files);
    counts.bytes += Number(bytes);
  }
  return counts;
}
