/** The data of `memoryVectors`, and both searches over it. */

import { dimensionMismatch } from '../../ports/store-error.ts';
import { matches } from '../../ports/vectors/attributes.ts';
import type {
  Chunk,
  ChunkQuery,
  FoundChunk,
  StoredVectorStore,
  VectorBatch,
  VectorFile,
} from '../../ports/vectors/vector-index.ts';
import { chunkBytes, searchedWords, wordCounts } from '../vectors/chunk-texts.ts';

/** A vector store with all that is in it. */
export interface VectorStoreEntry {
  store: StoredVectorStore;
  readonly files: Map<string, VectorFileEntry>;
  readonly batches: Map<string, VectorBatch>;
}

/** A file, its chunks and its claim. */
export interface VectorFileEntry {
  file: VectorFile;
  epoch: number;
  attempts: number;
  claimableAt: number;
  readonly chunks: ChunkEntry[];
}

/** A chunk, with what its searches need. */
interface ChunkEntry extends Chunk {
  readonly bytes: number;
  readonly length: number;
  readonly words: ReadonlyMap<string, number>;
  /** How many words the text has. */
  readonly size: number;
}

/** A chunk as it is kept. */
export function toChunkEntry({ text, embedding }: Chunk): ChunkEntry {
  const words = wordCounts(text);
  const size = [...words.values()].reduce((sum, count) => sum + count, 0);
  const own = new Float32Array(embedding);
  return { text, embedding: own, bytes: chunkBytes({ text, embedding }), length: vectorLength(own), words, size };
}

/** The dimensions of the embeddings in the vector store; undefined if there are none. */
export function storedDimensions({ files }: VectorStoreEntry): number | undefined {
  for (const { chunks } of files.values()) if (chunks[0]) return chunks[0].embedding.length;
  return undefined;
}

interface Candidate {
  readonly file: VectorFile;
  readonly place: number;
  readonly chunk: ChunkEntry;
}

/** The chunks nearest to the embedding. */
export function nearestChunks(stores: readonly VectorStoreEntry[], query: ChunkQuery, embedding: Float32Array) {
  for (const store of stores) {
    const dimensions = storedDimensions(store) ?? embedding.length;
    if (dimensions !== embedding.length) throw dimensionMismatch(embedding.length, dimensions);
  }
  const length = vectorLength(embedding);
  const scored = listCandidates(stores, query).map((each) => ({
    ...each,
    score: cosine(each.chunk, embedding, length),
  }));
  return bestChunks(scored, query.limit);
}

/** The chunks that have words of the text, by BM25 among those that the query is limited to. */
export function matchingChunks(
  stores: readonly VectorStoreEntry[],
  query: ChunkQuery,
  text: string,
): readonly FoundChunk[] {
  const candidates = listCandidates(stores, query);
  const average = candidates.reduce((sum, { chunk }) => sum + chunk.size, 0) / candidates.length;
  const words = searchedWords(text).map((word) => {
    const having = candidates.reduce((sum, { chunk }) => sum + (chunk.words.has(word) ? 1 : 0), 0);
    return { word, weight: Math.log(1 + (candidates.length - having + 0.5) / (having + 0.5)) };
  });
  const scored = candidates.map((each) => {
    const ranks = words.map(({ word, weight }) => weight * termSaturation(each.chunk, word, average));
    return { ...each, score: ranks.reduce((sum, rank) => sum + rank, 0) };
  });
  return bestChunks(
    scored.filter(({ score }) => score > 0),
    query.limit,
  );
}

function listCandidates(stores: readonly VectorStoreEntry[], { filter }: ChunkQuery): readonly Candidate[] {
  const files = stores.flatMap((store) => [...store.files.values()]);
  return files
    .filter(({ file }) => file.status === 'completed' && (!filter || matches(filter, file.attributes)))
    .flatMap(({ file, chunks }) => chunks.map((chunk, place) => ({ file, place, chunk })));
}

function termSaturation({ words, size }: ChunkEntry, word: string, average: number): number {
  const count = words.get(word) ?? 0;
  return (count * 2.2) / (count + 1.2 * (0.25 + (0.75 * size) / average));
}

/** The chunks with the best scores, best first. */
function bestChunks(scored: readonly (Candidate & { readonly score: number })[], limit: number): readonly FoundChunk[] {
  const best = scored.toSorted((one, other) => other.score - one.score).slice(0, limit);
  return best.map(({ file, place, chunk, score }) => {
    const { store, id, filename, attributes } = file;
    return { store, file: id, filename, attributes: { ...attributes }, place, text: chunk.text, score };
  });
}

function cosine(chunk: ChunkEntry, embedding: Float32Array, length: number): number {
  if (chunk.length === 0 || length === 0) return 0;
  let sum = 0;
  for (let index = 0; index < embedding.length; index += 1) {
    sum += (embedding[index] ?? 0) * (chunk.embedding[index] ?? 0);
  }
  return sum / chunk.length / length;
}

function vectorLength(vector: Float32Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return Math.sqrt(sum);
}
