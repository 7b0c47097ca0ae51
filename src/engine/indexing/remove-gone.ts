/** Takes files out of vector stores that are no longer among the uploaded files: they were deleted there, or have expired. */

import { type FileStore, fromFiles } from '../../ports/files/file-store.ts';
import { mapInGroups } from '../../ports/queues/in-groups.ts';
import type { VectorFileKey, VectorIndex } from '../../ports/vectors/vector-index.ts';
import { fromIndex } from './from-index.ts';

/** Where files are, and where they are searched. */
interface FilePlaces {
  readonly files: FileStore;
  readonly index: VectorIndex;
}

/** Files that are looked up at the same time. */
const AT_ONCE = 16;

/** Removes those of one tenant's files that are gone, with their chunks; returns their ids. Throws `store_error`. */
export async function removeGone(
  keys: readonly VectorFileKey[],
  { files, index }: FilePlaces,
): Promise<ReadonlySet<string>> {
  const ids = [...new Map(keys.map((key) => [key.id, key])).values()];
  const gone = new Set<string>();
  await mapInGroups(ids, AT_ONCE, async ({ scope, id }) => {
    if (!(await fromFiles(() => files.get({ scope, id })))) gone.add(id);
  });
  const places = new Map(keys.map((key) => [`${key.store}\0${key.id}`, key]));
  for (const key of places.values()) if (gone.has(key.id)) await fromIndex(() => index.deleteFile(key));
  return gone;
}

/** Vector stores that are read at once. */
const PAGE = 100;

/** Removes an uploaded file from all vector stores of its tenant; returns the ids of those that had it. Throws `store_error`. */
export async function removeEverywhere(
  { scope, id }: Pick<VectorFileKey, 'scope' | 'id'>,
  index: VectorIndex,
): Promise<readonly string[]> {
  const had: string[] = [];
  for (let after: string | undefined; ; ) {
    const query = { limit: PAGE, order: 'asc' as const, ...(after === undefined ? {} : { after }) };
    const { entries, hasMore } = await fromIndex(() => index.listStores(scope, query));
    for (const { id: store } of entries)
      if (await fromIndex(() => index.deleteFile({ scope, store, id }))) had.push(store);
    after = entries.at(-1)?.id;
    if (!hasMore || after === undefined) return had;
  }
}
