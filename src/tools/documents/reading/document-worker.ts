/** The thread that reads one document. */
import { parentPort, workerData } from 'node:worker_threads';
import { DocumentError, type DocumentJob, type DocumentResult, unsupportedTypeError } from './document-job.ts';
import { readHtml } from './html.ts';
import { readDocx, readPptx } from './office-text.ts';
import { readPdf } from './pdf.ts';
import { decodeText } from './plain-text.ts';
import { TextOutput } from './text-output.ts';
import { readXlsx } from './xlsx.ts';
import { Zip } from './zip.ts';

async function readText({ bytes, kind, limits }: DocumentJob): Promise<string> {
  const { maxCharacters, maxUnpackedBytes, maxPages } = limits;
  if (kind === 'text') return decodeText(bytes, maxCharacters);
  const output = new TextOutput(maxCharacters);
  if (kind === 'html') readHtml(decodeText(bytes, bytes.length), output);
  else if (kind === 'pdf') await readPdf(bytes, output, limits);
  else if (kind === 'zip') {
    const zip = new Zip(bytes, maxUnpackedBytes);
    if (zip.has('word/document.xml')) readDocx(zip, output);
    else if (zip.has('xl/workbook.xml')) readXlsx(zip, output, maxPages);
    else if (zip.has('ppt/presentation.xml')) readPptx(zip, output, maxPages);
    else throw unsupportedTypeError();
  } else {
    // The container of Office's older formats, in which it also wraps encrypted documents.
    const isEncrypted = Buffer.from(bytes).includes(Buffer.from('EncryptedPackage', 'utf16le'));
    throw isEncrypted ? new DocumentError('invalid_file', 'is protected by a password') : unsupportedTypeError();
  }
  return output.toString();
}

// The cast: `DocumentText` gives a job.
void readText(workerData as DocumentJob)
  .then(
    (text): DocumentResult => ({ text }),
    (error: unknown): DocumentResult => {
      if (!(error instanceof DocumentError)) return { code: 'invalid_file', reason: 'cannot be read: it is damaged' };
      const { code, reason, missing } = error;
      return { code, reason, missing };
    },
  )
  .then((result) => parentPort?.postMessage(result));
