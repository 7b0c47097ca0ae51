/** Batches in `openResponses` over a queue in Redis: two processes' worth of APIs, of which one ends while a batch runs. */
import express from 'express';
import OpenAI from 'openai';
import { createClient } from 'redis';
import { batchesApi } from '../../../src/batches.ts';
import { filesApi, memoryFiles } from '../../../src/files.ts';
import { chatCompletionsUpstream, openResponses } from '../../../src/index.ts';
import { bullmqEngine } from '../../../src/stores/queues/bullmq/bullmq-engine.ts';
import { redisStore } from '../../../src/stores/redis/redis-store.ts';
import { chatCompletion, startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { describeRedis, startRedis } from '../../support/redis-server.ts';
import { create, ended, line, results, until } from './batches-app.ts';

const SECRET = 'a secret of sixteen bytes';

describeRedis('batches in openResponses over BullMQ', () => {
  it('[E-10] are taken over when the API that runs them ends, and have each line once', async () => {
    const redis = await startRedis();
    const connection = createClient({ url: redis.url });
    await connection.connect();
    const model = await startFakeUpstream();
    model.reply(() => ({ body: chatCompletion('Yes.') }));
    const files = memoryFiles();
    const start = async () => {
      const api = openResponses({
        upstream: chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'key', retries: 0 }),
        store: redisStore({ client: connection }),
        secret: SECRET,
        logger: false,
        apis: [
          filesApi({ files }),
          batchesApi({
            files,
            engine: bullmqEngine({ connection, queueName: 'batches', lockMs: 1000 }),
            quota: { parallelLines: 4 },
          }),
        ],
      });
      const server = await listening(express().use('/v1', api.router));
      const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'alice', maxRetries: 0 });
      const end = async () => {
        await api.close();
        await server.close();
      };
      return { client, end };
    };
    const [first, second] = [await start(), await start()];
    const lines = Array.from({ length: 700 }, (_, index) => line(`${index}`));
    const batch = await create(first.client, lines);
    await until(second.client, batch.id, ({ request_counts }) => Number(request_counts?.completed) > 0);
    await first.end();
    const over = await ended(second.client, batch);
    const found = await results(second.client, over.output_file_id);
    expect([over.status, over.request_counts, new Set(found.map(({ custom_id }) => custom_id)).size]).toEqual([
      'completed',
      { total: 700, completed: 700, failed: 0 },
      700,
    ]);
    await second.end();
    connection.destroy();
    await model.close();
    await redis.close();
  });
});
