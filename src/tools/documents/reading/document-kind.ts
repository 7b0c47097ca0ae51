/** Detects the type of a document: by its content, and only for texts by its name and the client's content type. */
import type { DocumentKind } from './document-job.ts';

const MAGIC: readonly (readonly [kind: DocumentKind, bytes: Buffer])[] = [
  ['pdf', Buffer.from('%PDF-')],
  ['zip', Buffer.from('504b0304', 'hex')],
  ['ole', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
];
/** Room for white space, a byte order mark and a comment before the first element. */
const HEAD = 1024;
const HTML_START = /^\ufeff?\s*<(?:!doctype html|html)[\s>]/i;
const HTML_NAME = /\.x?html?$/i;

interface DocumentNames {
  readonly filename: string;
  readonly contentType?: string | undefined;
}

/** Every other document is treated as text; decoding its bytes shows whether it is text. */
export function documentKind(bytes: Uint8Array, { filename, contentType = '' }: DocumentNames): DocumentKind {
  const head = Buffer.from(bytes.subarray(0, HEAD));
  const match = MAGIC.find(([, magic]) => head.subarray(0, magic.length).equals(magic));
  if (match) return match[0];
  if (HTML_START.test(head.toString())) return 'html';
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  return HTML_NAME.test(filename) || type === 'text/html' || type === 'application/xhtml+xml' ? 'html' : 'text';
}
