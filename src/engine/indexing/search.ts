/** Searches vector stores: by meaning and by words, and without files that are no longer there. */
import type { FileStore } from '../../ports/files/file-store.ts';
import { isStoreError } from '../../ports/store-error.ts';
import type { Embedder } from '../../ports/vectors/embedder.ts';
import { EmbeddingError } from '../../ports/vectors/embedder.ts';
import type { ChunkQuery, FoundChunk, VectorIndex } from '../../ports/vectors/vector-index.ts';
import { ApiError } from '../../protocol/errors.ts';
import { embedQueries } from './embed-texts.ts';
import { fromIndex } from './from-index.ts';
import { fuse } from './fuse.ts';
import { removeGone } from './remove-gone.ts';
import type { SearchTerms } from './search-terms.ts';

/** One search. Its queries are alternatives: the best result of any query counts. */
export interface Search {
  /** The tenant. */
  readonly scope: string;
  /** The ids of the vector stores. */
  readonly stores: readonly string[];
  /** What to look for. */
  readonly queries: readonly string[];
  /** How results are limited and ranked. */
  readonly terms: SearchTerms;
  /** The most chunks to return. */
  readonly limit: number;
}

/** What is searched, and with which model. */
interface SearchParts {
  readonly index: VectorIndex;
  readonly files: FileStore;
  readonly embedder: Embedder;
}

/** More chunks than requested are read, because chunks of deleted files are dropped. */
const CANDIDATES_PER_RESULT = 2;
const MIN_CANDIDATES = 20;
/** A query without a word, such as one of punctuation, is searched by meaning only. */
const WORD = /[\p{L}\p{N}]/u;

/** The best chunks first; scores are from 0 to 1. Throws `ApiError`, or the signal's reason. */
export async function searchChunks(
  search: Search,
  parts: SearchParts,
  signal: AbortSignal,
): Promise<readonly FoundChunk[]> {
  const { terms, limit } = search;
  const embeddings = await embedSearch(search, parts.embedder, signal);
  const lists = await Promise.all(
    search.queries.map((query, at) => searchQuery(query, embeddings[at], search, parts.index)),
  );
  const best = bestOfEachChunk(lists.flat()).filter(({ score }) => score >= terms.scoreThreshold);
  // Chunks of files that were deleted or have expired are removed, so that searches no longer find them.
  const gone = await removeGone(
    best.map(({ store, file }) => ({ scope: search.scope, store, id: file })),
    parts,
  );
  return best.filter(({ file }) => !gone.has(file)).slice(0, limit);
}

/** The embeddings of the queries; an empty list if only the search by words counts. */
async function embedSearch(
  { queries, terms }: Search,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  if (terms.weights.meaning === 0) return [];
  try {
    return await embedQueries(queries, embedder, signal);
  } catch (cause) {
    signal.throwIfAborted();
    const message = cause instanceof EmbeddingError ? cause.message : 'The query could not be embedded.';
    throw new ApiError('upstream_unavailable', message, { cause });
  }
}

async function searchQuery(
  text: string,
  embedding: Float32Array | undefined,
  { scope, stores, terms, limit }: Search,
  index: VectorIndex,
): Promise<readonly FoundChunk[]> {
  const candidates = Math.max(limit * CANDIDATES_PER_RESULT, MIN_CANDIDATES);
  const query: ChunkQuery = { scope, stores, filter: terms.filter, limit: candidates };
  const [byMeaning, byWords] = await Promise.all([
    embedding ? fromIndex(() => index.nearest(query, embedding)).catch(explainMismatch) : [],
    terms.weights.words > 0 && WORD.test(text) ? fromIndex(() => index.matching(query, text)) : undefined,
  ]);
  return fuse(byMeaning, byWords, terms.weights);
}

function explainMismatch(error: unknown): never {
  if (!isStoreError(error, 'dimension_mismatch')) throw error;
  const message = `${error.message} Another model made them: index the files again in a new vector store.`;
  throw new ApiError('invalid_value', message, { param: 'vector_store_id', cause: error });
}

/** Each chunk once, with its best score; a file that several vector stores have may be cut differently in each. */
function bestOfEachChunk(found: readonly FoundChunk[]): readonly FoundChunk[] {
  const best = new Map<string, FoundChunk>();
  for (const chunk of found) {
    const key = `${chunk.file}\0${chunk.place}\0${chunk.text}`;
    if (chunk.score > (best.get(key)?.score ?? -1)) best.set(key, chunk);
  }
  return [...best.values()].toSorted((one, other) => other.score - one.score);
}
