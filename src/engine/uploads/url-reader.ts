/** Fetches the files that one request names by their URL, within one limit. */

import type { FileFetcher } from '../../ports/files/file-fetcher.ts';
import type { Limits } from '../../ports/limits.ts';
import { limitScope } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { visibleText } from '../../protocol/printable.ts';
import { isRecord } from '../../protocol/record.ts';
import { isEventStreamType } from '../../streams/event-lines.ts';
import { requestTooLarge, type Upload } from './upload-reader.ts';

/** The most URLs that one request has fetched: each is a request to a server that the client chose. */
const MAX_URLS = 32;

/** A file as it was fetched. */
type FetchedFile = Pick<Upload, 'content'> & {
  readonly file: Pick<Upload['file'], 'filename' | 'contentType' | 'bytes'>;
};

/** The URL of the file that the part stands for; undefined if it has its content, or is of another type. */
export function readFileUrl(part: unknown): string | undefined {
  if (!isRecord(part) || part.type !== 'input_file' || part.file_data) return undefined;
  return typeof part.file_url === 'string' && part.file_url !== '' ? part.file_url : undefined;
}

/** The files at the URLs of one request. Each mention of a file counts, since each makes the model's request longer. */
export class UrlReader {
  private readonly fetcher: FileFetcher;
  private readonly signal: AbortSignal;
  private readonly tenant: string;
  private readonly limit: number;
  private readonly cache = new Map<string, Promise<FetchedFile>>();
  private bytes = 0;

  constructor(
    fetcher: FileFetcher,
    { signal, scope }: { readonly signal: AbortSignal; readonly scope: string },
    { inputFileBytes }: Limits,
  ) {
    this.fetcher = fetcher;
    this.signal = signal;
    this.tenant = limitScope(scope);
    this.limit = inputFileBytes;
  }

  /** Throws `invalid_file` for what cannot be fetched, and `request_too_large` past the limits. */
  async get(url: string, param: string): Promise<FetchedFile> {
    const cached = this.cache.get(url);
    if (cached) {
      const file = await cached;
      this.count(file.content.length, param);
      return file;
    }
    if (this.cache.size >= MAX_URLS) throw requestTooLarge(`it names more than ${MAX_URLS} files by their URLs`, param);
    const fetched = this.read(url, param);
    this.cache.set(url, fetched);
    return fetched;
  }

  private async read(url: string, param: string): Promise<FetchedFile> {
    const response = await this.fetch(url, param);
    if (!response.ok) {
      await response.body?.cancel().catch(() => {});
      throw fetchFailure(`its server answered with the status ${response.status}`, param);
    }
    const contentType = response.headers.get('content-type')?.split(';')[0]?.trim();
    if (isEventStreamType(contentType)) {
      // The egress guard lets it stay open for as long as its server likes.
      await response.body?.cancel().catch(() => {});
      throw fetchFailure('its server answered with an event stream', param);
    }
    const content = await this.readBody(response, param);
    const path = URL.canParse(url) ? new URL(url).pathname : '';
    const filename = visibleText(path.slice(path.lastIndexOf('/') + 1)) || 'file';
    return { file: { filename, contentType, bytes: content.length }, content };
  }

  private async fetch(url: string, param: string): Promise<Response> {
    try {
      return await this.fetcher.fetch(url, { signal: this.signal, tenant: this.tenant });
    } catch (cause) {
      this.signal.throwIfAborted();
      // The same for all: the reason would tell what there is in this server's network.
      throw fetchFailure('this server may not reach it, or it does not answer', param, cause);
    }
  }

  private async readBody(response: Response, param: string): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    try {
      for await (const piece of response.body ?? []) {
        this.signal.throwIfAborted();
        this.count(piece.length, param);
        pieces.push(piece);
      }
    } catch (cause) {
      this.signal.throwIfAborted();
      if (cause instanceof ApiError) throw cause;
      throw fetchFailure('its answer broke off or is too large', param, cause);
    }
    return Buffer.concat(pieces);
  }

  private count(bytes: number, param: string): void {
    this.bytes += bytes;
    if (this.bytes > this.limit)
      throw requestTooLarge(`the files at its URLs have more than ${this.limit} bytes together`, param);
  }
}

function fetchFailure(why: string, param: string, cause?: unknown): ApiError {
  return new ApiError('invalid_file', `The file at this URL cannot be fetched: ${why}.`, { param, cause });
}
