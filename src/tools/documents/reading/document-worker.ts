/** The thread that reads one document. */
import { parentPort, workerData } from 'node:worker_threads';
import {
  DocumentError,
  type DocumentJob,
  type DocumentResult,
  type ReadingLimits,
  unsupported,
} from './document-job.ts';
import { readHtml } from './html.ts';
import { readPdf } from './pdf.ts';
import { decoded } from './plain-text.ts';
import { TextOutput } from './text-output.ts';
import { readDocx, readPptx } from './written.ts';
import { readXlsx } from './xlsx.ts';
import { Zip } from './zip.ts';

async function textOf({ bytes, kind, limits }: DocumentJob): Promise<string> {
  if (kind === 'text') return decoded(bytes, limits.maxCharacters);
  const output = new TextOutput(limits.maxCharacters);
  if (kind === 'html') readHtml(decoded(bytes, bytes.length), output);
  else if (kind === 'pdf') await readPdf(bytes, output, limits);
  else if (kind === 'zip') readOffice(bytes, output, limits);
  else throw oldOffice(bytes);
  return output.toString();
}

function readOffice(bytes: Uint8Array<ArrayBuffer>, output: TextOutput, limits: ReadingLimits): void {
  const zip = new Zip(bytes, limits.maxUnpackedBytes);
  if (zip.has('word/document.xml')) readDocx(zip, output);
  else if (zip.has('xl/workbook.xml')) readXlsx(zip, output, limits.maxPages);
  else if (zip.has('ppt/presentation.xml')) readPptx(zip, output, limits.maxPages);
  else throw unsupported();
}

/** The error for the container of Office's older formats, in which it also wraps encrypted documents. */
function oldOffice(bytes: Uint8Array): DocumentError {
  const isEncrypted = Buffer.from(bytes).includes(Buffer.from('EncryptedPackage', 'utf16le'));
  return isEncrypted ? new DocumentError('invalid_file', 'is protected by a password') : unsupported();
}

function faultOf(error: unknown): DocumentResult {
  if (!(error instanceof DocumentError)) return { code: 'invalid_file', reason: 'cannot be read: it is damaged' };
  const { code, reason, missing } = error;
  return { code, reason, missing };
}

// The cast: `DocumentText` gives a job.
void textOf(workerData as DocumentJob)
  .then((text): DocumentResult => ({ text }), faultOf)
  .then((result) => parentPort?.postMessage(result));
