/** The options of the BullMQ engine, checked at creation; nothing is connected then. */
import { type BullmqEngineOptions, bullmqEngine } from '../../../src/stores/queues/bullmq/bullmq-engine.ts';

const pool = {
  options: { password: 'sesame' },
  query: async () => ({ rows: [] }),
  connect: async () => ({ release() {} }),
  end: async () => {},
};
const connection = { host: 'localhost', password: 'sesame' };

describe('bullmqEngine', () => {
  it.each([
    [{}, 'bullmqEngine: give either connection or pool, got none'],
    [{ connection, pool }, 'bullmqEngine: give either connection or pool, got both'],
    [
      { connection: 5 },
      'bullmqEngine: connection must be a client of redis or ioredis, or the options of an ioredis client, got 5',
    ],
    [
      { connection: 'redis://:sesame@localhost' },
      'bullmqEngine: connection must be a client of redis or ioredis, or the options of an ioredis client, got one that is not, which may be secret',
    ],
    [
      { connection: { duplicate() {}, slots: ['sesame'] } },
      'bullmqEngine: connection must be a client of redis or ioredis, or the options of an ioredis client, got one that is not, which may be secret',
    ],
    [
      { pool: { connectionString: 'sesame' } },
      'bullmqEngine: pool must be a pool of the package pg, got one that is not, which may be secret',
    ],
    [
      { pool, queueName: 'a:b' },
      "bullmqEngine: queueName must be 1 to 100 letters, digits, hyphens, underscores and dots, got 'a:b'",
    ],
    [{ pool, concurrency: 0 }, 'bullmqEngine: concurrency must be a positive whole number, got 0'],
    [
      { pool, lockMs: 999 },
      'bullmqEngine: lockMs must be a whole number of milliseconds from 1000 to 2147483647, got 999',
    ],
    [
      { pool, lockMs: 2 ** 31 },
      'bullmqEngine: lockMs must be a whole number of milliseconds from 1000 to 2147483647, got 2147483648',
    ],
    [{ pool, prefix: '' }, "bullmqEngine: prefix must be a text that is not empty, got ''"],
    [
      { pool, url: 'x' },
      "bullmqEngine: unknown option 'url'; known are connection, pool, queueName, concurrency, lockMs, prefix",
    ],
    [null, 'bullmqEngine: the options must be an object, got null'],
  ])('refuses %j with a TypeError that names the option, and quotes no secret', (options, message) => {
    // The cast: a host in JavaScript.
    expect(() => bullmqEngine(options as unknown as BullmqEngineOptions)).toThrow(new TypeError(message));
  });

  it('connects to nothing before it is needed', async () => {
    const engine = bullmqEngine({ connection: { host: '256.0.0.1' }, queueName: undefined, lockMs: undefined });
    expect([engine.name, engine.takesOver]).toEqual(['bullmq', true]);
    await engine.close();
    await expect(engine.submit({ scope: 's', id: 'resp_1' })).rejects.toThrow(
      'bullmqEngine: the engine is released and takes no more responses',
    );
  });
});
