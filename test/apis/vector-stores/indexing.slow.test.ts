/** How files are indexed in the background: also where the embeddings server, the file or the host fails. */
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../../../src/index.ts';
import type { StoredVectorStore } from '../../../src/ports/vectors/vector-index.ts';
import {
  createVectorStores,
  EmbeddingError,
  memoryVectors,
  type VectorStoresOptions,
} from '../../../src/vector-stores.ts';
import { embeddingOf, sendJson } from './embeddings-server.ts';
import { CATS, startVectorsApp, textFile, type VectorsApp } from './vectors-app.ts';

const apps: VectorsApp[] = [];
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

async function started(stores: Partial<VectorStoresOptions> = {}): Promise<VectorsApp> {
  const app = await startVectorsApp({ stores });
  apps.push(app);
  return app;
}

async function added({ client }: VectorsApp, text: string | Uint8Array, name = 'notes.txt') {
  const store = await client.vectorStores.create({});
  // The cast: the client takes bytes as well.
  const { id } = await client.files.create({ file: await textFile(text as string, name), purpose: 'assistants' });
  await client.vectorStores.files.create(store.id, { file_id: id });
  return { store: store.id, id };
}

/** Once it is true. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await pause(5);
}

describe('indexing', () => {
  it.each([
    [
      'a file that is no text',
      Buffer.from([0x89, 0x50, 0, 1]),
      'unsupported_file',
      'The file is not text, and this server reads no other types.',
    ],
    ['a file without text', '  \n ', 'invalid_file', 'The file has no text.'],
    [
      'a file with too many chunks',
      'word '.repeat(9000),
      'invalid_file',
      /^The file has more than 5 chunks, and no more are indexed\.$/,
    ],
  ])('[X-14] of %s fails with its reason', async (_, text, code, message) => {
    const app = await started({ indexing: { fileChunks: 5 } });
    const { store, id } = await added(app, text);
    const file = await app.client.vectorStores.files.poll(store, id);
    const matching = typeof message === 'string' ? message : expect.stringMatching(message);
    expect(file).toMatchObject({ status: 'failed', last_error: { code, message: matching } });
  });

  it('[X-14] fails with what a reader of documents says of the file', async () => {
    const refuse = async () => {
      throw new ApiError('invalid_file', 'The document is encrypted.');
    };
    const app = await started({ documents: { name: 'strict', read: refuse } });
    const { store, id } = await added(app, 'a');
    const { last_error } = await app.client.vectorStores.files.poll(store, id);
    expect(last_error).toEqual({ code: 'invalid_file', message: 'The document is encrypted.' });
  });

  it('[X-14] waits for an embeddings server that is down, and informs the host', async () => {
    const errors: string[] = [];
    const hooks = { onError: ({ code }: ApiError) => void errors.push(code) };
    const app = await started({ hooks });
    app.embeddings.answerWith((_, res) => sendJson(res, {}, 503));
    const { store, id } = await added(app, CATS);
    await until(() => errors.length > 0);
    expect(await app.client.vectorStores.files.retrieve(id, { vector_store_id: store })).toMatchObject({
      status: 'in_progress',
    });
    app.embeddings.answerWith();
    expect(await app.client.vectorStores.files.poll(store, id)).toMatchObject({ status: 'completed' });
    expect(errors).toEqual(['upstream_unavailable']);
  });

  it('[X-14] fails after so many attempts', async () => {
    const app = await started({ indexing: { attempts: 1 } });
    app.embeddings.answerWith((_, res) => sendJson(res, {}, 503));
    const { store, id } = await added(app, CATS);
    const file = await app.client.vectorStores.files.poll(store, id);
    const message = 'The embeddings server answered with the status 503.';
    expect(file).toMatchObject({ status: 'failed', last_error: { code: 'server_error', message } });
  });

  it('[X-14] fails where another model embeds than before, and so does a search', async () => {
    const app = await started();
    const { store, id } = await added(app, CATS);
    await app.client.vectorStores.files.poll(store, id);
    app.embeddings.answerWith(({ input }, res) =>
      sendJson(res, { data: input.map((text) => ({ embedding: embeddingOf(text, 8) })) }),
    );
    const other = await app.client.vectorStores.files.uploadAndPoll(store, await textFile('Other.'));
    expect(other).toMatchObject({ status: 'failed', last_error: { message: expect.stringContaining('8 dimensions') } });
    await expect(app.client.vectorStores.search(store, { query: 'cats' })).rejects.toThrow(/8 dimensions/);
  });

  it('[X-14] stops at once with a file that is deleted, and with a batch that is cancelled', async () => {
    const app = await started();
    const aborted: string[] = [];
    app.embeddings.answerWith(({ input }, res) => void res.on('close', () => aborted.push(...input)));
    const one = await added(app, 'deleted');
    await until(() => app.embeddings.asked.length === 1);
    await app.client.vectorStores.files.delete(one.id, { vector_store_id: one.store });
    await until(() => aborted.length === 1);
    const batch = await app.client.vectorStores.fileBatches.create(one.store, { file_ids: [one.id] });
    await until(() => app.embeddings.asked.length === 2);
    const cancelled = await app.client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: one.store });
    expect(cancelled).toMatchObject({ status: 'cancelled', file_counts: { cancelled: 1, in_progress: 0 } });
    await until(() => aborted.length === 2);
  });

  it('[X-14] goes on where a host that was closed had stopped', async () => {
    const index = memoryVectors();
    const app = await started({ index });
    let groups = 0;
    let third = 0;
    app.embeddings.answerWith(({ input }, res) => {
      groups += 1;
      // The third one never ends.
      if (groups === 3) third = input.length;
      if (groups < 3) sendJson(res, { data: input.map((text) => ({ embedding: embeddingOf(text) })) });
    });
    const { store, id } = await added(app, Array.from({ length: 40_000 }, (_, at) => `word${at}`).join(' '));
    await until(() => groups === 3);
    await app.vectorStores.close();
    app.embeddings.answerWith();
    const { embeddings, files } = app;
    const again = createVectorStores({
      index,
      files,
      embeddings: { baseURL: embeddings.baseURL, model: 'hash' },
      logger: false,
    });
    try {
      const done = await app.client.vectorStores.files.poll(store, id);
      const content = await app.client.vectorStores.files.content(id, { vector_store_id: store });
      const sent = embeddings.asked.flatMap(({ input }) => input);
      expect([done.status, new Set(sent).size]).toEqual(['completed', content.data.length]);
      // Only what was interrupted was embedded twice.
      expect(sent.length - content.data.length).toBe(third);
    } finally {
      await again.close();
    }
  });

  it('[X-14] indexes a file anew that is added again', async () => {
    const app = await started();
    const { store, id } = await added(app, 'word '.repeat(500));
    await app.client.vectorStores.files.poll(store, id);
    const chunking_strategy = {
      type: 'static',
      static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 },
    } as const;
    await app.client.vectorStores.files.createAndPoll(store, { file_id: id, chunking_strategy });
    const content = await app.client.vectorStores.files.content(id, { vector_store_id: store });
    expect([content.data.length > 3, (await app.client.vectorStores.retrieve(store)).file_counts.total]).toEqual([
      true,
      1,
    ]);
  });

  it('[X-14] leaves no chunks of a file that fails, nor of one that is cancelled', async () => {
    const index = memoryVectors({ maxChunks: 400 });
    const app = await started({ index });
    const long = Array.from({ length: 40_000 }, (_, at) => `word${at}`).join(' ');
    let groups = 0;
    let isRefusing = true;
    app.embeddings.answerWith(({ input }, res) => {
      groups += 1;
      if (groups < 3) return sendJson(res, { data: input.map((text) => ({ embedding: embeddingOf(text) })) });
      if (isRefusing) sendJson(res, { error: { message: 'no' } }, 400);
    });
    const { store, id } = await added(app, long);
    const failed = await app.client.vectorStores.files.poll(store, id);
    expect([failed.status, failed.usage_bytes]).toEqual(['failed', 0]);
    [groups, isRefusing] = [0, false];
    const batch = await app.client.vectorStores.fileBatches.create(store, { file_ids: [id] });
    await until(() => groups === 3);
    expect((await app.client.vectorStores.retrieve(store)).usage_bytes).toBeGreaterThan(0);
    await app.client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: store });
    expect((await app.client.vectorStores.retrieve(store)).usage_bytes).toBe(0);
    // There is room for as much as before.
    app.embeddings.answerWith();
    await app.client.vectorStores.files.createAndPoll(store, { file_id: id });
  });

  it('[X-14] fails where the vector store would take more bytes than it may', async () => {
    const app = await started({ indexing: { storeBytes: 3000 } });
    const store = await app.client.vectorStores.create({});
    const statuses = [];
    for (const text of ['one', 'two', 'three']) {
      const file = await app.client.vectorStores.files.uploadAndPoll(store.id, await textFile(text));
      statuses.push(file.last_error?.message ?? file.status);
    }
    expect(statuses).toEqual(['completed', 'completed', 'A vector store takes at most 3000 bytes on this server.']);
  });

  it('[X-14] lets other requests run while it cuts a long text', async () => {
    let turns = 0;
    let isCut = false;
    const count = () => {
      turns += 1;
      if (!isCut) setImmediate(count);
    };
    const documents = {
      name: 'long',
      read: async () => {
        setImmediate(count);
        return 'a word or two. '.repeat(2_000_000);
      },
    };
    const embed = async () => {
      isCut = true;
      throw new EmbeddingError('No.', { retryable: false });
    };
    const app = await started({ documents, embeddings: { name: 'none', embed }, indexing: { fileChunks: 100_000 } });
    const { store, id } = await added(app, 'x');
    expect(await app.client.vectorStores.files.poll(store, id)).toMatchObject({ last_error: { message: 'No.' } });
    expect(turns).toBeGreaterThan(100);
  });
});

describe('what is changed during a search', () => {
  it('[X-14] stays changed, though the search notes its time', async () => {
    const index = memoryVectors();
    const kept: StoredVectorStore[] = [];
    const putStore: typeof index.putStore = (store, mode) => {
      kept.push(store);
      return index.putStore(store, mode);
    };
    const app = await started({ index: Object.assign(Object.create(index), { putStore }) });
    const { id } = await app.client.vectorStores.create({ name: 'Old' });
    // The cast: it was made just before.
    const store = kept[0] as StoredVectorStore;
    await app.vectorStores.index.putStore({ ...store, lastActiveAt: Date.now() - 3_600_000 }, 'replace');
    app.embeddings.answerWith(async ({ input }, res) => {
      // Not another search's time: that of the change is as new as this one's.
      await app.vectorStores.index.putStore({ ...store, name: 'New', lastActiveAt: 0 }, 'replace');
      sendJson(res, { data: input.map((text) => ({ embedding: embeddingOf(text) })) });
    });
    await app.client.vectorStores.search(id, { query: 'cats' });
    const now = await app.client.vectorStores.retrieve(id);
    expect([now.name, now.last_active_at !== 0]).toEqual(['New', true]);
  });
});
