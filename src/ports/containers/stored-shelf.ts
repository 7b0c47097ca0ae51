/** Keeps containers in a store of files, where they outlive the process and are found by others. */

import { hash } from 'node:crypto';
import { newObjectId } from '../../protocol/ids.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord } from '../../protocol/record.ts';
import { allBytes, inOnePiece } from '../files/content.ts';
import {
  type ByteRange,
  type FileStore,
  type FileUsage,
  fromFiles,
  type StoredFile,
  sumFileUsage,
} from '../files/file-store.ts';
import {
  type ContainerFile,
  type ContainerKey,
  type ContainerRecord,
  containerFileId,
  type NewContainerFile,
} from './container.ts';
import type { ContainerShelf } from './shelf.ts';

/** What is kept of a container besides its files: its record, and when it was last used. The purposes of the stored files. */
const RECORD = 'container';
const ACTIVITY = 'container.active';

/** A use is noted once in this time: containers are kept for minutes. */
const TOUCH_MS = 30_000;
/** What a process leaves when it is killed goes after this time, and so does a container that is used for longer. */
const MAX_KEPT_MS = 30 * 24 * 3600 * 1000;
const MAX_RECORD_BYTES = 64 * 1024;
/** More than a tenant can have: its containers and their files are counted elsewhere. */
const MAX_FILES = 1_000_000;
const MAX_LISTED = 10_000;

/** All that a tenant has is in one scope of its own, apart from the files that it has uploaded. */
export class StoredShelf implements ContainerShelf {
  readonly isDurable = true;
  private readonly store: FileStore;
  private lastPutAt = 0;

  constructor(store: FileStore) {
    this.store = store;
  }

  async put(record: ContainerRecord): Promise<void> {
    await this.delete(record);
    await this.putRecord(record, recordKey(record));
  }

  /**
   * A stored file cannot be replaced in one step: meanwhile, and after a crash, a spare is the record. Each change has its own,
   * which no other one deletes: otherwise there could be none for a moment, and the container would begin anew.
   */
  async change(record: ContainerRecord): Promise<void> {
    const key = recordKey(record);
    const spare = { ...key, id: newObjectId('file') };
    await this.putRecord(record, spare);
    await fromFiles(() => this.store.delete(key));
    await this.putRecord(record, key).catch(async (error: unknown) => {
      // Another process has changed it at the same time, and either may be the later one.
      if (!(await fromFiles(() => this.store.get(key)))) throw error;
    });
    await fromFiles(() => this.store.delete(spare));
  }

  async get(key: ContainerKey): Promise<ContainerRecord | undefined> {
    const stored = (await fromFiles(() => this.store.get(recordKey(key)))) ?? (await this.records(key)).at(-1);
    if (!stored) return undefined;
    const activity = await this.listStored(key.scope, ACTIVITY);
    return this.readRecord(key.scope, stored, activity);
  }

  async list(scope: string): Promise<readonly ContainerRecord[]> {
    const records = await this.listStored(scope, RECORD);
    const activity = records.length === 0 ? [] : await this.listStored(scope, ACTIVITY);
    const unique = new Map(records.map((stored) => [stored.filename, stored]));
    for (const stored of records)
      if (stored.id === recordKey({ scope, id: stored.filename }).id) unique.set(stored.filename, stored);
    const read = await Promise.all([...unique.values()].map((stored) => this.readRecord(scope, stored, activity)));
    return read.filter((record) => record !== undefined);
  }

  async touch({ scope, id, lastActiveAt }: ContainerRecord, at: number): Promise<void> {
    if (at - lastActiveAt < TOUCH_MS) return;
    const older = (await this.listStored(scope, ACTIVITY)).filter(({ filename }) => filename === id);
    const about = { id: newObjectId('file'), createdAt: at, purpose: ACTIVITY, filename: id };
    await this.putStored(scope, { ...about, content: inOnePiece(new Uint8Array()), maxBytes: Number.MAX_SAFE_INTEGER });
    await this.deleteStored(older);
  }

  async delete(key: ContainerKey): Promise<boolean> {
    const { scope, id } = key;
    await this.clear(key);
    const activity = await this.listStored(scope, ACTIVITY);
    await this.deleteStored(activity.filter(({ filename }) => filename === id));
    return this.deleteStored(await this.records(key));
  }

  async putFile(
    key: ContainerKey,
    { name, source, content }: NewContainerFile,
    maxBytes: number,
  ): Promise<ContainerFile> {
    const { scope, id } = key;
    const older = (await this.listStored(scope, id)).filter(({ filename }) => filename === name);
    // Files of one millisecond would be in the order of their ids.
    this.lastPutAt = Math.max(Date.now(), this.lastPutAt + 1);
    const about = { id: newObjectId('file'), createdAt: this.lastPutAt, purpose: id, filename: name };
    const besides = sumFileUsage([...older, ...(await this.listStored(scope, RECORD))]);
    const room = maxBytes + besides.bytes;
    const stored = await this.putStored(scope, { ...about, content, contentType: source, maxBytes: room });
    // Others may have come meanwhile: the newest stays.
    const same = (await this.listStored(scope, id)).filter(({ filename }) => filename === name);
    await this.deleteStored(same.slice(0, -1));
    return containerFile(id, stored);
  }

  async files({ scope, id }: ContainerKey): Promise<readonly ContainerFile[]> {
    const newest = new Map<string, StoredFile>();
    for (const stored of await this.listStored(scope, id)) newest.set(stored.filename, stored);
    return [...newest.values()].map((stored) => containerFile(id, stored));
  }

  readFile(
    { scope }: ContainerKey,
    { version }: ContainerFile,
    range?: ByteRange,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    return fromFiles(() => this.store.read({ scope: shelfScope(scope), id: version }, range));
  }

  async deleteFile({ scope, id }: ContainerKey, { name }: ContainerFile): Promise<boolean> {
    const stored = await this.listStored(scope, id);
    return this.deleteStored(stored.filter(({ filename }) => filename === name));
  }

  async clear({ scope, id }: ContainerKey): Promise<void> {
    await this.deleteStored(await this.listStored(scope, id));
  }

  async usage(scope: string): Promise<FileUsage> {
    const { files, bytes } = await fromFiles(() => this.store.usage(shelfScope(scope)));
    const records = [...(await this.listStored(scope, RECORD)), ...(await this.listStored(scope, ACTIVITY))];
    const { files: count, bytes: length } = sumFileUsage(records);
    return { files: files - count, bytes: bytes - length };
  }

  private async putRecord(record: ContainerRecord, { id }: ContainerKey): Promise<void> {
    const { scope, createdAt, lastActiveAt: _, ...rest } = record;
    const content = inOnePiece(Buffer.from(JSON.stringify(rest)));
    await this.putStored(scope, {
      id,
      createdAt,
      content,
      purpose: RECORD,
      filename: record.id,
      maxBytes: Number.MAX_SAFE_INTEGER,
    });
  }

  /** The container's record, and the spares of changes that run or have broken off. */
  private async records({ scope, id }: ContainerKey): Promise<readonly StoredFile[]> {
    return (await this.listStored(scope, RECORD)).filter(({ filename }) => filename === id);
  }

  /** Oldest first. */
  private async listStored(scope: string, purpose: string): Promise<readonly StoredFile[]> {
    const query = { limit: MAX_LISTED, order: 'asc', purpose } as const;
    return (await fromFiles(() => this.store.list(shelfScope(scope), query))).files;
  }

  private async putStored(scope: string, { maxBytes, ...stored }: StoredParts): Promise<StoredFile> {
    const { id, createdAt, content, ...details } = stored;
    const about = { ...details, expiresAt: createdAt + MAX_KEPT_MS };
    const quota = { files: MAX_FILES, bytes: maxBytes };
    const upload = { scope: shelfScope(scope), id, createdAt, content, details: () => about, quota };
    return fromFiles(() => this.store.put(upload), upload);
  }

  private async deleteStored(stored: readonly StoredFile[]): Promise<boolean> {
    let isDeleted = false;
    for (const file of stored) isDeleted = (await fromFiles(() => this.store.delete(file))) || isDeleted;
    return isDeleted;
  }

  /** Undefined for one that is deleted meanwhile, or that nothing of ours has written. */
  private async readRecord(
    scope: string,
    stored: StoredFile,
    activity: readonly StoredFile[],
  ): Promise<ContainerRecord | undefined> {
    const content = await fromFiles(() => this.store.read(stored));
    const json = content && jsonIn(Buffer.from(await fromFiles(() => allBytes(content, MAX_RECORD_BYTES))).toString());
    if (!isRecord(json)) return undefined;
    const { createdAt, filename } = stored;
    const uses = activity.filter((each) => each.filename === filename).map((each) => each.createdAt);
    // The cast: this class has written it.
    const record = json as unknown as ContainerRecord;
    return { ...record, scope, createdAt, lastActiveAt: Math.max(createdAt, ...uses) };
  }
}

interface StoredParts {
  readonly id: string;
  readonly createdAt: number;
  readonly content: AsyncIterable<Uint8Array>;
  readonly purpose: string;
  readonly filename: string;
  readonly contentType?: string;
  /** What the tenant's files may take after it. */
  readonly maxBytes: number;
}

/** A digest: the store may be that of uploaded files, where no tenant may have this scope. */
function shelfScope(scope: string): string {
  return `containers:${hash('sha256', scope)}`;
}

const ID_DIGITS = 32;

function recordKey({ scope, id }: ContainerKey): ContainerKey {
  const digits = hash('sha256', `record of ${id}`).slice(0, ID_DIGITS);
  return { scope: shelfScope(scope), id: `file-${digits}` };
}

/** Who wrote it is kept in the place of a type, of which containers know none. */
function containerFile(container: string, stored: StoredFile): ContainerFile {
  const { id: version, filename: name, bytes, createdAt, contentType } = stored;
  const source = contentType === 'user' ? 'user' : 'assistant';
  return { id: containerFileId(container, name), name, bytes, createdAt, source, version };
}
