/** OpenAI's vector stores and the tool `file_search`: the router, the index, and the model that embeds. */

export type { Api, ApiStatus } from './apis/endpoint/api.ts';
export {
  createVectorStores,
  type IndexingOptions,
  type VectorStores,
  type VectorStoresOptions,
} from './apis/vector-stores/create-vector-stores.ts';
export type { EmbeddingsOptions } from './apis/vector-stores/embeddings/embeddings-server.ts';
export { type FileSearchOptions, fileSearch } from './apis/vector-stores/file-search.ts';
export type { VectorStoreQuota } from './apis/vector-stores/limits.ts';
export type { SearchWeights } from './engine/indexing/fuse.ts';
export type { Search } from './engine/indexing/search.ts';
export type { SearchTerms } from './engine/indexing/search-terms.ts';
export type { Scope } from './hosts/express/handle.ts';
export type { HostRequest } from './hosts/express/host-request.ts';
export { type VectorStoresRouterOptions, vectorStoresRouter } from './hosts/express/vector-stores-router.ts';
export type { FileStore } from './ports/files/file-store.ts';
export type { TextDocument, TextReader } from './ports/files/text-reader.ts';
export type { Hooks } from './ports/hooks.ts';
export type { LogFields, Logger } from './ports/host/logger.ts';
export type { MaybePromise, ResponseKey } from './ports/store.ts';
export { StoreError, type StoreErrorCode } from './ports/store-error.ts';
export type {
  AttributeCombination,
  AttributeComparison,
  AttributeFilter,
  Attributes,
  Comparison,
} from './ports/vectors/attributes.ts';
export { matches } from './ports/vectors/attributes.ts';
export { type Embedder, EmbeddingError } from './ports/vectors/embedder.ts';
export type {
  Chunk,
  Chunking,
  ChunkQuery,
  FileCounts,
  FoundChunk,
  IndexingClaim,
  IndexingEnd,
  IndexingError,
  IndexingStatus,
  NewVectorFile,
  StoredVectorStore,
  VectorBatch,
  VectorFile,
  VectorFileKey,
  VectorFilesQuery,
  VectorIndex,
  VectorPage,
  VectorPageQuery,
} from './ports/vectors/vector-index.ts';
export { type MemoryVectorsOptions, memoryVectors } from './stores/memory/memory-vectors.ts';
export { type PostgresVectorsOptions, postgresVectors } from './stores/postgres/postgres-vectors.ts';
export type { PostgresClient, PostgresPool, PostgresQueries } from './stores/postgres/schema.ts';
export type { SqliteDatabase, SqliteStatement, SqliteValue } from './stores/sqlite/database.ts';
export { type SqliteVectorsOptions, sqliteVectors } from './stores/sqlite/sqlite-vectors.ts';
