/** Makes the vector stores of a host out of a store of files, an index and a model that embeds. */

import { openVectorStores, type VectorStores as SearchedStores } from '../../engine/indexing/vector-stores.ts';
import type { BackgroundEngine } from '../../ports/background/background-engine.ts';
import type { FileStore } from '../../ports/files/file-store.ts';
import type { TextReader } from '../../ports/files/text-reader.ts';
import { type Hooks, notify } from '../../ports/hooks.ts';
import { logError } from '../../ports/host/error-warning.ts';
import { hostLog, isLogger, type Logger } from '../../ports/host/logger.ts';
import {
  areHooks,
  checkOptions,
  isObject,
  milliseconds,
  type OptionCheck,
  positiveInteger,
  withMethods,
} from '../../ports/host/options-check.ts';
import { type Embedder, EmbeddingError } from '../../ports/vectors/embedder.ts';
import type { VectorIndex } from '../../ports/vectors/vector-index.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord } from '../../protocol/record.ts';
import type { Api } from '../endpoint/api.ts';
import { type EmbeddingsOptions, embeddingsServer, isEmbedder } from './embeddings/embeddings-server.ts';
import { type VectorStoreQuota, vectorStoreLimits } from './limits.ts';
import { plainText } from './plain-text.ts';
import { vectorStoresApi } from './vector-stores-api.ts';

/** How files are indexed; `undefined` means omitted. */
export interface IndexingOptions {
  /**
   * Decides which process indexes, such as `bullmqEngine` with a `queueName` of its own; its `concurrency` is the number of files at
   * the same time. Closed with the vector stores. Default: each process that has made vector stores indexes.
   */
  readonly engine?: BackgroundEngine | undefined;
  /** Files at the same time, in this process; not together with `engine`. Default: 4. */
  readonly parallelFiles?: number | undefined;
  /** How often indexing a file is tried before it fails; the pauses between grow up to five minutes. Default: 12. */
  readonly attempts?: number | undefined;
  /** The most chunks of one file; a file with more fails. Default: 10,000. */
  readonly fileChunks?: number | undefined;
  /** The most bytes of one vector store's chunks, texts and embeddings together; files beyond it fail. Default: 4 GiB. */
  readonly storeBytes?: number | undefined;
  /** The pause between two looks for files that other processes have added, in milliseconds. Default: 15,000. */
  readonly pollMs?: number | undefined;
  /** How long the files of a killed process wait before another process indexes them, in milliseconds. Default: 60,000. */
  readonly claimMs?: number | undefined;
}

/** Made by `createVectorStores`; the same object serves the API and the tool. */
export interface VectorStores extends SearchedStores {
  /**
   * `/vector_stores` with their files, batches and search, for the option `apis` of `openResponses`, which closes the vector
   * stores when it is closed.
   */
  readonly api: Api;
}

/** What vector stores are made of; `undefined` means omitted. */
export interface VectorStoresOptions {
  /** Where uploaded files are: the same store as that of `filesRouter`. */
  readonly files: FileStore;
  /** Where vector stores are: `memoryVectors`, `sqliteVectors`, `postgresVectors`, or one of your own. */
  readonly index: VectorIndex;
  /** A server with OpenAI's `/embeddings`, or an embedder of your own. */
  readonly embeddings: EmbeddingsOptions | Embedder;
  /** Reads documents that are not plain text, such as `documentText()`. Default: only files of UTF-8 text are indexed. */
  readonly documents?: TextReader | undefined;
  /** What a tenant may keep, and ask at once. Default: those of `VectorStoreQuota`. */
  readonly quota?: VectorStoreQuota | undefined;
  /** How files are indexed. Default: those of `IndexingOptions`. */
  readonly indexing?: IndexingOptions | undefined;
  /** Receives failures of indexing in `onError`, whose `requestId` is `indexing`. Default: none. */
  readonly hooks?: Pick<Hooks, 'onError'> | undefined;
  /** Receives the lines for the host's log. Default: failures are process warnings. */
  readonly logger?: Logger | false | undefined;
}

const CHECKS: Readonly<Record<keyof VectorStoresOptions, OptionCheck>> = {
  files: withMethods('put', 'get', 'read', 'list', 'delete', 'usage'),
  index: withMethods('putStore', 'getStore', 'addFiles', 'claim', 'addChunks', 'endClaim', 'nearest', 'matching'),
  embeddings: (value) => isRecord(value) || 'the options of a server, or an embedder',
  documents: withMethods('read'),
  quota: isObject,
  indexing: isObject,
  hooks: areHooks,
  logger: isLogger,
};

const INDEXING: Readonly<Record<keyof IndexingOptions, OptionCheck>> = {
  engine: (value) =>
    (withMethods('start', 'submit', 'release', 'close')(value) === true && Object(value).takesOver === true) ||
    'an engine that other processes share, such as bullmqEngine()',
  parallelFiles: positiveInteger,
  attempts: positiveInteger,
  fileChunks: positiveInteger,
  storeBytes: positiveInteger,
  pollMs: milliseconds,
  claimMs: milliseconds,
};

/**
 * The vector stores for `openResponses`, by their `api`, for `vectorStoresRouter` and for `fileSearch`. Files are indexed in this process, including those that a killed
 * process left; close the object before the process ends. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { diskFiles } from 'express-open-responses/files';
 * import { createVectorStores, memoryVectors } from 'express-open-responses/vector-stores';
 *
 * const vectorStores = createVectorStores({
 *   files: diskFiles({ folder: '/var/lib/my-app/files' }),
 *   index: memoryVectors(),
 *   embeddings: { baseURL: 'http://localhost:8080/v1', model: 'bge-m3' },
 * });
 * ```
 */
export function createVectorStores(options: VectorStoresOptions): VectorStores {
  const owner = 'createVectorStores';
  checkOptions(owner, options, CHECKS);
  for (const name of ['files', 'index', 'embeddings'] as const)
    if (options[name] === undefined) throw new TypeError(`${owner}: ${name} is required, got undefined`);
  const { files, index, embeddings, documents = plainText(), indexing = {} } = options;
  checkOptions(`${owner}: indexing`, indexing, INDEXING);
  const embedder = isEmbedder(embeddings) ? embeddings : embeddingsServer(`${owner}: embeddings`, embeddings);
  if (indexing.engine && indexing.parallelFiles !== undefined)
    throw new TypeError(`${owner}: indexing: give either engine or parallelFiles, got both`);
  const { engine, parallelFiles = 4, attempts = 12, fileChunks = 10_000, storeBytes = 4 * GIB } = indexing;
  const { pollMs = 15_000, claimMs = 60_000 } = indexing;
  const settings = { engine, parallelFiles, attempts, fileChunks, storeBytes, pollMs, claimMs };
  const limits = vectorStoreLimits(owner, options.quota);
  const report = indexingReporter(options);
  const vectorStores = openVectorStores({ files, index, embedder, documents, ...settings, report });
  return { ...vectorStores, api: vectorStoresApi(vectorStores, limits) };
}

const GIB = 2 ** 30;

/** There is no request whose client would see the error. */
const ABOUT = { requestId: 'indexing' };

function indexingReporter({ hooks = {}, logger }: VectorStoresOptions): (error: unknown) => void {
  return (error) => {
    const shown = toIndexingError(error);
    if (logger) logError(hostLog(logger), shown, ABOUT);
    // Without a hook, `notify` makes it a process warning.
    if (hooks.onError || logger === undefined) notify(hooks, 'onError', shown, ABOUT);
  };
}

function toIndexingError(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  if (cause instanceof EmbeddingError) return new ApiError('upstream_unavailable', cause.message, { cause });
  return new ApiError('store_error', 'A file could not be indexed.', { cause });
}
