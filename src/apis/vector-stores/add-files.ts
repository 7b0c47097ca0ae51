/** Adds files to a vector store: only the tenant's own, and within its limits. */
import { isDeepStrictEqual } from 'node:util';
import { fromIndex } from '../../engine/indexing/from-index.ts';
import type { VectorStores } from '../../engine/indexing/vector-stores.ts';
import { fromFiles, type StoredFile } from '../../ports/files/file-store.ts';
import { mapInGroups } from '../../ports/queues/in-groups.ts';
import {
  type FileCounts,
  type IndexingStatus,
  isStoreExpired,
  type NewVectorFile,
  type StoredVectorStore,
  type VectorBatch,
  type VectorFile,
} from '../../ports/vectors/vector-index.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isObjectId, quoteId } from '../../protocol/ids.ts';
import type { WantedFile } from './bodies.ts';
import type { VectorStoreLimits } from './limits.ts';
import { storeOver } from './store-in.ts';

/** Files that are known, for one vector store. */
export interface NewFiles {
  readonly store: StoredVectorStore;
  readonly files: readonly NewVectorFile[];
  readonly batch: VectorBatch | undefined;
}

/** How files are looked up. */
interface Lookup {
  /** The field that names them. */
  readonly param: string;
  readonly batch?: VectorBatch | undefined;
}

/** Files that are looked up at the same time. */
const MAX_PARALLEL = 16;

/** The files of vector stores, as requests add them. */
export class StoreFiles {
  private readonly vectorStores: VectorStores;
  private readonly limits: VectorStoreLimits;

  constructor({
    vectorStores,
    storeLimits,
  }: { readonly vectorStores: VectorStores; readonly storeLimits: VectorStoreLimits }) {
    this.vectorStores = vectorStores;
    this.limits = storeLimits;
  }

  /**
   * The files with their names; the vector store need not exist yet. Throws `file_not_found` for the first that the tenant does not
   * have, and `vector_store_quota_exceeded`.
   */
  async known(wanted: readonly WantedFile[], store: StoredVectorStore, { param, batch }: Lookup): Promise<NewFiles> {
    const createdAt = Date.now();
    const files = await mapInGroups(wanted, MAX_PARALLEL, async (each): Promise<NewVectorFile> => {
      const { filename } = await this.uploaded(each.id, store.scope, param);
      const place = { scope: store.scope, store: store.id, ...(batch ? { batch: batch.id } : {}) };
      return { ...place, ...each, filename, createdAt };
    });
    const statuses = await mapInGroups(files, MAX_PARALLEL, (file) => this.sameFile(file));
    const added = files.filter((_, at) => statuses[at] === undefined);
    const shared = files.flatMap(({ id }, at) => (statuses[at] === 'in_progress' ? [id] : []));
    await this.checkQuota(store, added);
    const unchanged = files.length - added.length - shared.length;
    return { store, files: added, batch: batch && { ...batch, unchanged, ...(shared.length > 0 ? { shared } : {}) } };
  }

  /** The files of the batch by status, those included that are not indexed again for it. */
  async countBatch({ scope, store, id, unchanged = 0, shared = [] }: VectorBatch): Promise<FileCounts> {
    const { index } = this.vectorStores;
    const own = await fromIndex(() => index.countFiles({ scope, id: store }, id));
    const counts = { ...own, completed: own.completed + unchanged };
    const files = await mapInGroups(shared, MAX_PARALLEL, (file) =>
      fromIndex(() => index.getFile({ scope, store, id: file })),
    );
    for (const file of files) if (file) counts[file.status] += 1;
    return counts;
  }

  /**
   * The status of the file in the vector store; undefined if it is to be indexed. A file never changes, so that one that is there
   * with the same chunks, or waits for them, keeps them. Only its notes may be others.
   */
  private async sameFile(file: NewVectorFile): Promise<IndexingStatus | undefined> {
    const { index } = this.vectorStores;
    const found = await fromIndex(() => index.getFile(file));
    if (!found || !hasSameChunks(found, file)) return undefined;
    if (!isDeepStrictEqual(found.attributes, file.attributes))
      await fromIndex(() => index.setAttributes(file, file.attributes));
    return found.status;
  }

  private async uploaded(id: string, scope: string, param: string): Promise<StoredFile> {
    const file = isObjectId('file', id) ? await fromFiles(() => this.vectorStores.files.get({ scope, id })) : undefined;
    if (!file) throw new ApiError('file_not_found', `No such File object: ${quoteId(id)}.`, { param });
    return file;
  }

  /** Adds them, and lets them be indexed. */
  async store({ store, files, batch }: NewFiles): Promise<void> {
    const { index } = this.vectorStores;
    if (isStoreExpired(store, Date.now())) throw storeOver(store);
    if (files.length === 0 && !batch) return this.vectorStores.touch(store);
    if (!(await fromIndex(() => index.addFiles(store, files, batch)))) throw storeOver(store);
    this.vectorStores.indexAdded(files.length);
    await this.vectorStores.touch(store);
  }

  private async checkQuota(store: StoredVectorStore, files: readonly NewVectorFile[]): Promise<void> {
    const { index } = this.vectorStores;
    const { in_progress: open, completed, failed, cancelled } = await fromIndex(() => index.countFiles(store));
    const remaining = this.limits.files - open - completed - failed - cancelled;
    if (files.length <= remaining) return;
    // Files that are indexed anew take no further place.
    let added = 0;
    for (const file of files) {
      if (!(await fromIndex(() => index.getFile(file)))) added += 1;
      if (added > Math.max(0, remaining)) {
        const message = `A vector store has at most ${this.limits.files} files on this server.`;
        throw new ApiError('vector_store_quota_exceeded', message);
      }
    }
  }
}

function hasSameChunks({ status, chunking, autoChunking }: VectorFile, file: NewVectorFile): boolean {
  const isThere = status === 'completed' || status === 'in_progress';
  return isThere && autoChunking === file.autoChunking && isDeepStrictEqual(chunking, file.chunking);
}
