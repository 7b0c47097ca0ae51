/** Decodes texts. */
import { textOfBytes } from '../../../protocol/file-data.ts';
import { unsupported } from './document-job.ts';
import { tooLong } from './text-output.ts';

/** Decodes by the byte order mark, or as UTF-8. Throws `unsupported_file` for bytes that are no text, and `file_too_large`. */
export function decoded(bytes: Uint8Array, most: number): string {
  const text = anyLength(bytes);
  if (text.length > most) throw tooLong(most);
  return text;
}

function anyLength(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return utf16(bytes);
  if (first === 0xfe && second === 0xff) return utf16(swapped(bytes));
  const text = textOfBytes(bytes);
  if (text === undefined) throw unsupported();
  return text;
}

function utf16(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder('utf-16le', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {}
  throw unsupported();
}

/** Swaps the bytes of UTF-16 in big endian: Node without full ICU decodes little endian only. */
function swapped(bytes: Uint8Array): Uint8Array {
  return bytes.length % 2 === 0 ? Buffer.from(bytes).swap16() : bytes;
}
