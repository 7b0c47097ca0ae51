/** Indexes one file: its text, in chunks, with their embeddings. */
import { setImmediate as breathe } from 'node:timers/promises';
import type { FileStore } from '../../ports/files/file-store.ts';
import type { TextDocument, TextReader } from '../../ports/files/text-reader.ts';
import { withTimeout } from '../../ports/host/in-time.ts';
import { isStoreError } from '../../ports/store-error.ts';
import { type Embedder, EmbeddingError } from '../../ports/vectors/embedder.ts';
import type {
  Chunking,
  IndexingClaim,
  IndexingEnd,
  IndexingError,
  VectorIndex,
} from '../../ports/vectors/vector-index.ts';
import { ApiError } from '../../protocol/errors.ts';
import { toWellFormed } from '../../protocol/printable.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { chunkRanges } from './chunk-text.ts';
import { EMBEDDED_AT_ONCE, embedDocuments } from './embed-texts.ts';

/** The stores, services and limits that indexing uses. */
export interface IndexingParts {
  readonly index: VectorIndex;
  readonly files: FileStore;
  readonly embedder: Embedder;
  readonly documents: TextReader;
  /** The most chunks of one file. */
  readonly fileChunks: number;
  /** The most bytes of the chunks of one vector store. */
  readonly storeBytes: number;
}

/** Thrown if the file can never be indexed. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
  readonly code: IndexingError['code'];

  constructor(code: IndexingError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Chunks of a file whose room is given back before other requests run. */
const DISCARDED_AT_ONCE = 64;

/** A host's own embedder or reader that never answers would occupy a place of indexing for ever, in milliseconds. */
const MAX_ANSWER_MS = 15 * 60_000;

function withinAnswerTime<Value>(pending: Promise<Value>): Promise<Value> {
  return withTimeout(pending, MAX_ANSWER_MS, () => 'There was no answer for 15 minutes.');
}

/** How many chunks of the file are stored. */
export interface IndexingProgress {
  stored: number;
}

/**
 * Stores the chunks that are not stored yet. Resolves with false once the claim is lost. Throws what `indexingFailure` reads, or
 * the signal's reason.
 */
export async function indexFile(
  claim: IndexingClaim,
  parts: IndexingParts,
  progress: IndexingProgress,
  signal: AbortSignal,
): Promise<boolean> {
  const chunks = await readChunks(claim, parts, signal);
  const { index, embedder, storeBytes } = parts;
  // Files that are indexed at the same time do not see each other's share.
  let { bytes: used } = await index.countFiles({ scope: claim.file.scope, id: claim.file.store });
  // What was embedded is stored before more is: the next process repeats no more of a killed one.
  for (let from = claim.chunks; from < chunks.length; from += EMBEDDED_AT_ONCE) {
    const texts = chunks.slice(from, from + EMBEDDED_AT_ONCE);
    const embeddings = await withinAnswerTime(embedDocuments(texts, embedder, claim.file.scope, signal));
    signal.throwIfAborted();
    // The cast: there is one for each text.
    const embedded = texts.map((text, at) => ({ text, embedding: embeddings[at] as Float32Array }));
    for (const { text, embedding } of embedded) used += Buffer.byteLength(text) + embedding.byteLength;
    if (used > storeBytes)
      throw new UnusableFile('invalid_file', `A vector store takes at most ${storeBytes} bytes on this server.`);
    if (!(await index.addChunks(claim, from, embedded))) return false;
    progress.stored = from + texts.length;
  }
  signal.throwIfAborted();
  return index.endClaim(claim, { status: 'completed' });
}

/** Gives back the room of a file's chunks, the last ones first, while other requests run. */
export async function discardChunks(claim: IndexingClaim, stored: number, index: VectorIndex): Promise<void> {
  for (let left = stored; left > 0; ) {
    left = Math.max(0, left - DISCARDED_AT_ONCE);
    if (!(await index.addChunks(claim, left, []))) return;
    await breathe();
  }
}

async function readChunks(
  { file }: IndexingClaim,
  { files, documents, fileChunks }: IndexingParts,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { scope, id, chunking } = file;
  const stored = await files.get({ scope, id });
  const deleted = () => new UnusableFile('invalid_file', 'The file was deleted.');
  if (!stored) throw deleted();
  const { filename, contentType, bytes } = stored;
  const document: TextDocument = {
    ...{ scope: stored.scope, filename, contentType, bytes },
    async content() {
      const content = await files.read(stored);
      if (!content) throw deleted();
      return content;
    },
  };
  const read = await withinAnswerTime(untilAborted(signal, () => documents.read(document, signal)));
  // Databases store neither NUL nor lone surrogates.
  const text = toWellFormed(read.includes('\0') ? read.replaceAll('\0', '') : read);
  signal.throwIfAborted();
  const chunks = await cutText(text, chunking, { maxChunks: fileChunks, signal });
  if (chunks.length === 0) throw new UnusableFile('invalid_file', 'The file has no text.');
  return chunks;
}

/** Characters that are cut before other requests run; they take some milliseconds. */
const CUT_AT_ONCE = 262_144;

/** The chunks of the text, as `chunkText` cuts it. */
async function cutText(
  text: string,
  chunking: Chunking,
  { maxChunks, signal }: { readonly maxChunks: number; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const chunks: string[] = [];
  let pause = CUT_AT_ONCE;
  for (const { start, end } of chunkRanges(text, chunking)) {
    const chunk = text.slice(start, end);
    if (chunk.trim() !== '') chunks.push(chunk);
    if (chunks.length > maxChunks)
      throw new UnusableFile('invalid_file', `The file has more than ${maxChunks} chunks, and no more are indexed.`);
    if (start < pause) continue;
    pause = start + CUT_AT_ONCE;
    await breathe();
    signal.throwIfAborted();
  }
  return chunks;
}

/** How often a file is tried if a later attempt may succeed. */
interface RetryTerms {
  readonly attempts: number;
  readonly now: number;
}

/** Errors of a reader that are the document's own fault, and the errors that the client sees. */
const DOCUMENT_FAULTS: Readonly<Record<string, IndexingError['code']>> = {
  unsupported_file: 'unsupported_file',
  invalid_file: 'invalid_file',
  file_too_large: 'invalid_file',
};

/** Whether the error is the fault of the file, and not a failure of this server. */
export function isFileFault(error: unknown): error is UnusableFile | ApiError {
  return error instanceof UnusableFile || (error instanceof ApiError && Object.hasOwn(DOCUMENT_FAULTS, error.code));
}

const FIRST_RETRY_MS = 2000;
const MAX_RETRY_MS = 5 * 60_000;

/** How the claim ends after this error. A file that may succeed later is tried again, each time after a longer pause. */
export function indexingFailure(error: unknown, claim: IndexingClaim, { attempts, now }: RetryTerms): IndexingEnd {
  if (error instanceof UnusableFile) return indexingEnd(error.code, error.message);
  if (isFileFault(error)) return indexingEnd(DOCUMENT_FAULTS[error.code] ?? 'invalid_file', error.message);
  if (isStoreError(error, 'dimension_mismatch'))
    return indexingEnd('server_error', `${error.message} Another model embeds now: use a new vector store.`);
  const isFinal = error instanceof EmbeddingError && !error.retryable;
  // Only messages of embedding errors are shown; other messages may hold secrets.
  const message = error instanceof EmbeddingError ? error.message : 'The file could not be indexed: the server failed.';
  if (isFinal || claim.attempts >= attempts) return indexingEnd('server_error', message);
  const pause = Math.min(FIRST_RETRY_MS * 2 ** (claim.attempts - 1), MAX_RETRY_MS);
  return { status: 'retry', at: now + pause };
}

function indexingEnd(code: IndexingError['code'], message: string): IndexingEnd {
  return { status: 'failed', error: { code, message } };
}
