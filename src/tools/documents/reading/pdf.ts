/** The text of PDF. */
import { optionalPeer } from '../../../ports/host/peer.ts';
import { boundArrays } from './bounded-arrays.ts';
import { DocumentError, type ReadingLimits, unsupportedTypeError } from './document-job.ts';
import type { TextOutput } from './text-output.ts';

const PACKAGE = 'unpdf';

/** Reads page by page. */
export async function readPdf(
  bytes: Uint8Array,
  output: TextOutput,
  { maxPages, maxUnpackedBytes }: ReadingLimits,
): Promise<void> {
  const isTooLarge = boundArrays(maxUnpackedBytes);
  try {
    const library = optionalPeer<typeof import('unpdf')>(PACKAGE);
    if (!library) throw unsupportedTypeError(PACKAGE);
    const options = { verbosity: 0, useSystemFonts: false };
    const pdf = await library.getDocumentProxy(bytes, options).catch((error: unknown) => {
      // The cast: the package's errors have names.
      const isLocked = (error as { readonly name?: unknown })?.name === 'PasswordException';
      throw new DocumentError('invalid_file', isLocked ? 'is protected by a password' : 'is damaged or cut off');
    });
    if (pdf.numPages > maxPages)
      throw new DocumentError('file_too_large', `has ${pdf.numPages} pages, and at most ${maxPages} are read`);
    for (let number = 1; number <= pdf.numPages; number += 1) {
      const page = await pdf.getPage(number);
      const { items } = await page.getTextContent();
      for (const item of items) {
        if (!('str' in item)) continue;
        output.add(item.str);
        if (item.hasEOL) output.break('\n');
      }
      output.break('\n\n');
      page.cleanup();
    }
  } catch (error) {
    if (!isTooLarge()) throw error;
  }
  // The package skips parts that it cannot read, and throws nothing.
  if (isTooLarge()) throw new DocumentError('file_too_large', `takes more than ${maxUnpackedBytes} bytes unpacked`);
}
