/** Keeps uploaded files in a folder, for one machine; they survive restarts. */

import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  type ByteRange,
  type FilePage,
  type FilePageQuery,
  type FileStore,
  type FileUpload,
  type FileUsage,
  filePage,
  isExpired,
  type StoredFile,
  sumFileUsage,
  toStoredFile,
} from '../../ports/files/file-store.ts';
import { checkOptions, isFunction, milliseconds } from '../../ports/host/options-check.ts';
import { OneAtATime } from '../../ports/queues/one-at-a-time.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { digestText, HOUR_MS } from '../store-parts.ts';
import { Drafts } from './drafts.ts';
import { ifAbsent, readBytes, syncFolder, writeWhole } from './file-bytes.ts';

/** The folder and the store's settings; `undefined` means the default. */
export interface DiskFilesOptions {
  /** The folder, used by this store alone; it is created if missing. It must be on one disk, since files are renamed within it. */
  readonly folder: string;
  /** How long an upload may receive no data before it counts as left over from a crash, in ms. Default: an hour. */
  readonly staleMs?: number | undefined;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The time between two sweeps for files that have expired or were left over. */
const SWEEP_MS = 60_000;
/** The most descriptions of files that are held in memory; others are read again. */
const MAX_KNOWN = 10_000;
const CONTENT = 'content';
const DESCRIPTION = 'file.json';

/**
 * Keeps each file in a folder of its own, which is renamed into place when it is whole: a crash leaves nothing
 * half-written, and what it leaves in `drafts` is removed later. Names on the disk are digests, never a client's text.
 * Quotas are exact within one process. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { diskFiles, filesRouter } from 'express-open-responses/files';
 *
 * const router = filesRouter({ files: diskFiles({ folder: '/var/lib/my-app/files' }) });
 * ```
 */
export function diskFiles(options: DiskFilesOptions): FileStore {
  checkOptions('diskFiles', options, {
    folder: (value) => (typeof value === 'string' && value !== '') || 'the path of a folder',
    staleMs: milliseconds,
    now: isFunction,
  });
  if (options.folder === undefined) throw new TypeError('diskFiles: folder is missing, got undefined');
  return new DiskFiles(options);
}

class DiskFiles implements FileStore {
  readonly name = 'disk';
  private readonly root: string;
  private readonly now: () => number;
  private readonly drafts: Drafts;
  private readonly tenants = new OneAtATime();
  /** By folder: a description never changes. */
  private readonly known = new Map<string, StoredFile>();
  private sweptAt = Number.NEGATIVE_INFINITY;

  constructor({ folder, staleMs = HOUR_MS, now = Date.now }: DiskFilesOptions) {
    this.root = resolve(folder);
    this.now = now;
    this.drafts = new Drafts(join(this.root, 'drafts'), staleMs, now);
  }

  async put(upload: FileUpload): Promise<StoredFile> {
    await this.sweep();
    const draft = await this.drafts.begin();
    try {
      const bytes = await writeWhole(join(draft, CONTENT), upload.content);
      return await this.tenants.run(upload.scope, () => this.finish(upload, draft, bytes));
    } finally {
      await this.drafts.end(draft);
    }
  }

  /** The file exists from the rename on. */
  private async finish(upload: FileUpload, draft: string, bytes: number): Promise<StoredFile> {
    const file = toStoredFile(upload, bytes, await this.usage(upload.scope));
    await writeWhole(join(draft, DESCRIPTION), [Buffer.from(JSON.stringify(file))]);
    await mkdir(this.folderOfTenant(file.scope), { recursive: true, mode: 0o700 });
    // Before its mark, which would end the other file.
    if (await this.describe(this.folderOf(file)))
      throw new Error('diskFiles: the tenant has a file of this id already.');
    if (file.expiresAt !== undefined) await this.mark(file, file.expiresAt);
    await rename(draft, this.folderOf(file));
    await syncFolder(this.folderOfTenant(file.scope));
    return file;
  }

  async get(key: ResponseKey): Promise<StoredFile | undefined> {
    const file = await this.describe(this.folderOf(key));
    return file && !isExpired(file, this.now()) ? { ...file } : undefined;
  }

  async read(key: ResponseKey, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined> {
    const file = await this.get(key);
    return file && readBytes(join(this.folderOf(key), CONTENT), range ?? { start: 0, end: file.bytes });
  }

  async list(scope: string, query: FilePageQuery): Promise<FilePage> {
    await this.sweep();
    return filePage(await this.filesOf(scope), query);
  }

  async usage(scope: string): Promise<FileUsage> {
    return sumFileUsage(await this.filesOf(scope));
  }

  async delete(key: ResponseKey): Promise<boolean> {
    const file = await this.get(key);
    if (!file || !(await this.remove(this.folderOf(key)))) return false;
    // Otherwise the marks of deleted files would pile up, and each sweep reads the names of all.
    if (file.expiresAt !== undefined) await rm(this.markOf(file, file.expiresAt), { force: true });
    return true;
  }

  /** Renames the folder away first: only one of several concurrent calls succeeds, and no reader sees half of it. */
  private async remove(folder: string): Promise<boolean> {
    this.known.delete(folder);
    const grave = await this.drafts.reserve();
    const isMoved = await rename(folder, grave).then(() => true, ifAbsent(false));
    await this.drafts.end(grave);
    return isMoved;
  }

  private async filesOf(scope: string): Promise<readonly StoredFile[]> {
    const folder = this.folderOfTenant(scope);
    const names = await readdir(folder).catch(ifAbsent([]));
    const files: StoredFile[] = [];
    for (const name of names) {
      const file = await this.listed(join(folder, name));
      if (file && !isExpired(file, this.now())) files.push(file);
    }
    return files;
  }

  /** The description in a folder, from memory if it was read before; undefined if there is none. */
  private async listed(folder: string): Promise<StoredFile | undefined> {
    const known = this.known.get(folder) ?? (await this.describe(folder));
    if (!known) return undefined;
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    this.known.set(folder, known);
    return known;
  }

  private async describe(folder: string): Promise<StoredFile | undefined> {
    const text = await readFile(join(folder, DESCRIPTION), 'utf8').catch(ifAbsent(undefined));
    // The cast: only `finish` writes these files.
    return text === undefined ? undefined : (JSON.parse(text) as StoredFile);
  }

  private folderOfTenant(scope: string): string {
    return join(this.root, 'tenants', digestText(scope, 'hex'));
  }

  private folderOf({ scope, id }: ResponseKey): string {
    return join(this.folderOfTenant(scope), digestText(id, 'hex'));
  }

  /** Writes an empty file whose name has the file's expiry, so that a sweep need not read every description. */
  private async mark(key: ResponseKey, expiresAt: number): Promise<void> {
    await mkdir(this.marks, { recursive: true, mode: 0o700 });
    await writeFile(this.markOf(key, expiresAt), '');
  }

  private markOf({ scope, id }: ResponseKey, expiresAt: number): string {
    return join(this.marks, [Math.ceil(expiresAt), digestText(scope, 'hex'), digestText(id, 'hex')].join('-'));
  }

  private get marks(): string {
    return join(this.root, 'expiring');
  }

  /** Removes files that have expired or that a crash left over. */
  private async sweep(): Promise<void> {
    const now = this.now();
    if (now - this.sweptAt < SWEEP_MS) return;
    this.sweptAt = now;
    await this.drafts.sweep();
    for (const mark of await readdir(this.marks).catch(ifAbsent([]))) {
      const [, time, tenant, file] = MARK.exec(mark) ?? [];
      if (tenant === undefined || file === undefined || Number(time) > now) continue;
      await this.remove(join(this.root, 'tenants', tenant, file));
      await rm(join(this.marks, mark), { force: true });
    }
  }
}

const MARK = /^(\d{1,16})-([0-9a-f]{64})-([0-9a-f]{64})$/;
