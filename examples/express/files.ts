/** The Files API of the example, and vector stores if an embedding model is set. Both are deleted when the example stops. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RequestHandler } from 'express';
import type { ToolProvider } from 'express-open-responses';
import { diskFiles, type FileStore, filesRouter } from 'express-open-responses/files';
import {
  createVectorStores,
  fileSearch,
  memoryVectors,
  vectorStoresRouter,
} from 'express-open-responses/vector-stores';
import type { Embeddings } from './settings.ts';

/** The store of uploaded files, the routers that serve them, and the tools that search them. */
export interface OpenFiles {
  readonly files: FileStore;
  readonly routers: readonly RequestHandler[];
  readonly tools: readonly ToolProvider[];
  close(): Promise<void>;
}

/** Opens them in a temporary folder; your own app has a permanent one. */
export async function openFiles(embeddings: Embeddings | undefined): Promise<OpenFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'express-example-'));
  const files = diskFiles({ folder });
  const vectorStores = embeddings && createVectorStores({ files, index: memoryVectors(), embeddings });
  return {
    files,
    routers: [filesRouter({ files, vectorStores }), ...(vectorStores ? [vectorStoresRouter({ vectorStores })] : [])],
    tools: vectorStores ? [fileSearch({ vectorStores })] : [],
    async close() {
      await vectorStores?.close();
      await files.close?.();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
