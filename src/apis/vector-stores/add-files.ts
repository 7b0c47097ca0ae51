/** Adds files to a vector store: only the tenant's own, and within its limits. */
import { fromFiles, type StoredFile } from '../../ports/files/file-store.ts';
import type { NewVectorFile, StoredVectorStore, VectorBatch } from '../../ports/vectors/vector-index.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isFileId, quotedId } from '../../protocol/ids.ts';
import { fromIndex } from '../../vectors/from-index.ts';
import type { VectorStores } from '../../vectors/vector-stores.ts';
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
const AT_ONCE = 16;

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
    const files: NewVectorFile[] = [];
    for (let from = 0; from < wanted.length; from += AT_ONCE) {
      const found = wanted.slice(from, from + AT_ONCE).map(async (each): Promise<NewVectorFile> => {
        const { filename } = await this.uploaded(each.id, store.scope, param);
        const place = { scope: store.scope, store: store.id, ...(batch ? { batch: batch.id } : {}) };
        return { ...place, ...each, filename, createdAt };
      });
      files.push(...(await Promise.all(found)));
    }
    await this.checkRoom(store, files);
    return { store, files, batch };
  }

  private async uploaded(id: string, scope: string, param: string): Promise<StoredFile> {
    const file = isFileId(id) ? await fromFiles(() => this.vectorStores.files.get({ scope, id })) : undefined;
    if (!file) throw new ApiError('file_not_found', `No such File object: ${quotedId(id)}.`, { param });
    return file;
  }

  /** Adds them, and lets them be indexed. */
  async store({ store, files, batch }: NewFiles): Promise<void> {
    const { index } = this.vectorStores;
    if (!(await fromIndex(() => index.addFiles(store, files, batch)))) throw storeOver(store);
    this.vectorStores.indexAdded(files.length);
    await this.vectorStores.touch(store);
  }

  private async checkRoom(store: StoredVectorStore, files: readonly NewVectorFile[]): Promise<void> {
    const { index } = this.vectorStores;
    const { in_progress: open, completed, failed, cancelled } = await fromIndex(() => index.countFiles(store));
    const room = this.limits.files - open - completed - failed - cancelled;
    if (files.length <= room) return;
    // Files that are indexed anew take no further place.
    let added = 0;
    for (const file of files) {
      if (!(await fromIndex(() => index.getFile(file)))) added += 1;
      if (added > Math.max(0, room)) throw tooMany(this.limits);
    }
  }
}

function tooMany({ files }: VectorStoreLimits): ApiError {
  return new ApiError('vector_store_quota_exceeded', `A vector store has at most ${files} files on this server.`);
}
