/** Batches of files that are there already: nothing is embedded again, and nothing grows. */
import { filledStore, startVectorsApp, type VectorsApp } from './vectors-app.ts';

let app: VectorsApp;

beforeEach(async () => {
  app = await startVectorsApp();
});
afterEach(() => app.close());

it('[G-08] embed a file once, however often it is added with the same chunks', async () => {
  const { store, cats } = await filledStore(app.client);
  const before = app.embeddings.asked.length;
  const batches = [];
  for (let times = 0; times < 20; times += 1)
    batches.push(await app.client.vectorStores.fileBatches.createAndPoll(store.id, { file_ids: [cats.id] }));
  await app.client.vectorStores.files.createAndPoll(store.id, { file_id: cats.id });
  const found = await app.client.vectorStores.search(store.id, { query: 'cats' });
  const [last] = batches.slice(-1);
  expect([app.embeddings.asked.length - before, last?.status, last?.file_counts, found.data.length > 0]).toEqual([
    // The query of the search.
    1,
    'completed',
    { in_progress: 0, completed: 1, failed: 0, cancelled: 0, total: 1 },
    true,
  ]);
});

it('[G-08] index a file again whose chunks are to be others, and take other attributes without that', async () => {
  const { store, cats } = await filledStore(app.client);
  const before = app.embeddings.asked.length;
  const { files } = app.client.vectorStores;
  const noted = await files.createAndPoll(store.id, { file_id: cats.id, attributes: { kind: 'pet' } });
  const after = app.embeddings.asked.length;
  const how = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 10 } } as const;
  const cut = await files.createAndPoll(store.id, { file_id: cats.id, chunking_strategy: how });
  expect([noted.attributes, after - before, cut.chunking_strategy, app.embeddings.asked.length > after]).toEqual([
    { kind: 'pet' },
    0,
    how,
    true,
  ]);
});
