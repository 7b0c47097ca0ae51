/** The job that a reading process receives, and its result. */

/** How a document is read, by its first bytes. */
export type DocumentKind = 'text' | 'html' | 'pdf' | 'zip' | 'ole';

/** The limits of the reading. */
export interface ReadingLimits {
  readonly maxUnpackedBytes: number;
  readonly maxCharacters: number;
  readonly maxPages: number;
}

export interface DocumentJob {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly kind: DocumentKind;
  readonly limits: ReadingLimits;
}

type DocumentFault = 'unsupported_file' | 'invalid_file' | 'file_too_large';

/** The text, or the reason why there is no text; `missing` is the package that would read it. */
export type DocumentResult =
  | { readonly text: string }
  | { readonly code: DocumentFault; readonly reason: string; readonly missing?: string | undefined };

/** Why there is no text: `reason` follows the document's name in the message. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';
  readonly code: DocumentFault;
  readonly reason: string;
  readonly missing: string | undefined;

  constructor(code: DocumentFault, reason: string, missing?: string) {
    super(`The document ${reason}.`);
    this.code = code;
    this.reason = reason;
    this.missing = missing;
  }
}

/** For a document of another type. */
export function unsupportedTypeError(missing?: string): DocumentError {
  const types = 'text in UTF-8 or UTF-16, HTML, PDF, .docx, .xlsx or .pptx';
  return new DocumentError(
    'unsupported_file',
    `is of a type whose text cannot be read here: it must be ${types}`,
    missing,
  );
}
