/** What clients see of a vector store that has expired. */
import { memoryVectors } from '../../../src/vector-stores.ts';
import { filledStore, refusalOf, startVectorsApp, type VectorsApp } from './vectors-app.ts';

let app: VectorsApp;

beforeAll(async () => {
  app = await startVectorsApp({ stores: { index: memoryVectors({ now: () => Date.now() }) } });
});
afterEach(() => import.meta.jest.restoreAllMocks());
afterAll(() => app.close());

const START = Date.now();

/** It is so many days after the start. */
function setDay(days: number): void {
  import.meta.jest.spyOn(Date, 'now').mockReturnValue(START + days * 24 * 60 * 60 * 1000);
}

const EXPIRED = [400, 'invalid_value', 'vector_store_id'];

describe('an expired vector store', () => {
  it('[X-14] keeps its files, of which a new one is made, without their bytes, and takes no change', async () => {
    const { vectorStores } = app.client;
    const { store, cats } = await filledStore(app.client);
    await vectorStores.update(store.id, { expires_after: { anchor: 'last_active_at', days: 2 } });
    setDay(3);
    await app.other.vectorStores.create({ name: 'Bob' });
    expect(await vectorStores.retrieve(store.id)).toMatchObject({
      status: 'expired',
      usage_bytes: 0,
      file_counts: { completed: 2, total: 2 },
    });
    expect((await vectorStores.search(store.id, { query: 'cats' })).data).toEqual([]);
    expect([
      await refusalOf(vectorStores.update(store.id, { name: 'Again' })),
      await refusalOf(vectorStores.update(store.id, { expires_after: null })),
      await refusalOf(vectorStores.files.create(store.id, { file_id: cats.id })),
      await refusalOf(vectorStores.fileBatches.create(store.id, { file_ids: [cats.id] })),
      await refusalOf(vectorStores.files.content(cats.id, { vector_store_id: store.id })),
    ]).toEqual([EXPIRED, EXPIRED, EXPIRED, EXPIRED, EXPIRED]);
    const { data } = await vectorStores.files.list(store.id);
    const again = await vectorStores.create({ file_ids: data.map(({ id }) => id) });
    while ((await vectorStores.retrieve(again.id)).status === 'in_progress');
    expect((await vectorStores.search(again.id, { query: 'cats' })).data.length).toBeGreaterThan(0);
    await vectorStores.delete(store.id);
    expect(await refusalOf(vectorStores.update(store.id, { name: 'Gone' }))).toEqual([
      404,
      'vector_store_not_found',
      'vector_store_id',
    ]);
  });

  it('[X-14] is none while it is searched or changed in time', async () => {
    const { vectorStores } = app.client;
    const { store } = await filledStore(app.client);
    await vectorStores.update(store.id, { expires_after: { anchor: 'last_active_at', days: 2 } });
    setDay(1);
    expect((await vectorStores.search(store.id, { query: 'cats' })).data).toHaveLength(2);
    setDay(2.5);
    await vectorStores.update(store.id, { expires_after: null });
    setDay(300);
    await vectorStores.create({ name: 'Another' });
    expect(await vectorStores.retrieve(store.id)).toMatchObject({ status: 'completed', expires_at: null });
    expect((await vectorStores.search(store.id, { query: 'cats' })).data).toHaveLength(2);
  });
});
