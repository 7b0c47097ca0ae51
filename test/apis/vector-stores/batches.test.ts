/** Batches of files that are there already: nothing is embedded again, and nothing grows. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { gate } from '../../support/gate.ts';
import { sendAll } from './embeddings-server.ts';
import { CATS, filledStore, startVectorsApp, textFile, type VectorsApp } from './vectors-app.ts';

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

describe('a batch with a file that another one is still indexing', () => {
  /** A vector store with a file that waits for the embeddings server, which `release` lets answer. */
  async function waiting() {
    const { client, embeddings } = app;
    const held = gate();
    embeddings.answerWith((asked, res) => void held.opened.then(() => sendAll(asked, res)));
    const { id: file_id } = await client.files.create({ file: await textFile(CATS), purpose: 'assistants' });
    const { id: vector_store_id } = await client.vectorStores.create({ name: 'Papers' });
    const batches = client.vectorStores.fileBatches;
    const first = await batches.create(vector_store_id, { file_ids: [file_id] });
    const second = await batches.create(vector_store_id, { file_ids: [file_id] });
    return {
      release: held.open,
      second,
      file: { file_id, vector_store_id },
      cancelFirst: () => batches.cancel(first.id, { vector_store_id }),
      poll: () => batches.poll(vector_store_id, second.id, { pollIntervalMs: 10 }),
    };
  }
  const counts = (of: JsonObject) => ({ in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 1, ...of });

  it('[G-08] is in progress until that has ended', async () => {
    const { second, release, poll } = await waiting();
    expect([second.status, second.file_counts]).toEqual(['in_progress', counts({ in_progress: 1 })]);
    release();
    const { status, file_counts } = await poll();
    expect([status, file_counts]).toEqual(['completed', counts({ completed: 1 })]);
    expect(app.embeddings.asked).toHaveLength(1);
  });

  it('[G-08] says that it was cancelled there, and of a file that was removed nothing', async () => {
    const { cancelFirst, poll, file } = await waiting();
    await cancelFirst();
    const { status, file_counts } = await poll();
    expect([status, file_counts]).toEqual(['cancelled', counts({ cancelled: 1 })]);
    await app.client.vectorStores.files.delete(file.file_id, file);
    expect((await poll()).file_counts).toEqual(counts({ total: 0 }));
  });
});
