/** OpenAI's own client on vector stores, over real HTTP. */
import { CATS, filledStore, indexed, refusalOf, startVectorsApp, textFile, type VectorsApp } from './vectors-app.ts';

let app: VectorsApp;

beforeEach(async () => {
  app = await startVectorsApp();
});
afterEach(() => app.close());

const SECONDS = expect.any(Number);
const COUNTS = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 };

describe('OpenAI’s client', () => {
  it('[X-14] makes a vector store, changes it and deletes it', async () => {
    const { vectorStores } = app.client;
    const expires_after = { anchor: 'last_active_at', days: 2 } as const;
    const made = await vectorStores.create({ name: 'Papers', metadata: { team: 'a' }, expires_after });
    expect(made).toEqual({
      id: expect.stringMatching(/^vs_[0-9a-f]{32}$/),
      object: 'vector_store',
      created_at: SECONDS,
      name: 'Papers',
      usage_bytes: 0,
      file_counts: COUNTS,
      status: 'completed',
      expires_after,
      expires_at: SECONDS,
      last_active_at: SECONDS,
      metadata: { team: 'a' },
    });
    expect(Number(made.expires_at) - Number(made.last_active_at)).toBe(2 * 24 * 60 * 60);
    expect(await vectorStores.retrieve(made.id)).toEqual(made);
    const changed = await vectorStores.update(made.id, { name: 'Letters', expires_after: null });
    expect(changed).toMatchObject({ name: 'Letters', metadata: { team: 'a' }, expires_after: null, expires_at: null });
    expect(await vectorStores.delete(made.id)).toEqual({ id: made.id, object: 'vector_store.deleted', deleted: true });
    expect(await refusalOf(vectorStores.retrieve(made.id))).toEqual([404, 'vector_store_not_found', 'vector_store_id']);
  });

  it('[X-14] uploads files, waits until they are indexed, and finds what they say', async () => {
    const { store, cats, rent } = await filledStore(app.client);
    expect(cats).toEqual({
      id: expect.stringMatching(/^file-/),
      object: 'vector_store.file',
      usage_bytes: expect.any(Number),
      created_at: SECONDS,
      vector_store_id: store.id,
      status: 'completed',
      last_error: null,
      chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 } },
      attributes: {},
    });
    const found = await app.client.vectorStores.search(store.id, { query: 'when is the rent due' });
    expect(found.data[0]).toEqual({
      file_id: rent.id,
      filename: 'rent.txt',
      score: expect.any(Number),
      attributes: {},
      content: [{ type: 'text', text: expect.stringContaining('The rent is due') }],
    });
    expect(found.data.every(({ score }) => score >= 0 && score <= 1)).toBe(true);
    expect(found.data.map(({ score }) => score)).toEqual(
      found.data
        .map(({ score }) => score)
        .toSorted()
        .toReversed(),
    );
    const now = await app.client.vectorStores.retrieve(store.id);
    expect(now).toMatchObject({ status: 'completed', file_counts: { completed: 2, total: 2 } });
    expect(now.usage_bytes).toBeGreaterThan(0);
  });

  it('[X-14] searches with several queries, filters, a threshold and a limit', async () => {
    const { store, cats, rent } = await filledStore(app.client);
    await app.client.vectorStores.files.update(cats.id, {
      vector_store_id: store.id,
      attributes: { kind: 'animal', year: 2020 },
    });
    const search = async (body: Parameters<typeof app.client.vectorStores.search>[1]) =>
      (await app.client.vectorStores.search(store.id, body)).data.map(({ file_id }) => file_id);
    const both = ['cats purr', 'rent fee'];
    const animal = {
      type: 'and' as const,
      filters: [
        { type: 'eq', key: 'kind', value: 'animal' },
        { type: 'gte', key: 'year', value: 2020 },
      ],
    };
    expect((await search({ query: both })).toSorted()).toEqual([cats.id, rent.id].toSorted());
    expect(await search({ query: both, filters: animal })).toEqual([cats.id]);
    expect((await search({ query: both, max_num_results: 1 })).length).toBe(1);
    expect(await search({ query: 'cats purr', ranking_options: { ranker: 'none', score_threshold: 0.3 } })).toEqual([
      cats.id,
    ]);
    expect(await search({ query: 'zebra', ranking_options: { score_threshold: 0.9 }, rewrite_query: true })).toEqual(
      [],
    );
  });

  it('[X-14] reads the chunks of a file', async () => {
    const { store, cats } = await filledStore(app.client);
    const content = await app.client.vectorStores.files.content(cats.id, { vector_store_id: store.id });
    expect(content.data).toEqual([{ type: 'text', text: CATS }]);
  });

  it('[X-14] lists vector stores and files, newest first, over several pages', async () => {
    const { vectorStores } = app.client;
    for (const name of ['a', 'b', 'c', 'd', 'e']) await vectorStores.create({ name });
    const listed: string[] = [];
    for await (const { name } of vectorStores.list({ limit: 2 })) listed.push(name);
    expect(listed.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
    const all = (await vectorStores.list({ order: 'asc' })).data;
    const before = (await vectorStores.list({ order: 'asc', before: all[2]?.id ?? '' })).data;
    expect(before.map(({ id }) => id)).toEqual(all.slice(0, 2).map(({ id }) => id));
    const { store, cats, rent } = await filledStore(app.client);
    const files = (await vectorStores.files.list(store.id, { order: 'asc', filter: 'completed' })).data;
    expect(files.map(({ id }) => id).toSorted()).toEqual([cats.id, rent.id].toSorted());
    expect((await vectorStores.files.list(store.id, { filter: 'failed' })).data).toEqual([]);
  });

  it('[X-14] adds a batch, with settings for each file, and lists it', async () => {
    const { client } = app;
    const store = await client.vectorStores.create({});
    const uploaded = await Promise.all(
      ['one', 'two'].map(async (text) => client.files.create({ file: await textFile(text), purpose: 'assistants' })),
    );
    const chunking_strategy = {
      type: 'static',
      static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 10 },
    } as const;
    const batch = await client.vectorStores.fileBatches.createAndPoll(store.id, {
      files: uploaded.map(({ id }, at) => ({ file_id: id, attributes: { at }, chunking_strategy })),
    });
    expect(batch).toEqual({
      id: expect.stringMatching(/^vsfb_/),
      object: 'vector_store.files_batch',
      created_at: SECONDS,
      vector_store_id: store.id,
      status: 'completed',
      file_counts: { ...COUNTS, completed: 2, total: 2 },
    });
    const { data } = await client.vectorStores.fileBatches.listFiles(batch.id, {
      vector_store_id: store.id,
      order: 'asc',
    });
    expect(data.map(({ attributes, chunking_strategy: how }) => [attributes, how])).toEqual(
      expect.arrayContaining([0, 1].map((at) => [{ at }, chunking_strategy])),
    );
  });

  it('[X-14] uploads a batch, and makes a vector store of uploaded files', async () => {
    const { client } = app;
    const store = await client.vectorStores.create({});
    const files = [await textFile('one', 'a.txt'), await textFile('two', 'b.txt')];
    const batch = await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files });
    expect(batch.file_counts).toMatchObject({ completed: 2, total: 2 });
    const ids = (await client.vectorStores.files.list(store.id)).data.map(({ id }) => id);
    const made = await client.vectorStores.create({ file_ids: ids, chunking_strategy: { type: 'auto' } });
    expect(made).toMatchObject({ file_counts: { total: 2 } });
  });

  it('[X-14] removes a file from a vector store, which no longer finds it', async () => {
    const { store, rent } = await filledStore(app.client);
    const of = { vector_store_id: store.id };
    const gone = await app.client.vectorStores.files.delete(rent.id, of);
    expect(gone).toEqual({ id: rent.id, object: 'vector_store.file.deleted', deleted: true });
    const found = await app.client.vectorStores.search(store.id, { query: 'rent fee' });
    expect(found.data.map(({ filename }) => filename)).not.toContain('rent.txt');
    expect(await refusalOf(app.client.vectorStores.files.retrieve(rent.id, of))).toEqual([
      404,
      'file_not_found',
      'file_id',
    ]);
    expect((await app.client.files.retrieve(rent.id)).filename).toBe('rent.txt');
  });

  it('[X-14] finds nothing of a file that it has deleted', async () => {
    const { store, rent } = await filledStore(app.client);
    await app.client.files.delete(rent.id);
    const found = await app.client.vectorStores.search(store.id, { query: 'rent fee' });
    expect(found.data.map(({ filename }) => filename)).not.toContain('rent.txt');
    expect((await app.client.vectorStores.retrieve(store.id)).file_counts.total).toBe(1);
  });

  it('[X-14] sees a file that it has deleted in no list, and reads none of its texts', async () => {
    const { store, cats, rent } = await filledStore(app.client);
    const of = { vector_store_id: store.id };
    await app.client.files.delete(rent.id);
    const { files } = app.client.vectorStores;
    expect(await refusalOf(files.content(rent.id, of))).toEqual([404, 'file_not_found', 'file_id']);
    expect(await refusalOf(files.retrieve(rent.id, of))).toEqual([404, 'file_not_found', 'file_id']);
    await app.client.files.delete(cats.id);
    expect((await files.list(store.id)).data).toEqual([]);
    const now = await app.client.vectorStores.retrieve(store.id);
    expect([now.file_counts.total, now.usage_bytes]).toEqual([0, 0]);
  });

  it('[X-14] lists the files that follow a page of deleted ones', async () => {
    const { store, cats, rent } = await filledStore(app.client);
    const { id: last } = await indexed(app.client, store.id, 'The last one.');
    for (const { id } of [cats, rent]) await app.client.files.delete(id);
    const listed: string[] = [];
    for await (const { id } of app.client.vectorStores.files.list(store.id, { order: 'asc', limit: 1 }))
      listed.push(id);
    expect(listed).toEqual([last]);
  });
});

describe('vector stores that the router of files knows', () => {
  it('[X-14] give back the room of a file as soon as it is deleted, in each of the tenant’s', async () => {
    await app.close();
    app = await startVectorsApp({ informsStores: true });
    const { store, cats } = await filledStore(app.client);
    const second = await app.client.vectorStores.create({ file_ids: [cats.id] });
    await app.client.vectorStores.files.poll(second.id, cats.id);
    await app.client.files.delete(cats.id);
    const counts = await Promise.all(
      [store.id, second.id].map(async (id) => (await app.client.vectorStores.retrieve(id)).file_counts.total),
    );
    expect(counts).toEqual([1, 0]);
  });
});
