/** Concurrent requests of two clients on two nodes over one Redis. */
import { createClient } from 'redis';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import { raceSuite } from './races.ts';

describeRedis('two nodes on one Redis', () => {
  raceSuite('Redis', async () => {
    const server = await startRedis();
    const connect = () =>
      createClient({ url: server.url })
        .on('error', () => {})
        .connect();
    const [one, other] = await Promise.all([connect(), connect()]);
    return {
      stores: [redisStore({ client: one }), redisStore({ client: other })],
      async close() {
        for (const client of [one, other]) client.destroy();
        await server.close();
      },
    };
  });
});
