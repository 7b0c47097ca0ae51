/** Batches beside the APIs of models in one `openResponses`: what they share, what they can reach, and how they end. */
import express from 'express';
import OpenAI from 'openai';
import type { ApiHost } from '../../../src/apis/endpoint/api.ts';
import { batchesApi } from '../../../src/batches.ts';
import { filesApi, memoryFiles } from '../../../src/files.ts';
import {
  type Api,
  type BackgroundEngine,
  chatCompletionsUpstream,
  inProcessEngine,
  memoryStore,
  type OpenResponsesOptions,
  openResponses,
  type RestoredRequest,
  type Webhooks,
} from '../../../src/index.ts';
import { chatCompletion, type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { type Listening, listening } from '../../support/listening.ts';
import { create, ended, line, results } from './batches-app.ts';

const files = memoryFiles();
let model: FakeUpstream;
let server: Listening | undefined;
beforeEach(async () => {
  model = await startFakeUpstream();
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await model.close();
});

/** All APIs over the fake model, and OpenAI's client of one tenant. */
async function start({ apis = [batchesApi({ files })], ...options }: OpenResponsesOptions = {}) {
  const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'key', retries: 0 });
  const api = openResponses({ upstream, logger: false, ...options, apis: [filesApi({ files }), ...apis] });
  server = await listening(express().use('/v1', api.router));
  return { api, client: new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'alice', maxRetries: 0 }) };
}

/** An API that shows what all of them are given. */
function probe(): Api & { host?: ApiHost } {
  const shown: Api & { host?: ApiHost } = {
    name: 'probe',
    open(host) {
      shown.host = host;
      return { routes: [{ method: 'POST', path: '/probe', endpoint: () => Promise.reject(new Error('asked')) }] };
    },
  };
  return shown;
}

describe('batches in openResponses', () => {
  it('[E-10] need nothing twice: store, model server, secret and tools are those of all APIs', async () => {
    const store = memoryStore();
    const requests: unknown[] = [];
    const tools = (request: unknown) => {
      requests.push(request);
      return [];
    };
    const { api, client } = await start({ store, tools });
    model.reply({ body: chatCompletion('Yes.') });
    const batch = await create(client, [line('one')]);
    const over = await ended(client, batch);
    const [result] = await results(client, over.output_file_id);
    // The response of the line is its tenant's, in the one store.
    const stored = await client.responses.retrieve(result?.response.body.id);
    expect([over.status, result?.response.status_code, stored.output_text]).toEqual(['completed', 200, 'Yes.']);
    // The cast: what a line's host functions receive.
    const { via, url, headers } = requests[0] as RestoredRequest;
    expect([via, url, headers.authorization]).toEqual(['restored', '/responses', 'Bearer alice']);
    const embedding = { object: 'list', data: [{ index: 0, embedding: [1] }], model: 'fake-model' };
    model.reply({ body: Buffer.from(JSON.stringify(embedding)) });
    const vectors = await ended(client, await create(client, [line('two', {}, '/v1/embeddings')], '/v1/embeddings'));
    expect(vectors.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
    await api.close();
  });

  it('[E-11] tell of their end by the webhooks of all APIs, which are closed with them', async () => {
    const told: string[] = [];
    const webhooks: Webhooks = {
      publish: async ({ subject, type }) => void told.push(`${type} ${subject}`),
      verify: async () => '',
      deliveries: async () => [],
      watch: (engine) => engine,
      close: async () => void told.push('closed'),
    };
    const { api, client } = await start({ webhooks });
    model.reply({ body: chatCompletion('Yes.') });
    const batch = await ended(client, await create(client, [line('one')]));
    await api.close();
    expect(told).toEqual([`batch.completed ${batch.id}`, 'closed']);
  });

  it('[E-10] take the one set of places for turns, however many lines run', async () => {
    const { api, client } = await start({ limits: { turns: { concurrentTurns: 1, queuedTurns: 100 } } });
    let running = 0;
    let most = 0;
    model.reply(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return { body: chatCompletion('Yes.') };
    });
    const lines = Array.from({ length: 40 }, (_, index) => line(`${index}`));
    const over = await ended(client, await create(client, lines));
    expect([over.request_counts?.completed, most]).toEqual([40, 1]);
    await api.close();
  });

  it('[E-10] reach APIs of models only: no line begins a batch, uploads, or asks another API', async () => {
    const shown = probe();
    const { api, client } = await start({ apis: [batchesApi({ files }), shown] });
    const paths = [
      '/batches',
      '/messages/batches',
      '/files',
      '/uploads',
      '/probe',
      '/responses/:id/cancel/',
      '/models',
    ];
    expect(paths.filter((path) => shown.host?.endpointAt(path))).toEqual([]);
    const models = ['/responses', '/chat/completions', '/messages'];
    expect(models.filter((path) => shown.host?.endpointAt(path))).toEqual(models);
    const endpoint = '/v1/batches' as '/v1/responses';
    await expect(create(client, [line('one', {}, endpoint)], endpoint)).rejects.toMatchObject({
      status: 400,
      param: 'endpoint',
    });
    await api.close();
  });

  it('[E-10] end with all APIs: what runs is given back, and the engine is closed', async () => {
    const engine = inProcessEngine();
    const ends: string[] = [];
    const watched: BackgroundEngine = {
      ...{ name: engine.name, takesOver: engine.takesOver },
      start: (worker) => engine.start(worker),
      submit: (key, terms) => engine.submit(key, terms),
      async release() {
        await engine.release();
        ends.push('released');
      },
      async close() {
        await engine.close();
        ends.push('closed');
      },
    };
    const store = memoryStore();
    const { api, client } = await start({ store, apis: [batchesApi({ files, engine: watched })] });
    // The model never answers: the line runs until its batch is given back.
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    model.reply(() => {
      asked();
      return new Promise(() => {});
    });
    const { id } = await create(client, [line('one')]);
    await isAsked;
    await api.drain({ timeoutMs: 60_000 });
    expect(ends.slice(0, 2)).toEqual(['released', 'closed']);
    await server?.close();
    // The next process goes on with it.
    model.reply({ body: chatCompletion('Yes.') });
    const next = await start({ store, apis: [batchesApi({ files })] });
    expect((await ended(next.client, { id })).request_counts?.total).toBe(1);
    await next.api.close();
  });

  it('[E-10] of a server that shuts down are seen as they are, can be cancelled, and are no more begun', async () => {
    const store = memoryStore();
    const { api, client } = await start({ store });
    model.reply({ hang: true });
    const asked = model.nextRequest();
    const { id, input_file_id } = await create(client, [line('one')]);
    await asked;
    await api.drain();
    expect((await client.batches.retrieve(id)).status).toBe('in_progress');
    const another = client.batches.create({ input_file_id, endpoint: '/v1/responses', completion_window: '24h' });
    await expect(another).rejects.toMatchObject({ status: 503, code: 'server_draining' });
    expect((await client.batches.cancel(id)).status).toBe('cancelling');
    await server?.close();
    const next = await start({ store });
    const over = await ended(next.client, { id });
    expect([over.status, over.request_counts]).toEqual(['cancelled', { total: 1, completed: 0, failed: 0 }]);
    await next.api.close();
  });

  it('[E-10] that begin while the server starts to shut down are refused as such, and leave nothing', async () => {
    const store = memoryStore();
    const put: typeof store.put = async (response) => {
      await store.put(response);
      if (response.id.startsWith('batch_')) await api.drain();
    };
    const { api, client } = await start({ store: { ...store, put } });
    const begun = create(client, [line('one')]);
    await expect(begun).rejects.toMatchObject({ status: 503, code: 'server_draining' });
    expect((await client.batches.list()).data).toEqual([]);
    await api.close();
  });

  it('[E-10] refuse an engine of several processes over a store of one, and without a secret', () => {
    const engine: BackgroundEngine = Object.assign(inProcessEngine(), { name: 'shared', takesOver: true });
    const open = () => openResponses({ logger: false, apis: [batchesApi({ files, engine })] });
    expect(open).toThrow("batchesApi: engine 'shared' continues batches in other processes, so store must be one");
    expect(() => batchesApi({ files, secret: 'short' })).toThrow('batchesApi: secret must be');
    expect(() => batchesApi({ files, limits: {} } as never)).toThrow('limits');
  });
});
