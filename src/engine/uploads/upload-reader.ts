/** Reads the uploaded files that one request names, within one limit. */
import { allBytes } from '../../ports/files/content.ts';
import { type FileStore, fromFiles, type StoredFile } from '../../ports/files/file-store.ts';
import type { Limits } from '../../ports/limits.ts';
import { isUntracked } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isObjectId, quoteId } from '../../protocol/ids.ts';

/** An uploaded file with its bytes. */
export interface Upload {
  readonly file: StoredFile;
  readonly content: Buffer;
}

/** The most files that one request may look up: a history may name hundreds of thousands that do not exist. */
export const MAX_FILES = 500;

/** The tenant's files for one request. Each mention of a file counts, since each makes the model's request longer. */
export class UploadReader {
  private readonly files: FileStore;
  private readonly scope: string;
  private readonly limit: number;
  private readonly signal: AbortSignal;
  private readonly cache = new Map<string, Upload | undefined>();
  private bytes = 0;

  constructor(
    files: FileStore,
    { scope, signal }: { readonly scope: string; readonly signal: AbortSignal },
    { inputFileBytes }: Limits,
  ) {
    this.files = files;
    this.scope = scope;
    this.signal = signal;
    this.limit = inputFileBytes;
  }

  /** Undefined if the tenant has no such file. Throws `request_too_large` past the limit. */
  async find(id: string, param: string): Promise<Upload | undefined> {
    const cached = this.cache.get(id);
    if (cached) this.count(cached.file, param);
    if (cached || this.cache.has(id)) return cached;
    if (this.cache.size >= MAX_FILES) throw requestTooLarge(`it names more than ${MAX_FILES} files`, param);
    const upload = await this.read(id, param);
    this.cache.set(id, upload);
    return upload;
  }

  /** Throws `file_not_found` if the tenant has no such file, even if another tenant has it. */
  async get(id: string, param: string): Promise<Upload> {
    const upload = await this.find(id, param);
    if (upload) return upload;
    // A host that forgets `scope` at one of the two sees the upload work, and the request fail.
    const hint =
      "If its upload was answered, look whether the Files API and this API have the same option 'scope'; with openResponses they have one.";
    throw new ApiError('file_not_found', `No such File object: ${quoteId(id)}. ${hint}`, { param, status: 400 });
  }

  private async read(id: string, param: string): Promise<Upload | undefined> {
    if (!isObjectId('file', id) || isUntracked(this.scope)) return undefined;
    const key = { scope: this.scope, id };
    const file = await fromFiles(() => this.files.get(key));
    if (!file) return undefined;
    this.count(file, param);
    const bytes = await fromFiles(() => this.files.read(key));
    // Its length is counted already.
    const read = (content: AsyncIterable<Uint8Array>) =>
      allBytes(content, Number.POSITIVE_INFINITY, () => this.signal.throwIfAborted());
    return bytes && { file, content: await fromFiles(() => read(bytes)) };
  }

  private count({ id, bytes }: StoredFile, param: string): void {
    this.bytes += bytes;
    if (this.bytes > this.limit)
      throw requestTooLarge(`with '${id}', its files have more than ${this.limit} bytes together`, param);
  }
}

/** For a request whose files take too much. */
export function requestTooLarge(why: string, param: string): ApiError {
  return new ApiError('request_too_large', `The request is larger than this server takes: ${why}.`, { param });
}
