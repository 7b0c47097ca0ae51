/** Reads plain text, for hosts that have set no reader of other documents. */
import type { TextReader } from '../../ports/files/text-reader.ts';
import { ApiError } from '../../protocol/errors.ts';
import { decodeUtf8 } from '../../protocol/file-data.ts';

const MAX_BYTES = 32 * 1024 * 1024;
/** A PDF may contain only bytes that are valid text, so its signature is checked. */
const PDF = '%PDF-';

/** Accepts UTF-8 without NUL: plain text, Markdown, CSV, JSON, HTML with its tags, source code. */
export function plainText(): TextReader {
  return {
    name: 'plain-text',
    async read(document, signal) {
      if (document.bytes > MAX_BYTES)
        throw new ApiError('file_too_large', `The file has more than ${MAX_BYTES} bytes.`);
      const pieces: Uint8Array[] = [];
      for await (const piece of await document.content()) {
        signal.throwIfAborted();
        pieces.push(piece);
      }
      const text = decodeUtf8(Buffer.concat(pieces));
      if (text !== undefined && !text.startsWith(PDF)) return text;
      throw new ApiError('unsupported_file', 'The file is not text, and this server reads no other types.');
    },
  };
}
