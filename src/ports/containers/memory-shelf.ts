/** Keeps containers in the memory of the process: what has not been used for longest makes way. */
import { inOnePiece } from '../files/content.ts';
import { type FileUsage, fileQuotaExceeded } from '../files/file-store.ts';
import { storeKey } from '../store.ts';
import {
  type ContainerFile,
  type ContainerKey,
  type ContainerRecord,
  containerFileId,
  type NewContainerFile,
} from './container.ts';
import { containerNotFound } from './container-errors.ts';
import type { ContainerShelf } from './shelf.ts';

/** The bounds over all tenants. */
interface MemoryBounds {
  readonly maxBytes: number;
  readonly maxContainers: number;
  /** Whether code runs in the container, so that it must stay. */
  readonly isInUse: (key: ContainerKey) => boolean;
}

interface FileEntry {
  readonly file: ContainerFile;
  readonly data: Uint8Array;
}

interface Entry {
  record: ContainerRecord;
  readonly files: Map<string, FileEntry>;
}

/** Containers of all tenants, in the order of use: the first has not been used for longest. */
export class MemoryShelf implements ContainerShelf {
  readonly isDurable = false;
  private readonly entries = new Map<string, Entry>();
  /** The ids of each tenant's containers, oldest first. */
  private readonly tenants = new Map<string, Set<string>>();
  private readonly bounds: MemoryBounds;
  private readonly tenantBytes = new Map<string, number>();
  /** The bytes of all files, and of those that arrive. */
  private bytes = 0;
  private versions = 0;

  constructor(bounds: MemoryBounds) {
    this.bounds = bounds;
  }

  async put(record: ContainerRecord): Promise<void> {
    this.forget(record);
    this.makeRoom(() => this.entries.size < this.bounds.maxContainers);
    this.entries.set(storeKey(record), { record, files: new Map() });
    this.tenants.set(record.scope, (this.tenants.get(record.scope) ?? new Set()).add(record.id));
  }

  async change(record: ContainerRecord): Promise<void> {
    const entry = this.entries.get(storeKey(record));
    if (entry) entry.record = record;
  }

  async get(key: ContainerKey): Promise<ContainerRecord | undefined> {
    return this.entries.get(storeKey(key))?.record;
  }

  async list(scope: string): Promise<readonly ContainerRecord[]> {
    const ids = [...(this.tenants.get(scope) ?? [])];
    return ids.flatMap((id) => this.entries.get(storeKey({ scope, id }))?.record ?? []);
  }

  async touch(key: ContainerRecord, at: number): Promise<void> {
    const entry = this.entries.get(storeKey(key));
    if (!entry) return;
    entry.record = { ...entry.record, lastActiveAt: at };
    this.entries.delete(storeKey(key));
    this.entries.set(storeKey(key), entry);
  }

  async delete(key: ContainerKey): Promise<boolean> {
    return this.forget(key);
  }

  async putFile(
    key: ContainerKey,
    { name, source, content }: NewContainerFile,
    maxBytes: number,
  ): Promise<ContainerFile> {
    const pieces: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const piece of content) {
        length += piece.byteLength;
        this.count(key.scope, piece.byteLength);
        pieces.push(new Uint8Array(piece));
        const old = this.entries.get(storeKey(key))?.files.get(name)?.file.bytes ?? 0;
        const used = this.tenantBytes.get(key.scope) ?? 0;
        const hasRoom = this.makeRoom(() => this.bytes <= this.bounds.maxBytes, key);
        if (used - old > maxBytes || !hasRoom) throw fileQuotaExceeded({ files: 1, bytes: maxBytes });
      }
    } catch (error) {
      this.count(key.scope, -length);
      throw error;
    }
    const entry = this.entries.get(storeKey(key));
    if (!entry) {
      // Deleted meanwhile: nobody will read it.
      this.count(key.scope, -length);
      throw containerNotFound(key.id);
    }
    this.count(key.scope, -(entry.files.get(name)?.file.bytes ?? 0));
    entry.files.delete(name);
    this.versions += 1;
    const about = { id: containerFileId(key.id, name), version: String(this.versions), createdAt: Date.now() };
    const file: ContainerFile = { ...about, name, source, bytes: length };
    entry.files.set(name, { file, data: Buffer.concat(pieces) });
    return file;
  }

  async files(key: ContainerKey): Promise<readonly ContainerFile[]> {
    return [...(this.entries.get(storeKey(key))?.files.values() ?? [])].map(({ file }) => file);
  }

  async readFile(key: ContainerKey, { name }: ContainerFile, range?: { readonly start: number; readonly end: number }) {
    const data = this.entries.get(storeKey(key))?.files.get(name)?.data;
    // A copy, since the reader may change it.
    return data && inOnePiece(new Uint8Array(data.subarray(range?.start ?? 0, range?.end)));
  }

  async deleteFile(key: ContainerKey, { name }: ContainerFile): Promise<boolean> {
    const files = this.entries.get(storeKey(key))?.files;
    this.count(key.scope, -(files?.get(name)?.file.bytes ?? 0));
    return files?.delete(name) ?? false;
  }

  async clear(key: ContainerKey): Promise<void> {
    for (const file of await this.files(key)) await this.deleteFile(key, file);
  }

  async usage(scope: string): Promise<FileUsage> {
    const ids = [...(this.tenants.get(scope) ?? [])];
    const files = ids.reduce((sum, id) => sum + (this.entries.get(storeKey({ scope, id }))?.files.size ?? 0), 0);
    return { files, bytes: this.tenantBytes.get(scope) ?? 0 };
  }

  private count(scope: string, bytes: number): void {
    this.bytes += bytes;
    const sum = (this.tenantBytes.get(scope) ?? 0) + bytes;
    if (sum === 0) this.tenantBytes.delete(scope);
    else this.tenantBytes.set(scope, sum);
  }

  /** Forgets what has not been used for longest until there is room; false if the rest is in use. */
  private makeRoom(hasRoom: () => boolean, except?: ContainerKey): boolean {
    if (hasRoom()) return true;
    for (const { record } of [...this.entries.values()]) {
      const isExcepted = except !== undefined && storeKey(except) === storeKey(record);
      if (isExcepted || this.bounds.isInUse(record)) continue;
      this.forget(record);
      if (hasRoom()) return true;
    }
    return false;
  }

  private forget(key: ContainerKey): boolean {
    const entry = this.entries.get(storeKey(key));
    if (!entry) return false;
    for (const { file } of entry.files.values()) this.count(key.scope, -file.bytes);
    this.entries.delete(storeKey(key));
    const ids = this.tenants.get(key.scope);
    ids?.delete(key.id);
    if (ids?.size === 0) this.tenants.delete(key.scope);
    return true;
  }
}
