/** Keeps uploaded files in the process's memory: for tests and demonstrations. */
import { inOnePiece } from '../../ports/files/content.ts';
import {
  type FileStore,
  type FileUpload,
  filePage,
  isExpired,
  type StoredFile,
  sumFileUsage,
  toStoredFile,
} from '../../ports/files/file-store.ts';
import { checkOptions, isFunction, positiveInteger } from '../../ports/host/options-check.ts';
import { type ResponseKey, storeKey } from '../../ports/store.ts';

/** The limits of the store; `undefined` means the default. */
export interface MemoryFilesOptions {
  /** Bytes of all files of all tenants, including uploads in progress. Default: 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const MAX_BYTES = 256 * 1024 * 1024;

interface FileEntry {
  readonly file: StoredFile;
  readonly content: Buffer;
}

/**
 * Keeps files until the process ends. An upload that finds no room fails. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { filesRouter, memoryFiles } from 'express-open-responses/files';
 *
 * const router = filesRouter({ files: memoryFiles() });
 * ```
 */
export function memoryFiles(options: MemoryFilesOptions = {}): FileStore {
  checkOptions('memoryFiles', options, { maxBytes: positiveInteger, now: isFunction });
  const { maxBytes = MAX_BYTES, now = Date.now } = options;
  return new MemoryFiles(maxBytes, now);
}

class MemoryFiles implements FileStore {
  readonly name = 'memory';
  private readonly entries = new Map<string, FileEntry>();
  private readonly maxBytes: number;
  private readonly now: () => number;
  /** The bytes of all files and of uploads in progress. */
  private bytes = 0;

  constructor(maxBytes: number, now: () => number) {
    this.maxBytes = maxBytes;
    this.now = now;
  }

  async put(upload: FileUpload): Promise<StoredFile> {
    const pieces: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const piece of upload.content) {
        this.takeBytes(piece.byteLength);
        length += piece.byteLength;
        pieces.push(new Uint8Array(piece));
      }
      if (this.find(upload)) throw new Error('memoryFiles: the tenant has a file of this id already.');
      const file = toStoredFile(upload, length, sumFileUsage(this.tenantFiles(upload.scope)));
      this.entries.set(storeKey(upload), { file, content: Buffer.concat(pieces) });
      return { ...file };
    } catch (error) {
      this.bytes -= length;
      throw error;
    }
  }

  get(key: ResponseKey): StoredFile | undefined {
    const found = this.find(key);
    return found && { ...found.file };
  }

  read(key: ResponseKey, range?: { readonly start: number; readonly end: number }) {
    const found = this.find(key);
    // A copy, since the reader may change it.
    return found && inOnePiece(new Uint8Array(found.content.subarray(range?.start ?? 0, range?.end)));
  }

  list(scope: string, query: Parameters<FileStore['list']>[1]) {
    return filePage(this.tenantFiles(scope), query);
  }

  delete(key: ResponseKey): boolean {
    const found = this.find(key);
    return found !== undefined && this.forget(found.file);
  }

  usage(scope: string) {
    return sumFileUsage(this.tenantFiles(scope));
  }

  private find(key: ResponseKey): FileEntry | undefined {
    this.sweep();
    return this.entries.get(storeKey(key));
  }

  private tenantFiles(scope: string): readonly StoredFile[] {
    this.sweep();
    return [...this.entries.values()].map(({ file }) => file).filter((file) => file.scope === scope);
  }

  private takeBytes(bytes: number): void {
    this.sweep();
    if (this.bytes + bytes > this.maxBytes) throw new Error(`memoryFiles: there is no room in ${this.maxBytes} bytes`);
    this.bytes += bytes;
  }

  private sweep(): void {
    const now = this.now();
    for (const { file } of this.entries.values()) if (isExpired(file, now)) this.forget(file);
  }

  private forget(file: StoredFile): boolean {
    this.bytes -= file.bytes;
    return this.entries.delete(storeKey(file));
  }
}
