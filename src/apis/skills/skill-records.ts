/** Skills as files of scopes that no tenant has, so that any store of files keeps them: a record each, and a zip for each version. */

import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { allBytes } from '../../ports/files/content.ts';
import {
  type FileStore,
  type FileUpload,
  type FileUsage,
  fromFiles,
  type StoredFile,
} from '../../ports/files/file-store.ts';
import { OneAtATime } from '../../ports/queues/one-at-a-time.ts';
import { isUntracked } from '../../ports/scope.ts';
import { type ResponseKey, storeKey } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isObjectId, newObjectId, quoteId } from '../../protocol/ids.ts';
import type { SkillLimits } from './limits.ts';

/** One version of a skill, which never changes. */
export interface SkillVersion {
  readonly id: string;
  readonly version: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly name: string;
  readonly description: string;
  /** The id of its zip in the store of files. */
  readonly fileId: string;
}

/** A skill of one tenant. */
export interface StoredSkill {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly defaultVersion: number;
  /** The number of the next version: that of a deleted one is not used again. */
  readonly nextVersion: number;
  /** Oldest first; at least one. */
  readonly versions: readonly SkillVersion[];
}

/** A skill as it is stored in one of its files; a later one replaces those before. */
interface SkillRevision {
  readonly file: StoredFile;
  readonly revision: number;
  readonly isDeleted: boolean;
}

const ZIP = 'application/zip';
const JSON_TYPE = 'application/json';
/** Attempts to change a skill, each of which fails only if another process has changed it meanwhile. */
const CHANGE_TRIES = 50;
/** How long a deleted skill is known to be deleted: longer than any process takes to change a skill. */
const DELETED_MS = 60_000;
const MAX_PAUSE_MS = 100;
const MAX_REVISIONS = 1000;

/**
 * The skills of all tenants. A store of files replaces nothing, and processes share it: so a change is a further file of the next
 * number, and whoever finds that another process has written one of that number, too, takes its own back and tries again.
 */
export class SkillRecords {
  private readonly files: FileStore;
  private readonly limits: SkillLimits;
  /** The changes that run in this process, by skill: they wait for each other. */
  private readonly changes = new OneAtATime();

  constructor(files: FileStore, limits: SkillLimits) {
    this.files = files;
    this.limits = limits;
  }

  /** Stores a new skill. Throws `skill_quota_exceeded` and `store_error`. */
  async create(scope: string, version: SkillVersion): Promise<StoredSkill> {
    const existing = await this.all(scope);
    if (existing.length >= this.limits.skills) {
      const message = `You have ${this.limits.skills} skills, as many as this server keeps for you. Delete some first.`;
      throw new ApiError('skill_quota_exceeded', message, { param: 'files' });
    }
    const { createdAt } = version;
    const skill = { id: newObjectId('skill'), createdAt, defaultVersion: 1, nextVersion: 2, versions: [version] };
    await this.write(scope, skill, 1);
    return skill;
  }

  /** The skill. Throws `skill_not_found`, naming `param`, if the tenant has none with this id; and `store_error`. */
  async require({ scope, id }: ResponseKey, param = 'skill_id'): Promise<StoredSkill> {
    const isKnown = isObjectId('skill', id) && !isUntracked(scope);
    const skill = isKnown ? await this.find({ scope, id }) : undefined;
    if (!skill) throw skillNotFound(id, param);
    return skill;
  }

  /** The ids of the tenant's skills, oldest first. Throws `store_error`. */
  async all(scope: string): Promise<readonly string[]> {
    if (isUntracked(scope)) return [];
    const found = new Map<
      string,
      { readonly revision: number; readonly isDeleted: boolean; readonly createdAt: number }
    >();
    for (const file of await this.list(recordScope(scope))) {
      const { revision, isDeleted } = revisionOf(file);
      if ((found.get(file.purpose)?.revision ?? 0) < revision)
        found.set(file.purpose, { revision, isDeleted, createdAt: file.createdAt });
    }
    return [...found]
      .filter(([, { isDeleted }]) => !isDeleted)
      .toSorted(([id, one], [other, two]) => one.createdAt - two.createdAt || (id < other ? -1 : 1))
      .map(([id]) => id);
  }

  /** The skill, or undefined. Throws `store_error`. */
  async find({ scope, id }: ResponseKey): Promise<StoredSkill | undefined> {
    for (let tries = 0; tries < CHANGE_TRIES; tries += 1) {
      const last = (await this.revisions({ scope, id })).at(-1);
      if (!last || last.isDeleted) return undefined;
      const bytes = await this.read(last.file);
      // The cast: only `write` writes these.
      if (bytes) return JSON.parse(Buffer.from(bytes).toString()) as StoredSkill;
      // It has been replaced meanwhile.
    }
    throw changedAllTheTime();
  }

  /**
   * Changes the skill, and returns it as it is then; `edit` returns undefined to delete it, is called again where another process was
   * faster, and may throw. Throws `skill_not_found` and `store_error`.
   */
  async change(
    key: ResponseKey,
    edit: (skill: StoredSkill) => StoredSkill | undefined,
  ): Promise<StoredSkill | undefined> {
    return this.changes.run(storeKey(key), () => this.changeAlone(key, edit));
  }

  /** Stores the zip of a version; returns the id of its file. Throws `file_quota_exceeded` and `store_error`. */
  async putZip(scope: string, zip: Uint8Array): Promise<string> {
    const { files, tenantBytes: bytes } = this.limits.forms;
    const details = () => ({ filename: 'skill.zip', purpose: 'skill', contentType: ZIP });
    return this.put(zipScope(scope), zip, details, { createdAt: Date.now(), quota: { files, bytes } });
  }

  /** What the tenant's zips take. Throws `store_error`. */
  usage(scope: string): Promise<FileUsage> {
    return fromFiles(() => this.files.usage(zipScope(scope)));
  }

  /** The file of the zip of a version; undefined if that has been deleted meanwhile. Throws `store_error`. */
  zipFile(scope: string, fileId: string): Promise<StoredFile | undefined> {
    return fromFiles(() => this.files.get({ scope: zipScope(scope), id: fileId }));
  }

  /** Throws `store_error`. */
  async deleteZips(scope: string, fileIds: readonly string[]): Promise<void> {
    for (const id of fileIds) await fromFiles(() => this.files.delete({ scope: zipScope(scope), id }));
  }

  /** The bytes of a file; undefined if it has been deleted meanwhile. Throws `store_error`. */
  async read(file: StoredFile): Promise<Uint8Array | undefined> {
    return fromFiles(async () => {
      const content = await this.files.read(file);
      return content && allBytes(content, Number.POSITIVE_INFINITY);
    });
  }

  private async changeAlone(
    key: ResponseKey,
    edit: (skill: StoredSkill) => StoredSkill | undefined,
  ): Promise<StoredSkill | undefined> {
    for (let tries = 0; tries < CHANGE_TRIES; tries += 1) {
      const before = await this.revisions(key);
      const skill = await this.require(key);
      const edited = edit(skill);
      const revision = (before.at(-1)?.revision ?? 0) + 1;
      const fileId = await this.write(key.scope, edited ?? skill, revision, edited === undefined);
      const after = await this.revisions(key);
      const isFirst = after.every(({ file, revision: other }) => file.id === fileId || other < revision);
      const mine = { scope: recordScope(key.scope), id: fileId };
      if (!isFirst) {
        await fromFiles(() => this.files.delete(mine));
        // Two processes that keep step would take theirs back for ever.
        await sleep(Math.random() * Math.min(MAX_PAUSE_MS, 5 * (tries + 1)));
        continue;
      }
      for (const { file } of after) if (file.id !== fileId) await fromFiles(() => this.files.delete(file));
      return edited;
    }
    throw changedAllTheTime();
  }

  private write(scope: string, skill: StoredSkill, revision: number, isDeleted = false): Promise<string> {
    const { id, createdAt } = skill;
    const details = () => ({
      ...{ filename: isDeleted ? `${revision} ${DELETED}` : String(revision), purpose: id, contentType: JSON_TYPE },
      ...(isDeleted && { expiresAt: Date.now() + DELETED_MS }),
    });
    return this.put(recordScope(scope), Buffer.from(JSON.stringify(skill)), details, { createdAt });
  }

  private async put(
    scope: string,
    bytes: Uint8Array,
    details: FileUpload['details'],
    more: Pick<FileUpload, 'createdAt' | 'quota'>,
  ): Promise<string> {
    const id = newObjectId('file');
    const upload: FileUpload = { scope, id, content: Readable.from([bytes]), details, ...more };
    await fromFiles(() => this.files.put(upload), upload);
    return id;
  }

  /** What is stored of the skill, oldest first. */
  private async revisions({ scope, id }: ResponseKey): Promise<readonly SkillRevision[]> {
    const files = await this.list(recordScope(scope), id);
    return files
      .map((file) => ({ file, ...revisionOf(file) }))
      .toSorted((one, other) => one.revision - other.revision || (one.file.id < other.file.id ? 1 : -1));
  }

  private async list(scope: string, purpose?: string): Promise<readonly StoredFile[]> {
    const limit = Math.max(MAX_REVISIONS, 4 * this.limits.skills);
    const query = { limit, order: 'asc', ...(purpose !== undefined && { purpose }) } as const;
    return (await fromFiles(() => this.files.list(scope, query))).files;
  }
}

const DELETED = 'deleted';

function revisionOf({ filename }: StoredFile): { readonly revision: number; readonly isDeleted: boolean } {
  const [revision, mark] = filename.split(' ');
  return { revision: Number(revision), isDeleted: mark === DELETED };
}

/** A digest, so that the files of no tenant are listed with them. */
function recordScope(scope: string): string {
  return hash('sha256', `skills of ${scope}`, 'base64url');
}

function zipScope(scope: string): string {
  return hash('sha256', `zips of the skills of ${scope}`, 'base64url');
}

/** The error of an id that no skill of the tenant has, or of a version that the skill does not have. */
export function skillNotFound(id: unknown, param: string): ApiError {
  const what = param.endsWith('version') ? 'version of this skill' : 'Skill object';
  return new ApiError('skill_not_found', `No such ${what}: ${quoteId(id)}.`, { param });
}

function changedAllTheTime(): ApiError {
  const cause = new Error('Others change the same skill all the time.');
  return new ApiError('store_error', 'The store of files failed.', { cause });
}
