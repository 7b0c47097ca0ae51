/** A real Express app with files, vector stores and responses on a free port, over an embeddings server of its own. */
import express, { type Request } from 'express';
import OpenAI, { toFile } from 'openai';
import { filesRouter, memoryFiles } from '../../../src/files.ts';
import { chatCompletionsUpstream, memoryStore, responsesRouter } from '../../../src/index.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import {
  createVectorStores,
  fileSearch,
  memoryVectors,
  type VectorStoresOptions,
  type VectorStoresRouterOptions,
  vectorStoresRouter,
} from '../../../src/vector-stores.ts';
import { listening } from '../../support/listening.ts';
import { embeddingsServerOf } from './embeddings-server.ts';

/** The options of the parts. */
export interface VectorsSetup {
  readonly stores?: Partial<VectorStoresOptions>;
  /** Whether the router of files informs the vector stores of what is deleted. */
  readonly informsStores?: boolean;
  readonly router?: Partial<VectorStoresRouterOptions<Request>>;
  readonly responses?: Parameters<typeof responsesRouter>[0];
}

export type VectorsApp = Awaited<ReturnType<typeof startVectorsApp>>;

/** Starts it. */
export async function startVectorsApp({
  stores = {},
  informsStores = false,
  router = {},
  responses = {},
}: VectorsSetup = {}) {
  const server = await embeddingsServerOf();
  const fake = await startFakeUpstream();
  const { files = memoryFiles() } = stores;
  const embeddings = { baseURL: server.baseURL, model: 'hash', retries: 0 };
  const vectorStores = createVectorStores({ index: memoryVectors(), embeddings, logger: false, ...stores, files });
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
  const app = express().use(
    '/v1',
    filesRouter({ files, logger: false, ...(informsStores ? { vectorStores } : {}) }),
    vectorStoresRouter({ vectorStores, logger: false, ...router }),
    responsesRouter({
      upstream,
      store: memoryStore(),
      tools: fileSearch({ vectorStores }),
      logger: false,
      ...responses,
    }),
  );
  const host = await listening(app);
  const url = `${host.url}/v1`;
  return {
    ...{ url, fake, vectorStores, files, embeddings: server },
    client: clientOf(url, 'alice'),
    other: clientOf(url, 'bob'),
    async close() {
      await vectorStores.close();
      await host.close();
      await Promise.all([upstream.close?.(), fake.close(), server.close()]);
    },
  };
}

/** OpenAI’s client with this key, whose tenant it is. */
export function clientOf(baseURL: string, apiKey: string): OpenAI {
  return new OpenAI({ baseURL, apiKey, maxRetries: 0 });
}

/** A file to upload. */
export function textFile(text: string, name = 'notes.txt') {
  return toFile(Buffer.from(text), name);
}

/** Texts of two subjects. */
export const CATS = 'Cats purr when they are content. A cat sleeps most of the day.';
export const RENT = 'The rent is due on the third of each month. Late rent costs a fee.';

/** The file in the vector store, once it is indexed or has failed. SDKs wait far longer. */
export async function indexed(client: OpenAI, vector_store_id: string, text: string, name?: string) {
  const { id: file_id } = await client.files.create({ file: await textFile(text, name), purpose: 'assistants' });
  let file = await client.vectorStores.files.create(vector_store_id, { file_id });
  while (file.status === 'in_progress') file = await client.vectorStores.files.retrieve(file_id, { vector_store_id });
  return file;
}

/** A vector store with both texts, indexed. */
export async function filledStore(client: OpenAI) {
  const store = await client.vectorStores.create({ name: 'Papers' });
  const [cats, rent] = await Promise.all([
    indexed(client, store.id, CATS, 'cats.md'),
    indexed(client, store.id, RENT, 'rent.txt'),
  ]);
  return { store, cats, rent };
}

/** What a promise was refused with. */
export async function refusalOf(work: Promise<unknown>) {
  return work.then(
    () => 'nothing',
    ({ status, code, param }) => [status, code, param],
  );
}
