/** Indexes one file: its text, in chunks, with their embeddings. */
import type { FileStore, StoredFile } from '../ports/files/file-store.ts';
import type { TextDocument, TextReader } from '../ports/files/text-reader.ts';
import { type Embedder, EmbeddingError } from '../ports/vectors/embedder.ts';
import {
  DimensionMismatch,
  type IndexingClaim,
  type IndexingEnd,
  type IndexingError,
  type VectorIndex,
} from '../ports/vectors/vector-index.ts';
import { ApiError } from '../protocol/errors.ts';
import { chunkText } from './chunk-text.ts';

/** The stores, services and limits that indexing uses. */
export interface IndexingParts {
  readonly index: VectorIndex;
  readonly files: FileStore;
  readonly embedder: Embedder;
  readonly documents: TextReader;
  /** The most chunks of one file. */
  readonly fileChunks: number;
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

/** Chunks are embedded and stored in groups of this size: small, because the next process repeats the last group of a killed one. */
const GROUP = 64;

/**
 * Stores the chunks that are not stored yet. Resolves with false once the claim is lost. Throws what `failureOf` reads, or
 * the signal's reason.
 */
export async function indexFile(claim: IndexingClaim, parts: IndexingParts, signal: AbortSignal): Promise<boolean> {
  const chunks = await chunksOf(claim, parts, signal);
  for (let from = claim.chunks; from < chunks.length; from += GROUP) {
    const texts = chunks.slice(from, from + GROUP);
    const embeddings = await parts.embedder.embed(texts, signal);
    signal.throwIfAborted();
    const embedded = texts.map((text, at) => ({ text, embedding: embeddingAt(embeddings, at) }));
    if (!(await parts.index.addChunks(claim, from, embedded))) return false;
  }
  signal.throwIfAborted();
  return parts.index.endClaim(claim, { status: 'completed' });
}

async function chunksOf(
  { file }: IndexingClaim,
  { files, documents, fileChunks }: IndexingParts,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { scope, id, chunking } = file;
  const stored = await files.get({ scope, id });
  if (!stored) throw deleted();
  const text = storable(await documents.read(documentOf(stored, files), signal));
  signal.throwIfAborted();
  const chunks = chunkText(text, chunking);
  if (chunks.length === 0) throw new UnusableFile('invalid_file', 'The file has no text.');
  if (chunks.length > fileChunks)
    throw new UnusableFile('invalid_file', `The file has ${chunks.length} chunks; at most ${fileChunks} are indexed.`);
  return chunks;
}

function documentOf(file: StoredFile, files: FileStore): TextDocument {
  const { filename, contentType, bytes } = file;
  return {
    ...{ filename, contentType, bytes },
    async content() {
      const found = await files.read(file);
      if (!found) throw deleted();
      return found;
    },
  };
}

function deleted(): UnusableFile {
  return new UnusableFile('invalid_file', 'The file was deleted.');
}

/** Databases store neither NUL nor lone surrogates. */
function storable(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd');
}

/** Checks the answer, because an embedder of the host's own may return anything. */
function embeddingAt(embeddings: readonly Float32Array[], at: number): Float32Array {
  const embedding = embeddings[at];
  if (embedding instanceof Float32Array && embedding.length > 0 && embedding.every(Number.isFinite)) return embedding;
  throw new EmbeddingError('The embedder did not answer with an embedding for each text.', { retryable: false });
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
const LONGEST_RETRY_MS = 5 * 60_000;

/** How the claim ends after this error. A file that may succeed later is tried again, each time after a longer pause. */
export function failureOf(error: unknown, claim: IndexingClaim, { attempts, now }: RetryTerms): IndexingEnd {
  if (error instanceof UnusableFile) return failed(error.code, error.message);
  if (isFileFault(error)) return failed(DOCUMENT_FAULTS[error.code] ?? 'invalid_file', error.message);
  if (error instanceof DimensionMismatch)
    return failed('server_error', `${error.message} Another model embeds now: use a new vector store.`);
  const isFinal = error instanceof EmbeddingError && !error.retryable;
  if (isFinal || claim.attempts >= attempts) return failed('server_error', messageOf(error));
  const pause = Math.min(FIRST_RETRY_MS * 2 ** (claim.attempts - 1), LONGEST_RETRY_MS);
  return { status: 'retry', at: now + pause };
}

/** Only messages of embedding errors are shown; other messages may hold secrets. */
function messageOf(error: unknown): string {
  return error instanceof EmbeddingError ? error.message : 'The file could not be indexed: the server failed.';
}

function failed(code: IndexingError['code'], message: string): IndexingEnd {
  return { status: 'failed', error: { code, message } };
}
