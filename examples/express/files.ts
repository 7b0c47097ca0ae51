/** The Files API of the example, and vector stores if an embedding model is set. Both are deleted when the example stops. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Api, ToolProvider } from 'express-open-responses';
import { diskFiles, type FileStore, filesApi } from 'express-open-responses/files';
import { createVectorStores, fileSearch, memoryVectors } from 'express-open-responses/vector-stores';
import type { Embeddings } from './settings.ts';

/** The APIs of uploaded files and vector stores, and the tools that search them. */
export interface OpenFiles {
  readonly apis: readonly Api[];
  readonly tools: readonly ToolProvider[];
  readonly files: FileStore;
  /** Deletes the files. */
  remove(): Promise<void>;
}

/** Opens them in a temporary folder; your own app has a permanent one. */
export async function openFiles(embeddings: Embeddings | undefined): Promise<OpenFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'express-example-'));
  const files = diskFiles({ folder });
  const vectorStores = embeddings && createVectorStores({ files, index: memoryVectors(), embeddings });
  return {
    apis: [filesApi({ files }), ...(vectorStores ? [vectorStores.api] : [])],
    files,
    tools: vectorStores ? [fileSearch({ vectorStores })] : [],
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
