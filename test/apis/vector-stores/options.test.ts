/** Misconfiguration of vector stores, and their API without Express. */
import OpenAI from 'openai';
import { openResponses } from '../../../src/core.ts';
import { filesApi, filesRouter, memoryFiles } from '../../../src/files.ts';
import { inProcessEngine } from '../../../src/index.ts';
import { createVectorStores, fileSearch, memoryVectors, vectorStoresRouter } from '../../../src/vector-stores.ts';
import { embeddingOf } from './embeddings-server.ts';
import { CATS, indexed } from './vectors-app.ts';

const files = memoryFiles();
const index = memoryVectors();
const embeddings = {
  name: 'words',
  embed: async (texts: readonly string[]) => texts.map((text) => Float32Array.from(embeddingOf(text))),
};

const sharedEngine = { ...withNothing('start', 'submit', 'release', 'close'), takesOver: true };

function withNothing(...methods: readonly string[]) {
  return Object.fromEntries(methods.map((method) => [method, () => {}]));
}

describe('the options of vector stores', () => {
  it.each([
    [{ index, embeddings }, 'createVectorStores: files is required, got undefined'],
    [{ files, embeddings }, 'createVectorStores: index is required, got undefined'],
    [{ files, index }, 'createVectorStores: embeddings is required, got undefined'],
    [{ files: {}, index, embeddings }, 'createVectorStores: files must be an object with put'],
    [
      { files, index, embeddings, indexing: { attempts: 0 } },
      'createVectorStores: indexing: attempts must be a positive',
    ],
    [
      { files, index, embeddings, indexing: { engine: inProcessEngine() } },
      'createVectorStores: indexing: engine must be an engine that other processes share',
    ],
    [
      { files, index, embeddings, indexing: { engine: sharedEngine, parallelFiles: 2 } },
      'createVectorStores: indexing: give either engine or parallelFiles, got both',
    ],
    [{ files, index, embeddings: { baseURL: 'http://a', model: 'm', modell: 1 } }, "unknown option 'modell'"],
    [{ files, index, embeddings, documents: {} }, 'createVectorStores: documents must be an object with read'],
    [{ files, index, embeddings, reader: {} }, "unknown option 'reader'"],
  ])('[F-31] are refused as %#', (options, message) => {
    expect(() => createVectorStores(options as never)).toThrow(message);
  });

  it('[F-31] of the router and the tool are refused as well', () => {
    expect(() => vectorStoresRouter({} as never)).toThrow('vectorStoresRouter: vectorStores is missing');
    expect(() => filesRouter({ files, vectorStores: {} } as never)).toThrow('made by createVectorStores()');
    expect(() => fileSearch({} as never)).toThrow('fileSearch: vectorStores is required');
    expect(() => fileSearch({ vectorStores: {} } as never)).toThrow(
      'vectorStores must be made by createVectorStores()',
    );
    expect(() => vectorStoresRouter({ vectorStores: {} } as never)).toThrow('made by createVectorStores()');
  });
});

describe('vectorStores.api', () => {
  it('[X-14][X-03] serves vector stores below the Web handler, with an embedder of the host’s own', async () => {
    const vectorStores = createVectorStores({ files, index, embeddings });
    const apis = [filesApi({ files }), vectorStores.api];
    const handler = openResponses({ basePath: '/v1', logger: false, apis }).fetch;
    const fetch = async (url: string | URL | Request, init?: RequestInit) =>
      handler(new Request(url, { ...init, duplex: 'half' } as RequestInit));
    const client = new OpenAI({ baseURL: 'http://app/v1', apiKey: 'alice', maxRetries: 0, fetch });
    try {
      const store = await client.vectorStores.create({});
      const { id } = await indexed(client, store.id, CATS);
      const found = await client.vectorStores.search(store.id, { query: 'cats purr' });
      expect(found.data.map(({ file_id }) => file_id)).toEqual([id]);
    } finally {
      await vectorStores.close();
      await vectorStores.close();
    }
  });
});
