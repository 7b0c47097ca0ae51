/** Uploads and their parts as files of a scope that no tenant has, so that any store keeps them and forgets them in an hour. */

import { createHash, hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { type FileStore, type FileUpload, fromFiles, type StoredFile } from '../../ports/files/file-store.ts';
import { mapInGroups } from '../../ports/queues/in-groups.ts';
import { isUntracked } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { fileIdOfUpload, newObjectId, quoteId, uploadedFileId } from '../../protocol/ids.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { unixSeconds } from '../../protocol/reply.ts';
import type { UploadSlot } from '../endpoint/forms/upload-slots.ts';
import { fileResource } from './file-resource.ts';
import type { FileLimits } from './limits.ts';
import { type CompleteBody, declaredDetails, mismatchError, storedBody, type UploadBody } from './upload-bodies.ts';

/** OpenAI's time for an upload. */
const UPLOAD_MS = 60 * 60_000;
const UPLOAD = 'upload';
/** Parts that are looked up, and removed, at the same time. */
const MAX_PARALLEL = 16;
const PARTS_PAGE = 1000;
/** More than any declaration has. */
const MAX_DECLARATION_BYTES = 64 * 1024;

/** An upload that has not expired. */
interface PendingUpload extends UploadBody {
  readonly id: string;
  /** The tenant. */
  readonly scope: string;
  /** Milliseconds since the epoch, as is `expiresAt`. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** OpenAI's upload object. */
export function uploadResource(
  { id, bytes, createdAt, expiresAt, filename, fields }: PendingUpload,
  status: 'pending' | 'completed' | 'cancelled',
  file?: StoredFile,
): JsonObject {
  return {
    id,
    object: 'upload',
    bytes,
    created_at: unixSeconds(createdAt),
    expires_at: unixSeconds(expiresAt),
    filename,
    purpose: fields.purpose,
    status,
    ...(file ? { file: fileResource(file) } : {}),
  };
}

/** The uploads of all tenants. */
export class PendingUploads {
  private readonly files: FileStore;
  private readonly limits: FileLimits;

  constructor(files: FileStore, limits: FileLimits) {
    this.files = files;
    this.limits = limits;
  }

  /** Throws `file_quota_exceeded`. */
  async create(scope: string, declared: UploadBody): Promise<PendingUpload> {
    const id = newObjectId(UPLOAD);
    const createdAt = Date.now();
    const expiresAt = createdAt + UPLOAD_MS;
    const file: FileUpload = {
      scope: uploadScope(scope),
      id: String(fileIdOfUpload(UPLOAD, id)),
      createdAt,
      content: Readable.from([Buffer.from(JSON.stringify(declared))]),
      details: () => ({ filename: id, purpose: UPLOAD, expiresAt }),
      quota: this.quota,
    };
    await fromFiles(() => this.files.put(file), file);
    return { ...declared, id, scope, createdAt, expiresAt };
  }

  /** Throws `not_found` if it is missing, cancelled, expired or another tenant's. */
  async find(scope: string, id: string): Promise<PendingUpload> {
    const fileId = fileIdOfUpload(UPLOAD, id);
    if (fileId !== undefined && !isUntracked(scope)) {
      const key = { scope: uploadScope(scope), id: fileId };
      const stored = await fromFiles(() => this.files.get(key));
      const bytes = stored?.purpose === UPLOAD ? await fromFiles(() => this.files.read(key)) : undefined;
      const declared = bytes && storedBody(JSON.parse(await readText(bytes)));
      const { createdAt = 0, expiresAt = 0 } = stored ?? {};
      if (declared) return { ...declared, id, scope, createdAt, expiresAt };
    }
    throw new ApiError('not_found', `No such Upload object: ${quoteId(id)}.`, { param: 'upload_id' });
  }

  /** The file that the upload has become. */
  async findFile({ scope, id }: PendingUpload): Promise<StoredFile | undefined> {
    return fromFiles(() => this.files.get({ scope, id: uploadedFileId(id) }));
  }

  /** Stores a part as it arrives. Throws `file_quota_exceeded`. */
  async addPart(
    { scope, id: uploadId, expiresAt }: PendingUpload,
    id: string,
    content: AsyncIterable<Uint8Array>,
    slot: UploadSlot,
  ): Promise<StoredFile> {
    const { files, quota } = this;
    const parts = uploadScope(scope);
    const stored = await fromFiles(() => files.usage(parts));
    async function* counted() {
      for await (const piece of content) {
        slot.count(piece.byteLength, stored);
        yield piece;
      }
    }
    const part: FileUpload = {
      scope: parts,
      id: String(fileIdOfUpload('part', id)),
      createdAt: Date.now(),
      content: counted(),
      // By its purpose it is found again.
      details: () => ({ filename: id, purpose: uploadId, expiresAt }),
      quota,
    };
    return fromFiles(() => files.put(part), part);
  }

  /** The file of the parts, in this order. Throws `invalid_value` if they are not what was declared. */
  async complete(upload: PendingUpload, { partIds, md5 }: CompleteBody): Promise<StoredFile> {
    const { files, limits, quota } = this;
    const parts = await this.findParts(upload, partIds);
    const length = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    if (length !== upload.bytes) {
      throw mismatchError(`The parts have ${length} bytes together, and the upload has ${upload.bytes}.`, 'part_ids');
    }
    const digest = createHash('md5');
    async function* content() {
      for (const part of parts) {
        const bytes = await fromFiles(() => files.read(part));
        if (!bytes) throw mismatchError(`The upload has no part ${quoteId(part.filename)}.`, 'part_ids');
        for await (const piece of bytes) {
          digest.update(piece);
          yield piece;
        }
      }
      if (md5 !== undefined && digest.digest('hex') !== md5)
        throw mismatchError('The file has another MD5 digest.', 'md5');
    }
    const createdAt = Date.now();
    const { scope, id } = upload;
    const details = () => declaredDetails(upload, createdAt, limits);
    const whole: FileUpload = { scope, id: uploadedFileId(id), createdAt, content: content(), details, quota };
    const file = await fromFiles(() => files.put(whole), whole);
    await this.removeParts(upload);
    return file;
  }

  /** Removes the upload and its parts. */
  async remove(upload: PendingUpload): Promise<void> {
    const key = { scope: uploadScope(upload.scope), id: String(fileIdOfUpload(UPLOAD, upload.id)) };
    await fromFiles(() => this.files.delete(key));
    await this.removeParts(upload);
  }

  private async findParts(
    { scope, id: uploadId }: PendingUpload,
    ids: readonly string[],
  ): Promise<readonly StoredFile[]> {
    return mapInGroups(ids, MAX_PARALLEL, async (id) => {
      const fileId = fileIdOfUpload('part', id);
      const key = { scope: uploadScope(scope), id: fileId ?? '' };
      const part = fileId === undefined ? undefined : await fromFiles(() => this.files.get(key));
      if (part?.purpose !== uploadId) throw mismatchError(`The upload has no part ${quoteId(id)}.`, 'part_ids');
      return part;
    });
  }

  private async removeParts({ scope, id }: PendingUpload): Promise<void> {
    const parts = uploadScope(scope);
    const query = { limit: PARTS_PAGE, order: 'asc', purpose: id } as const;
    for (let hasMore = true; hasMore; ) {
      const page = await fromFiles(() => this.files.list(parts, query));
      await mapInGroups(page.files, MAX_PARALLEL, (part) => fromFiles(() => this.files.delete(part)));
      hasMore = page.hasMore && page.files.length > 0;
    }
  }

  private get quota() {
    return { files: this.limits.files, bytes: this.limits.tenantBytes };
  }
}

/** A digest, so that the files of no tenant are listed with them. */
function uploadScope(scope: string): string {
  return hash('sha256', `uploads of ${scope}`, 'base64url');
}

async function readText(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    length += piece.byteLength;
    if (length > MAX_DECLARATION_BYTES)
      throw new Error('The upload is described at a length that no client can reach.');
    pieces.push(new Uint8Array(piece));
  }
  return Buffer.concat(pieces).toString();
}
