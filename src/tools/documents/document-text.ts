/** Reads the text of documents, each in a process that ends with it. */
import { join } from 'node:path';
import type { TextDocument, TextReader } from '../../ports/files/text-reader.ts';
import { checkOptions, milliseconds, positiveInteger } from '../../ports/host/options-check.ts';
import { BUILD_FOLDER } from '../../ports/host/package-files.cjs';
import { JobError, JobProcesses } from '../../ports/processes/job-processes.ts';
import { limitScope } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { visibleText } from '../../protocol/printable.ts';
import { DocumentError, type DocumentJob, type DocumentResult } from './reading/document-job.ts';
import { documentKind } from './reading/document-kind.ts';
import { decodeText } from './reading/plain-text.ts';

/** What documents may use; `undefined` means the default. */
export interface DocumentTextOptions {
  /** Bytes of a document. Default: 32 MiB. */
  readonly maxBytes?: number | undefined;
  /** Bytes that a document takes unpacked. Default: 128 MiB. */
  readonly maxUnpackedBytes?: number | undefined;
  /** Characters of its text. Default: 4,000,000. */
  readonly maxCharacters?: number | undefined;
  /** Pages, sheets or slides. Default: 2,000. */
  readonly maxPages?: number | undefined;
  /** MiB of heap for each document that is being read. Default: 512. */
  readonly maxMemoryMb?: number | undefined;
  /** Milliseconds to read one. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Documents that are read at the same time; of two or more, a tenant leaves one to the others. Default: 2. */
  readonly processes?: number | undefined;
  /** Documents that wait; further ones are refused. A tenant has at most half of these places. Default: 64. */
  readonly waiting?: number | undefined;
}

const MIB = 1024 * 1024;
const WORKER = join(BUILD_FOLDER, 'cjs/tools/documents/reading/document-worker.js');
/** Texts up to this length are decoded without a process. */
const MAX_INLINE_BYTES = 256 * 1024;

/**
 * Creates the reader that the routers take as `documents`. PDF needs the package `unpdf`, and HTML and Office documents need
 * `htmlparser2`: where it is not installed, they are documents of an unknown type. Throws a `TypeError` for a wrong option.
 */
export function documentText(options: DocumentTextOptions = {}): TextReader {
  const counts = ['maxBytes', 'maxUnpackedBytes', 'maxCharacters', 'maxPages', 'maxMemoryMb', 'processes', 'waiting'];
  const checks = Object.fromEntries(counts.map((name) => [name, positiveInteger]));
  checkOptions('documentText', options, { ...checks, timeoutMs: milliseconds });
  const { maxBytes = 32 * MIB, maxUnpackedBytes = 128 * MIB, maxCharacters = 4_000_000, maxPages = 2000 } = options;
  const { maxMemoryMb = 512, timeoutMs = 30_000, processes = 2, waiting = 64 } = options;
  const limits = { maxUnpackedBytes, maxCharacters, maxPages };
  const workers = new JobProcesses(WORKER, { processes, waiting, ms: timeoutMs, megabytes: maxMemoryMb });
  return {
    name: 'document text',
    async read(document, signal) {
      const tenant = limitScope(document.scope ?? '');
      try {
        signal.throwIfAborted();
        // Checked before its bytes are in memory.
        if (workers.isBusy(tenant)) throw new JobError('busy');
        const bytes = await documentBytes(document, maxBytes, signal);
        const kind = documentKind(bytes, document);
        if (kind === 'text' && bytes.length <= MAX_INLINE_BYTES) return decodeText(bytes, maxCharacters);
        const job: DocumentJob = { bytes, kind, limits };
        const result = await workers.run<DocumentResult>(job, { tenant, signal });
        if ('text' in result) return result.text;
        throw new DocumentError(result.code, result.reason, result.missing);
      } catch (error) {
        throw toApiError(error, document.filename);
      }
    },
    close: () => workers.close(),
  };
}

async function documentBytes(
  document: TextDocument,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = new DocumentError('file_too_large', `has more than ${maxBytes} bytes`);
  if (document.bytes > maxBytes) throw tooLarge;
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of await document.content()) {
    signal.throwIfAborted();
    length += piece.length;
    if (length > maxBytes) throw tooLarge;
    pieces.push(piece);
  }
  return Buffer.concat(pieces, length);
}

const FAILURES = {
  busy: ['too_many_documents', 'cannot be read now: too many others are. Try again later'],
  closed: ['server_draining', 'cannot be read any more: the server is shutting down'],
  time: ['file_too_large', 'takes too long to read'],
  memory: ['file_too_large', 'takes too much memory to read'],
  failed: ['invalid_file', 'cannot be read: it is damaged'],
} as const;

const MAX_NAME_LENGTH = 100;
const RETRY = { headers: { 'retry-after': '5' } };

function toApiError(error: unknown, filename: string): unknown {
  const subject = `The file '${visibleText(filename.slice(0, MAX_NAME_LENGTH))}'`;
  if (error instanceof DocumentError) {
    const { code, reason, missing } = error;
    const advice = missing && `Install what reads such documents: npm install ${missing}`;
    return new ApiError(code, `${subject} ${reason}.`, { advice });
  }
  if (!(error instanceof JobError)) return error;
  const [code, reason] = FAILURES[error.failure];
  return new ApiError(code, `${subject} ${reason}.`, { cause: error, ...(error.failure === 'busy' ? RETRY : {}) });
}
