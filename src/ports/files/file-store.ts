/** The port that stores uploaded files and finds them again, by tenant. */
import { ApiError } from '../../protocol/errors.ts';
import type { MaybePromise, ResponseKey } from '../background/response-key.ts';
import { withMethods } from '../host/options-check.ts';
import { isStoreError, StoreError } from '../store-error.ts';

/** What a client declares about a file; it may follow the bytes. */
export interface FileDetails {
  /** The client's name for it: text to show, never a path. */
  readonly filename: string;
  /** What it is for, such as `user_data`. */
  readonly purpose: string;
  /** The type that the client names, such as `text/csv`; absent if it names none. */
  readonly contentType?: string | undefined;
  /** Milliseconds since the epoch; absent for a file that is kept until it is deleted. */
  readonly expiresAt?: number | undefined;
}

/** A stored file without its bytes. It never changes. */
export interface StoredFile extends ResponseKey, FileDetails {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Its length. */
  readonly bytes: number;
}

/** A file on its way into a store. */
export interface FileUpload extends ResponseKey {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The content, read once and in order. Throws if the upload breaks off or is refused: then nothing may stay. */
  readonly content: AsyncIterable<Uint8Array>;
  /** Called once after the last byte. Throws if the upload is refused: then nothing may stay. */
  readonly details: () => FileDetails;
  /** What the tenant may have after it; no limit if absent. */
  readonly quota?: FileUsage | undefined;
}

/** What a tenant has stored, or may store. */
export interface FileUsage {
  /** The number of files. */
  readonly files: number;
  /** The sum of their lengths. */
  readonly bytes: number;
}

/** The bytes to read: from `start` up to, but without, `end`. */
export interface ByteRange {
  /** The first byte, counted from 0. */
  readonly start: number;
  /** The byte after the last one; at most the file's length. */
  readonly end: number;
}

/** The page of a tenant's files to list. */
export interface FilePageQuery {
  /** The maximum number of files. */
  readonly limit: number;
  /** `asc` begins with the oldest; files of the same time are ordered by id. */
  readonly order: 'asc' | 'desc';
  /** Only files of this purpose. */
  readonly purpose?: string | undefined;
  /** The id of the file after which the page begins. */
  readonly after?: string | undefined;
}

/** One page of a tenant's files. */
export interface FilePage {
  /** In the order of the query. */
  readonly files: readonly StoredFile[];
  /** Whether others follow. */
  readonly hasMore: boolean;
  /** Whether the tenant has no file with the id in `after`; `files` is then empty. */
  readonly unknown?: true | undefined;
}

/**
 * Stores files. A method that fails rejects; the core turns that into a `store_error`. A file of another tenant, and one
 * that has expired, is missing for every method.
 */
export interface FileStore {
  /** A short name for messages, such as `disk`. */
  readonly name: string;
  /**
   * Stores the content piece by piece, so that memory does not grow with the file, and returns the file. When it
   * resolves, every reader sees the whole file; until then, and after a failure or a crash, none sees anything of it.
   * What a failed upload has written is given back. Throws a `StoreError` (`file_quota_exceeded`) if the tenant would have more than the
   * quota: the check and the store are one step. Rejects an id that the tenant has already, and keeps the file that has it.
   */
  put(upload: FileUpload): MaybePromise<StoredFile>;
  /** The file without its bytes, or undefined if it is missing. */
  get(key: ResponseKey): MaybePromise<StoredFile | undefined>;
  /**
   * The bytes of the range, of the whole file by default, or undefined if the file is missing. A file that is deleted
   * meanwhile is read to its end, or the reading throws: never too short, and never another file's bytes.
   */
  read(key: ResponseKey, range?: ByteRange): MaybePromise<AsyncIterable<Uint8Array> | undefined>;
  /** One page of the tenant's files. */
  list(scope: string, query: FilePageQuery): MaybePromise<FilePage>;
  /** Whether there was one to delete; of several deletes at the same time one returns true. */
  delete(key: ResponseKey): MaybePromise<boolean>;
  /** What the tenant has stored. */
  usage(scope: string): MaybePromise<FileUsage>;
  /** Releases the store's resources. May be called twice. */
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/** Whether the tenant would have more than its quota with one more file of so many bytes. */
export function exceedsQuota(used: FileUsage, bytes: number, quota: FileUsage): boolean {
  return used.files + 1 > quota.files || used.bytes + bytes > quota.bytes;
}

/** Whether the value has the methods of a store of files. */
export const isFileStore = withMethods('put', 'get', 'read', 'list', 'delete', 'usage');

/** The client's error for a file that its quota has no room for. */
export function fileQuotaExceeded({ files, bytes }: FileUsage): ApiError {
  const most = `at most ${files} files of ${bytes} bytes together`;
  const message = `Your files exceed what this server keeps for you: ${most}. Delete some first.`;
  return new ApiError('file_quota_exceeded', message, { param: 'file' });
}

/** The file that an upload becomes. Throws what `details` throws, and a `StoreError` (`file_quota_exceeded`). */
export function toStoredFile(upload: FileUpload, bytes: number, used: FileUsage): StoredFile {
  const { scope, id, createdAt, quota } = upload;
  const { filename, purpose, contentType, expiresAt } = upload.details();
  if (quota && exceedsQuota(used, bytes, quota))
    throw new StoreError(
      'file_quota_exceeded',
      `The file would exceed the quota of ${quota.files} files of ${quota.bytes} bytes together.`,
    );
  return {
    ...{ scope, id, createdAt, bytes, filename, purpose },
    ...(contentType === undefined ? {} : { contentType }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** Whether the file has expired. */
export function isExpired({ expiresAt = Number.POSITIVE_INFINITY }: FileDetails, now: number): boolean {
  return expiresAt <= now;
}

/** The page of these files, which are all that the tenant has, in any order. */
export function filePage(all: readonly StoredFile[], { limit, order, purpose, after }: FilePageQuery): FilePage {
  const sorted = all.toSorted((one, other) => (order === 'asc' ? 1 : -1) * compareFiles(one, other));
  const from = after === undefined ? -1 : sorted.findIndex(({ id }) => id === after);
  if (after !== undefined && from < 0) return { files: [], hasMore: false, unknown: true };
  const rest = sorted.slice(from + 1).filter((file) => purpose === undefined || file.purpose === purpose);
  return { files: rest.slice(0, limit), hasMore: rest.length > limit };
}

function compareFiles(one: StoredFile, other: StoredFile): number {
  if (one.createdAt !== other.createdAt) return one.createdAt - other.createdAt;
  return one.id < other.id ? -1 : Number(one.id > other.id);
}

/** What these files take. */
export function sumFileUsage(files: readonly StoredFile[]): FileUsage {
  return { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Calls the store. Throws `file_quota_exceeded` where it refuses this upload for its quota, and `store_error` if it fails. */
export async function fromFiles<Value>(
  run: () => MaybePromise<Value>,
  { quota }: Pick<FileUpload, 'quota'> = {},
): Promise<Value> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    if (quota && isStoreError(cause, 'file_quota_exceeded')) throw fileQuotaExceeded(quota);
    throw new ApiError('store_error', 'The store of files failed.', { cause });
  }
}
