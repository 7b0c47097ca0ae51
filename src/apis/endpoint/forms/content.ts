/** The content of a file as an answer, whole or in part. */
import type { ByteRange } from '../../../ports/files/file-store.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { Reply } from '../../../protocol/reply.ts';

/** A file that is answered. */
interface ContentFile {
  /** The name to save it under. */
  readonly filename: string;
  /** Its length. */
  readonly bytes: number;
  /** Another one for each content. */
  readonly etag: string;
}

/**
 * The part that the request asks for; undefined for the whole file. A request for several ranges, or for one that
 * cannot be parsed, gets the whole file, as RFC 9110 requires. Throws `range_not_satisfiable`.
 */
export function requestedRange(requestHeaders: Headers, file: ContentFile): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(requestHeaders.get('range') ?? '') ?? [];
  const condition = requestHeaders.get('if-range');
  if ((first === '' && last === '') || (condition !== null && condition !== `"${file.etag}"`)) return undefined;
  const { bytes } = file;
  const start = first === '' ? Math.max(bytes - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? bytes : Math.min(Number(last) + 1, bytes);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  if (start >= end) {
    const headers = { 'content-range': `bytes */${bytes}` };
    throw new ApiError('range_not_satisfiable', `The file has ${bytes} bytes, and none in this range.`, { headers });
  }
  return { start, end };
}

/** The answer. Its headers keep browsers from showing the file as a page of the host. */
export function contentReply(file: ContentFile, range: ByteRange | undefined, bytes: AsyncIterable<Uint8Array>): Reply {
  const { start, end } = range ?? { start: 0, end: file.bytes };
  // RFC 8187: what a URL leaves plain, without the marks that have a meaning here.
  const name = encodeURIComponent(file.filename.replace(/\p{Surrogate}/gu, '\ufffd')).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16)}`,
  );
  const headers = {
    'content-type': 'application/octet-stream',
    'content-length': String(end - start),
    'content-disposition': `attachment; filename*=UTF-8''${name}`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
    'accept-ranges': 'bytes',
    etag: `"${file.etag}"`,
  };
  if (!range) return { status: 200, headers, body: '', bytes };
  return {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${start}-${end - 1}/${file.bytes}` },
    body: '',
    bytes,
  };
}
