/** Decodes texts. */
import { decodeUtf8 } from '../../../protocol/file-data.ts';
import { unsupportedTypeError } from './document-job.ts';
import { tooLongError } from './text-output.ts';

/** Decodes by the byte order mark, or as UTF-8. Throws `unsupported_file` for bytes that are no text, and `file_too_large`. */
export function decodeText(bytes: Uint8Array, maxCharacters: number): string {
  const [first, second] = bytes;
  let text: string | undefined;
  if (first === 0xff && second === 0xfe) text = decodeUtf16(bytes);
  // Node without full ICU decodes little endian only.
  else if (first === 0xfe && second === 0xff)
    text = decodeUtf16(bytes.length % 2 === 0 ? Buffer.from(bytes).swap16() : bytes);
  else text = decodeUtf8(bytes);
  if (text === undefined) throw unsupportedTypeError();
  if (text.length > maxCharacters) throw tooLongError(maxCharacters);
  return text;
}

/** Undefined for bytes that are not text. */
function decodeUtf16(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-16le', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
