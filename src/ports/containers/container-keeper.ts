/** Keeps the containers of all scopes: their records and files on a shelf, and a process for each that is in use. */

import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../protocol/errors.ts';
import { newObjectId, quoteId } from '../../protocol/ids.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { allBytes, inOnePiece } from '../files/content.ts';
import type { ByteRange } from '../files/file-store.ts';
import type {
  CodeContainer,
  CodeFile,
  CodeRun,
  CodeRuntime,
  CommandRun,
  ContainerCommand,
  ContainerTerms,
} from '../hosted-tools/code-runtime.ts';
import { isUntracked, limitScope, requireTenant } from '../scope.ts';
import { storeKey } from '../store.ts';
import {
  type Container,
  type ContainerFile,
  type ContainerKey,
  type ContainerRecord,
  isContainerExpired,
  type NewContainer,
  type NewContainerFile,
  SKILLS_FOLDER,
} from './container.ts';
import type { ContainerBounds } from './container-bounds.ts';
import { containerExpired, containerNotFound } from './container-errors.ts';
import { type ContainerSlot, ContainerSlots } from './container-slots.ts';
import { checkTerms, runtimeTerms } from './container-terms.ts';
import type {
  Containers,
  ContainersCommandRun,
  ContainersRun,
  ContainersUsage,
  ContainerUse,
  ContainerWishes,
  UsedContainer,
} from './containers.ts';
import { isBelow, isFileName } from './file-name.ts';
import type { ContainerShelf } from './shelf.ts';

/** The options of `containers`, with every default filled in. */
interface KeeperSettings {
  readonly runtime: CodeRuntime;
  readonly idleMs: number;
  readonly max: number;
  readonly maxPerScope: number;
  readonly limits: ContainerBounds;
  readonly shelf: (isInUse: (key: ContainerKey) => boolean) => ContainerShelf;
  readonly onClose: () => void;
}

/** How often containers are looked for whose time is over. */
const SWEEP_MS = 30_000;
/** Containers that this process has seen and looks after; others expire when they are next asked for. */
const MAX_WATCHED = 10_000;

type Run = CodeRun | CommandRun;

/** What runs, in words for those who watch. */
interface Work<Result extends Run> extends Pick<ContainerUse, 'kind' | 'input'> {
  readonly key: ContainerKey;
  readonly files: readonly CodeFile[];
  readonly wanted: ContainerWishes;
  readonly start: (container: CodeContainer) => Promise<Result>;
}

export class ContainerKeeper implements Containers {
  readonly runtime: CodeRuntime;
  readonly limits: ContainerBounds;
  private readonly idleMs: number;
  private readonly slots: ContainerSlots;
  private readonly shelf: ContainerShelf;
  private readonly listeners = new Set<(use: ContainerUse) => void>();
  /** When each of the containers that this process has seen expires. */
  private readonly expiries = new Map<string, { readonly key: ContainerKey; readonly at: number }>();
  private readonly onClose: () => void;
  private sweeping: NodeJS.Timeout | undefined;

  constructor({ runtime, idleMs, max, maxPerScope, limits, shelf, onClose }: KeeperSettings) {
    this.onClose = onClose;
    this.runtime = runtime;
    this.limits = limits;
    this.idleMs = idleMs;
    this.slots = new ContainerSlots({ idleMs, max, maxPerScope });
    this.shelf = shelf((key) => this.slots.isInUse(key));
  }

  get isDurable(): boolean {
    return this.shelf.isDurable;
  }

  async create(scope: string, wanted: NewContainer): Promise<Container> {
    requireTenant(scope, 'A container', null);
    this.assertOpen();
    checkTerms(this.runtime, wanted);
    await this.makeRoom(scope);
    const record = this.newRecord({ scope, id: newObjectId('container') }, 'client', wanted);
    await this.shelf.put(record);
    return this.seen(record);
  }

  async find(key: ContainerKey): Promise<Container | undefined> {
    const record = isUntracked(key.scope) ? undefined : await this.shelf.get(key);
    return record && this.current(record);
  }

  async list(scope: string): Promise<readonly Container[]> {
    const records = isUntracked(scope) ? [] : await this.shelf.list(scope);
    return Promise.all(records.map((record) => this.current(record)));
  }

  async remove(key: ContainerKey): Promise<boolean> {
    if (isUntracked(key.scope)) return false;
    const isRemoved = await this.shelf.delete(key);
    // Only then: a run that begins in between would write the files again.
    if (isRemoved) this.slots.end(key);
    this.expiries.delete(storeKey(key));
    return isRemoved;
  }

  async run(
    key: ContainerKey,
    code: string,
    files: readonly CodeFile[],
    signal: AbortSignal,
    wanted: ContainerWishes = {},
  ): Promise<ContainersRun> {
    if (this.runtime.runsCode === false) throw new Error(`The containers of '${this.runtime.name}' run no Python.`);
    const start = (container: CodeContainer) => container.run(code, signal);
    return this.use({ key, kind: 'code', input: code, start, files, wanted }, signal);
  }

  async exec(
    key: ContainerKey,
    command: ContainerCommand,
    files: readonly CodeFile[],
    signal: AbortSignal,
    wanted: ContainerWishes = {},
  ): Promise<ContainersCommandRun> {
    const input = typeof command.command === 'string' ? command.command : command.command.join(' ');
    const start = (container: CodeContainer) => {
      if (!container.exec) throw new Error(`The containers of '${this.runtime.name}' run no commands.`);
      return container.exec(command, signal);
    };
    return this.use({ key, kind: 'command', input, start, files, wanted }, signal);
  }

  async putFile(key: ContainerKey, file: NewContainerFile): Promise<ContainerFile> {
    if (!isFileName(file.name)) {
      const message = `A file in a container cannot be named ${quoteId(file.name)}: a path below its working directory is expected.`;
      throw new ApiError('invalid_value', message, { param: 'file' });
    }
    const record = await this.usable(key);
    const files = await this.shelf.files(key);
    const other = files.find(({ name }) => isBelow(name, file.name) || isBelow(file.name, name));
    if (other) {
      const message = `A file cannot be named ${quoteId(file.name)} in this container: it has the file ${quoteId(other.name)}, and one of the two would have to be a folder.`;
      throw new ApiError('invalid_value', message, { param: 'file' });
    }
    if (files.length >= this.limits.files && !files.some(({ name }) => name === file.name)) {
      const message = `The container has ${files.length} files; this server keeps at most ${this.limits.files} in each.`;
      throw new ApiError('file_quota_exceeded', message, { param: 'file' });
    }
    const content = this.bounded(file.content, this.roomIn(files, file.name));
    const stored = await this.whileInUse(record, () =>
      this.shelf.putFile(key, { ...file, content }, this.limits.bytes),
    );
    if (await this.touchOrClear(record)) return stored;
    throw containerNotFound(key.id);
  }

  async files(key: ContainerKey): Promise<readonly ContainerFile[]> {
    await this.usable(key);
    return this.shelf.files(key);
  }

  readFile(key: ContainerKey, file: ContainerFile, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.shelf.readFile(key, file, range);
  }

  async removeFile(key: ContainerKey, file: ContainerFile): Promise<boolean> {
    const record = await this.usable(key);
    const isRemoved = await this.shelf.deleteFile(key, file);
    if (isRemoved) await this.touch(record);
    return isRemoved;
  }

  async usage(scope: string): Promise<ContainersUsage> {
    const running = this.slots.countOf(scope);
    if (isUntracked(scope)) return { containers: 0, files: 0, bytes: 0, running };
    const containers = (await this.list(scope)).filter(({ status }) => status === 'running').length;
    return { ...(await this.shelf.usage(scope)), containers, running };
  }

  watch(listener: (use: ContainerUse) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  close(): Promise<void> {
    clearInterval(this.sweeping);
    this.sweeping = undefined;
    this.onClose();
    return this.slots.close();
  }

  private async use<Result extends Run>(work: Work<Result>, signal: AbortSignal): Promise<Result & UsedContainer> {
    const slot = await this.slots.acquire(work.key, signal);
    const task = slot.enqueue(() => this.useSlot(slot, work, signal)).finally(() => this.slots.release(slot));
    // It may end after the caller was aborted.
    task.catch(() => {});
    return untilAborted(signal, () => task);
  }

  private async useSlot<Result extends Run>(
    slot: ContainerSlot,
    work: Work<Result>,
    signal: AbortSignal,
  ): Promise<Result & UsedContainer> {
    signal.throwIfAborted();
    this.slots.closed.throwIfAborted();
    const record = isUntracked(work.key.scope) ? undefined : await this.opened(work, slot);
    const run = () => this.runIn(slot, work, record, signal);
    return record ? this.whileInUse(record, run) : run();
  }

  private async runIn<Result extends Run>(
    slot: ContainerSlot,
    work: Work<Result>,
    record: ContainerRecord | undefined,
    signal: AbortSignal,
  ): Promise<Result & UsedContainer> {
    const { files } = work;
    const terms = record && runtimeTerms(this.runtime, record);
    // Each request says anew what the container that it continues may reach, and another process may have run one since.
    if (!isDeepStrictEqual(slot.terms, terms)) await slot.container?.close();
    const fresh = !slot.container?.alive;
    const container = await this.liveProcess(slot, terms, signal);
    const restored = record ? await this.bringKeptFiles(slot, container, work) : 0;
    await this.bringFiles(slot, container, record, files);
    const result = await this.watched(work, () => work.start(container));
    const kept = record ? await this.keepFiles(slot, record, result) : { written: [], unkept: [] };
    return { ...result, ...kept, fresh, restored };
  }

  /** The record of a container that is used, which begins anew where there is none, or its time was over. */
  private async opened({ key, wanted }: Work<Run>, slot: ContainerSlot): Promise<ContainerRecord> {
    const record = await this.shelf.get(key);
    checkTerms(this.runtime, wanted);
    if (record && !isContainerExpired(record, Date.now())) {
      await this.touch(record);
      const { networkPolicy = record.networkPolicy } = wanted;
      if (isDeepStrictEqual(networkPolicy, record.networkPolicy)) return record;
      const changed = { ...record, networkPolicy };
      await this.shelf.change(changed);
      return changed;
    }
    // What ran in one that has expired, or that another process has deleted, is not found by what begins under its id.
    await slot.container?.close();
    if (!record) await this.makeRoom(key.scope);
    const anew = this.newRecord(key, 'tool', { name: 'auto', ...wanted });
    await this.shelf.put(anew);
    return this.seen(anew);
  }

  private async liveProcess(
    slot: ContainerSlot,
    terms: ContainerTerms | undefined,
    signal: AbortSignal,
  ): Promise<CodeContainer> {
    if (slot.container?.alive) return slot.container;
    slot.names.clear();
    slot.versions.clear();
    slot.terms = terms;
    slot.container = await this.runtime.create(signal, limitScope(slot.scope), terms);
    if (this.slots.closed.aborted) await slot.container.close();
    this.slots.closed.throwIfAborted();
    return slot.container;
  }

  /** The files that clients, other processes and earlier processes have written; returns how many. */
  private async bringKeptFiles(
    slot: ContainerSlot,
    container: CodeContainer,
    { key, files }: Work<Run>,
  ): Promise<number> {
    const kept: ContainerFile[] = [];
    const isReplaced = replacedSkillFiles(files);
    for (const file of await this.shelf.files(key)) {
      if (!isReplaced(file)) {
        kept.push(file);
        continue;
      }
      await this.shelf.deleteFile(key, file);
      slot.names.delete(file.name);
    }
    const names = new Set(kept.map(({ name }) => name));
    for (const name of [...slot.versions.keys()].filter((each) => !names.has(each))) {
      // First: what cannot be done, since code has made a folder of that name, fails one run and not all that follow.
      slot.versions.delete(name);
      await container.remove?.(name);
    }
    let brought = 0;
    for (const file of kept) {
      if (slot.versions.get(file.name) === file.version) continue;
      const content = await this.shelf.readFile(key, file);
      if (!content) continue;
      const data = await allBytes(content, this.limits.fileBytes);
      slot.versions.set(file.name, file.version);
      await container.put({ name: file.name, data });
      brought += 1;
    }
    return brought;
  }

  /** The files of the conversation, and those of its skills as they are now, unless the code has made others of their names. */
  private async bringFiles(
    slot: ContainerSlot,
    container: CodeContainer,
    record: ContainerRecord | undefined,
    files: readonly CodeFile[],
  ): Promise<void> {
    let kept: readonly ContainerFile[] | undefined;
    for (const file of files) {
      // Names of the conversation's files are without folders, and never mean another file. A skill may have another version.
      const digest = file.name.includes('/') ? hash('sha256', file.data) : '';
      if (slot.names.get(file.name) === digest) continue;
      slot.names.set(file.name, digest);
      if (slot.versions.has(file.name)) {
        if (digest === '' || !record) continue;
        kept ??= await this.shelf.files(record);
        if (!(await this.isOutdated(record, file, kept))) continue;
      }
      await container.put(file);
      const added = record && (await this.keepFile(record, file, 'user'));
      if (added) slot.versions.set(added.name, added.version);
    }
  }

  /** Whether the container has another file of this name that its code has not written. */
  private async isOutdated(
    record: ContainerRecord,
    { name, data }: CodeFile,
    kept: readonly ContainerFile[],
  ): Promise<boolean> {
    const same = kept.find((file) => file.name === name);
    const content = same?.source === 'user' ? await this.shelf.readFile(record, same) : undefined;
    return content !== undefined && !(await allBytes(content, this.limits.fileBytes)).equals(data);
  }

  private async keepFiles(
    slot: ContainerSlot,
    record: ContainerRecord,
    { files, removed = [] }: Run,
  ): Promise<Pick<UsedContainer, 'written' | 'unkept'>> {
    const written: ContainerFile[] = [];
    const unkept: string[] = [];
    for (const file of files) {
      const kept = await this.keepFile(record, file, 'assistant');
      if (!kept) {
        unkept.push(file.name);
        continue;
      }
      slot.versions.set(kept.name, kept.version);
      written.push(kept);
    }
    if (removed.length > 0) {
      const gone = new Set(removed);
      for (const file of await this.shelf.files(record)) {
        if (!gone.has(file.name)) continue;
        await this.shelf.deleteFile(record, file);
        slot.versions.delete(file.name);
      }
    }
    await this.touchOrClear(record);
    return { written, unkept };
  }

  /** Undefined where the tenant's quota has no room, although older containers of its tools have made way. */
  private async keepFile(
    record: ContainerRecord,
    { name, data }: CodeFile,
    source: ContainerFile['source'],
  ): Promise<ContainerFile | undefined> {
    const files = await this.shelf.files(record);
    const isNew = !files.some((file) => file.name === name);
    const room = Math.min(this.roomIn(files, name), this.limits.fileBytes);
    if ((isNew && files.length >= this.limits.files) || data.byteLength > room) return undefined;
    for (;;) {
      try {
        const file = { name, source, content: inOnePiece(data) };
        return await this.shelf.putFile(record, file, this.limits.bytes);
      } catch (error) {
        // Deleted by its owner while the code ran.
        if (error instanceof ApiError && error.code === 'container_not_found') return undefined;
        if (!(error instanceof ApiError) || error.code !== 'file_quota_exceeded') throw error;
        if (!(await this.removeIdle(record.scope, record.id))) return undefined;
      }
    }
  }

  /** Throws `container_quota_exceeded` where the tenant may have no more containers, and none of its tools' can make way. */
  private async makeRoom(scope: string): Promise<void> {
    const records = await this.shelf.list(scope);
    const now = Date.now();
    const expired = records.filter((record) => isContainerExpired(record, now));
    // Clients may still look at some of them.
    for (const record of expired.slice(0, -this.limits.containers)) await this.remove(record);
    if (records.length - expired.length < this.limits.containers) return;
    if (await this.removeIdle(scope)) return;
    const message = `You have ${records.length - expired.length} containers; this server keeps at most ${this.limits.containers} for you. Delete some first.`;
    throw new ApiError('container_quota_exceeded', message);
  }

  /** Removes the container of a tool of the tenant that has not been used for longest; false if there is none that is idle. */
  private async removeIdle(scope: string, except?: string): Promise<boolean> {
    const idle = (await this.shelf.list(scope)).filter(
      (record) => record.origin === 'tool' && record.id !== except && !this.slots.isInUse(record),
    );
    const [oldest] = idle.toSorted((one, other) => one.lastActiveAt - other.lastActiveAt);
    return oldest !== undefined && (await this.remove(oldest));
  }

  private newRecord(key: ContainerKey, origin: ContainerRecord['origin'], wanted: NewContainer): ContainerRecord {
    const now = Date.now();
    const { name, expiresAfterMs = this.idleMs, memoryLimit, networkPolicy = { type: 'disabled' } } = wanted;
    const { scope, id } = key;
    const times = { createdAt: now, lastActiveAt: now, expiresAfterMs };
    return { scope, id, name, origin, ...times, ...(memoryLimit ? { memoryLimit } : {}), networkPolicy };
  }

  /** Throws `container_not_found` and `container_expired`. */
  private async usable(key: ContainerKey): Promise<Container> {
    this.assertOpen();
    const container = await this.find(key);
    if (!container) throw containerNotFound(key.id);
    if (container.status === 'expired') throw containerExpired();
    return container;
  }

  private assertOpen(): void {
    if (!this.slots.closed.aborted) return;
    throw new ApiError('server_draining', 'The containers of this server are closed.');
  }

  /** The container as it is now: what has expired has no files and no process any more. */
  private async current(record: ContainerRecord): Promise<Container> {
    if (!isContainerExpired(record, Date.now())) return this.seen(record);
    await this.expire(record);
    return { ...record, status: 'expired' };
  }

  private async expire(record: ContainerRecord): Promise<void> {
    this.expiries.delete(storeKey(record));
    this.slots.end(record);
    await this.shelf.clear(record);
  }

  /** The container does not expire before the work has ended, in whichever process somebody looks. */
  private async whileInUse<Result>(record: ContainerRecord, work: () => Promise<Result>): Promise<Result> {
    const note = async () => {
      // It may have been deleted.
      const current = await this.shelf.get(record);
      if (current) await this.touch(current);
    };
    const timer = setInterval(() => void note().catch(() => {}), record.expiresAfterMs / 3).unref();
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** The container has been used; false if its owner has deleted it meanwhile: then nobody will ask for its files. */
  private async touchOrClear(record: ContainerRecord): Promise<boolean> {
    const isThere = (await this.shelf.get(record)) !== undefined;
    await (isThere ? this.touch(record) : this.shelf.clear(record));
    return isThere;
  }

  private async touch(record: ContainerRecord): Promise<void> {
    const now = Date.now();
    await this.shelf.touch(record, now);
    this.seen({ ...record, lastActiveAt: now });
  }

  /** Looks after it until its time is over. */
  private seen(record: ContainerRecord): Container {
    const { scope, id } = record;
    const at = record.lastActiveAt + record.expiresAfterMs;
    if (this.expiries.size < MAX_WATCHED) this.expiries.set(storeKey(record), { key: { scope, id }, at });
    this.sweeping ??= this.slots.closed.aborted
      ? undefined
      : setInterval(() => void this.sweep().catch(() => {}), SWEEP_MS).unref();
    return { ...record, status: 'running' };
  }

  /** Removes the files of what has expired, even if nobody asks for it any more. */
  private async sweep(): Promise<void> {
    const now = Date.now();
    for (const [name, { key, at }] of [...this.expiries]) {
      if (at > now || this.slots.isInUse(key)) continue;
      this.expiries.delete(name);
      const record = await this.shelf.get(key);
      if (record) await this.current(record);
    }
    if (this.expiries.size > 0) return;
    clearInterval(this.sweeping);
    this.sweeping = undefined;
  }

  /** How many bytes a file of this name may have, beside the others of its container. */
  private roomIn(files: readonly ContainerFile[], name: string): number {
    return files.reduce((room, file) => (file.name === name ? room : room - file.bytes), this.limits.containerBytes);
  }

  private async *bounded(content: AsyncIterable<Uint8Array>, room: number): AsyncIterable<Uint8Array> {
    let length = 0;
    for await (const piece of content) {
      length += piece.byteLength;
      if (length > room && length <= this.limits.fileBytes) {
        const message = `The files of a container may have at most ${this.limits.containerBytes} bytes together. Delete some first.`;
        throw new ApiError('file_quota_exceeded', message, { param: 'file' });
      }
      if (length > this.limits.fileBytes) {
        const message = `The file has more than ${this.limits.fileBytes} bytes, which is the most that a container takes.`;
        throw new ApiError('file_too_large', message, { param: 'file' });
      }
      yield piece;
    }
  }

  private async watched<Result extends Run>(
    { key: { scope, id }, kind, input }: Work<Result>,
    run: () => Promise<Result>,
  ): Promise<Result> {
    if (this.listeners.size === 0) return run();
    const at = Date.now();
    const tell = (outcome: Pick<ContainerUse, 'stdout' | 'stderr' | 'result' | 'error' | 'files'>) => {
      const use = { scope, id, at, durationMs: Date.now() - at, kind, input, ...outcome };
      for (const listener of this.listeners) listener(use);
    };
    try {
      const result = await run();
      const { stdout, stderr, files } = result;
      const ended =
        'exitCode' in result
          ? { result: result.exitCode === undefined ? undefined : String(result.exitCode), error: undefined }
          : { result: result.result, error: result.error };
      tell({ stdout, stderr, ...ended, files: files.map(({ name }) => name) });
      return result;
    } catch (error) {
      tell({ stdout: '', stderr: '', result: undefined, error: String(error), files: [] });
      throw error;
    }
  }
}

/** Tells the files that another version of these skills has left in its folder; what code has written there stays. */
function replacedSkillFiles(files: readonly CodeFile[]): (file: ContainerFile) => boolean {
  const names = new Set(files.map(({ name }) => name));
  const folderOf = (name: string) => name.split('/', 2).join('/');
  const folders = new Set([...names].filter((name) => name.startsWith(`${SKILLS_FOLDER}/`)).map(folderOf));
  return ({ name, source }) => source === 'user' && !names.has(name) && folders.has(folderOf(name));
}
