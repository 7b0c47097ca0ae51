/** Keeps uploaded files in a bucket of S3, or of a server that speaks its protocol. */

import { randomUUID } from 'node:crypto';
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
import { mapInGroups } from '../../ports/queues/in-groups.ts';
import { OneAtATime } from '../../ports/queues/one-at-a-time.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { isRecord } from '../../protocol/record.ts';
import { HOUR_MS } from '../store-parts.ts';
import { Bucket, httpStatus, type S3ClientLike } from './bucket.ts';
import { type Entry, Keys, newPlace, type Place, type Reason } from './keys.ts';

/** The bucket and the store's settings; `undefined` means the default. */
export interface S3FilesOptions {
  /** An `S3Client` of `@aws-sdk/client-s3` 3, with the region, credentials and timeouts that the host wants. */
  readonly client: S3ClientLike;
  /** The bucket, which must exist. */
  readonly bucket: string;
  /** The prefix of all keys: empty, or a path that ends in `/`. Default: `open-responses/`. */
  readonly prefix?: string | undefined;
  /** How long an upload may receive no data before it counts as left over from a crash, in ms. Default: an hour. */
  readonly staleMs?: number | undefined;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The time between two sweeps for files that have expired or were left over. */
const SWEEP_MS = 60_000;
/** The most marks that one sweep handles. */
const MAX_SWEPT = 100;
/** The most requests of one listing or one sweep at the same time. */
const AT_ONCE = 8;
const PREFIX = /^(?:[\w.-]{1,50}\/){0,4}$/;

/**
 * Keeps each file as two objects: its content, written in parts of 8 MiB of which two at most are in memory, and then its
 * description, which makes the file exist. Quotas are exact within one process.
 *
 * Requests: `put` four, for a file over 8 MiB another and one for each part, and where there is a quota one for every 1,000
 * files of the tenant; `get` one, `read` two, `delete` seven and six later, `usage` and `list` one for every 1,000 files of the
 * tenant. `get` and `list` take one more for each file whose name and type are long together (about 70 bytes). Once a
 * minute a `put` or `list` also removes what has expired. Throws a `TypeError` for a bad option, and an `Error` if
 * `@aws-sdk/client-s3` is not installed.
 *
 * @example
 * ```ts
 * import { filesRouter, type S3ClientLike, s3Files } from 'express-open-responses/files';
 *
 * // Of `@aws-sdk/client-s3`: new S3Client({ region: 'eu-central-1' }).
 * declare const client: S3ClientLike;
 * const router = filesRouter({ files: s3Files({ client, bucket: 'my-app-files' }) });
 * ```
 */
export function s3Files(options: S3FilesOptions): FileStore {
  checkOptions('s3Files', options, {
    client: (value) => (isRecord(value) && typeof value.send === 'function') || 'a client with the method send',
    bucket: (value) => (typeof value === 'string' && value !== '') || 'the name of a bucket',
    prefix: (value) => (typeof value === 'string' && PREFIX.test(value)) || "empty or a path that ends in '/'",
    staleMs: milliseconds,
    now: isFunction,
  });
  for (const name of ['client', 'bucket'] as const)
    if (options[name] === undefined) throw new TypeError(`s3Files: ${name} is missing, got undefined`);
  return new S3Files(options);
}

class S3Files implements FileStore {
  readonly name = 's3';
  private readonly bucket: Bucket;
  private readonly keys: Keys;
  private readonly staleMs: number;
  private readonly now: () => number;
  private readonly tenants = new OneAtATime();
  private sweptAt = Number.NEGATIVE_INFINITY;

  constructor({ client, bucket, prefix = 'open-responses/', staleMs = HOUR_MS, now = Date.now }: S3FilesOptions) {
    this.bucket = new Bucket(client, bucket);
    this.keys = new Keys(prefix);
    this.staleMs = staleMs;
    this.now = now;
  }

  async put(upload: FileUpload): Promise<StoredFile> {
    const place = newPlace(upload, randomUUID());
    await this.sweep();
    const draft = new Draft(this.bucket, () => this.mark('upload', place), this.staleMs, this.now);
    await draft.begin();
    try {
      const bytes = await this.bucket.write(this.keys.content(place), draft.watched(upload.content));
      const file = await this.tenants.run(upload.scope, () => this.finish(upload, place, bytes));
      // A mark that stays is harmless: the sweep finds that the file exists.
      await draft.end().catch(() => {});
      return file;
    } catch (error) {
      // The sweep removes what is left when the mark is due.
      await this.erase(place)
        .then(() => draft.end())
        .catch(() => {});
      throw error;
    }
  }

  /** Writes the description, which makes the file exist. */
  private async finish(upload: FileUpload, place: Place, bytes: number): Promise<StoredFile> {
    const prefix = upload.quota ? this.keys.tenant(upload.scope) : this.keys.folderOf(place);
    const entries = await this.entries(upload.scope, prefix);
    if (entries.some(({ file: { id } }) => id === upload.id))
      throw new Error('s3Files: the tenant has a file of this id already.');
    const file = toStoredFile(upload, bytes, sumFileUsage(entries.map(({ file: each }) => each)));
    if (file.expiresAt !== undefined) await this.bucket.put(this.keys.mark(file.expiresAt, 'expiry', place), '');
    await this.bucket.put(this.keys.description(place, file), JSON.stringify(file));
    return file;
  }

  async get(key: ResponseKey): Promise<StoredFile | undefined> {
    const entry = await this.find(key);
    return entry && this.described(entry);
  }

  async read(key: ResponseKey, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined> {
    const entry = await this.find(key);
    return entry && this.bytes(entry.place, range ?? { start: 0, end: entry.file.bytes });
  }

  private async *bytes(place: Place, { start, end }: ByteRange): AsyncIterable<Uint8Array> {
    if (start >= end) return;
    let left = end - start;
    for await (const piece of await this.bucket.get(this.keys.content(place), `bytes=${start}-${end - 1}`)) {
      left -= piece.byteLength;
      yield piece;
    }
    if (left !== 0) throw new Error('S3 sent a different number of bytes than requested.');
  }

  async list(scope: string, query: FilePageQuery): Promise<FilePage> {
    await this.sweep();
    const entries = new Map((await this.entries(scope, this.keys.tenant(scope))).map((entry) => [entry.file, entry]));
    const page = filePage([...entries.keys()], query);
    const files: StoredFile[] = [];
    await mapInGroups(page.files, AT_ONCE, async (file, index) => {
      const entry = entries.get(file);
      const described = entry && (await this.described(entry));
      if (described) files[index] = described;
    });
    // Leaves out files that were deleted meanwhile.
    return { ...page, files: files.filter(Boolean) };
  }

  async usage(scope: string): Promise<FileUsage> {
    return sumFileUsage((await this.entries(scope, this.keys.tenant(scope))).map(({ file }) => file));
  }

  async delete(key: ResponseKey): Promise<boolean> {
    const entry = await this.find(key);
    if (!entry) return false;
    const isFirst = await this.bucket.claim(this.keys.claim(entry.place));
    // Also if another process was first: it may have been killed since. The sweep removes the claim when the mark is due.
    await this.mark('delete', entry.place);
    await this.erase(entry.place);
    return isFirst;
  }

  private async find(key: ResponseKey): Promise<Entry | undefined> {
    const folder = this.keys.folder(key);
    return folder === undefined ? undefined : (await this.entries(key.scope, folder))[0];
  }

  private async entries(scope: string, prefix: string): Promise<readonly Entry[]> {
    const keys = await this.bucket.keys(prefix);
    const now = this.now();
    return keys.map((key) => this.keys.entry(scope, key)).filter(({ file }) => !isExpired(file, now));
  }

  /** The file with its true name; undefined if it was deleted meanwhile. */
  private async described({ key, file, isShort }: Entry): Promise<StoredFile | undefined> {
    if (!isShort) return file;
    try {
      const pieces: Uint8Array[] = [];
      for await (const piece of await this.bucket.get(key)) pieces.push(piece);
      // The cast: only `finish` writes these objects.
      return JSON.parse(Buffer.concat(pieces).toString()) as StoredFile;
    } catch (error) {
      if (httpStatus(error) === 404) return undefined;
      throw error;
    }
  }

  /** Returns the key of the mark. */
  private async mark(reason: Reason, place: Place): Promise<string> {
    const key = this.keys.mark(this.now() + this.staleMs, reason, place);
    await this.bucket.put(key, '');
    return key;
  }

  /** The descriptions of this upload: one at most. */
  private async descriptions(place: Place): Promise<readonly Entry[]> {
    const keys = await this.bucket.keys(this.keys.folderOf(place));
    return keys.map((key) => this.keys.entry('', key)).filter((entry) => entry.place.upload === place.upload);
  }

  /** Deletes the description first, so that readers no longer find the file. */
  private async erase(place: Place): Promise<void> {
    for (const { key, file } of await this.descriptions(place)) {
      await this.bucket.delete(key);
      if (file.expiresAt !== undefined) await this.bucket.delete(this.keys.mark(file.expiresAt, 'expiry', place));
    }
    await this.bucket.discard(this.keys.content(place));
  }

  /** Removes files that have expired or that a crash left over. */
  private async sweep(): Promise<void> {
    const now = this.now();
    if (now - this.sweptAt < SWEEP_MS) return;
    this.sweptAt = now;
    const marks = await this.bucket.keys(this.keys.marks, MAX_SWEPT);
    await mapInGroups(marks, AT_ONCE, async (key) => {
      const { dueAt, reason, place } = this.keys.readMark(key);
      if (dueAt > now) return;
      if (reason !== 'upload' || (await this.descriptions(place)).length === 0) await this.erase(place);
      if (reason === 'delete') await this.bucket.delete(this.keys.claim(place));
      await this.bucket.delete(key);
    });
  }
}

/** The mark of an upload in progress, whose time is postponed while bytes arrive. */
class Draft {
  private readonly bucket: Bucket;
  private readonly mark: () => Promise<string>;
  private readonly staleMs: number;
  private readonly now: () => number;
  private key = '';
  private markedAt = 0;

  constructor(bucket: Bucket, mark: () => Promise<string>, staleMs: number, now: () => number) {
    this.bucket = bucket;
    this.mark = mark;
    this.staleMs = staleMs;
    this.now = now;
  }

  async begin(): Promise<void> {
    this.markedAt = this.now();
    this.key = await this.mark();
  }

  async *watched(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of content) {
      if (this.now() - this.markedAt > this.staleMs / 2) await this.again();
      yield piece;
    }
  }

  private async again(): Promise<void> {
    const { key } = this;
    await this.begin();
    await this.bucket.delete(key);
  }

  end(): Promise<void> {
    return this.bucket.delete(this.key);
  }
}
