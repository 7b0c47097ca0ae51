/** Budgets over limiters whose counts are in Redis and PostgreSQL, shared by processes, and what happens when those are gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { RateLimiterPostgres, RateLimiterRedis } from 'rate-limiter-flexible';
import { type PointLimiter, type TokenBudget, tokenBudget } from '../../../src/policies/budgets/index.ts';
import { NO_USAGE } from '../../../src/protocol/events.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { describePostgres, startPostgres } from '../../support/postgres-server.ts';
import { describeRedis, startRedis } from '../../support/redis-server.ts';
import type { Service } from '../../support/services.ts';
import { openPerSuite } from '../../support/suite-resources.ts';

/** How long the database hangs, in milliseconds. */
const HUNG_MS = 500;

/** Makes a limiter of a connection of its own, as another process would. */
type MakeLimiter = (name: string, points: number) => Promise<PointLimiter>;

const usage = { ...NO_USAGE, input_tokens: 40, output_tokens: 20, total_tokens: 60 };
const admitted = (budget: TokenBudget, tenant: string) =>
  budget.admit(tenant).then(
    () => 'admitted',
    ({ code }) => code,
  );

/** What holds for every database. */
function cases(limiter: MakeLimiter, hang: () => Promise<unknown>): void {
  it('[C-28] 200 requests at once to two processes pass no more than the limit', async () => {
    // A limiter that is late lets requests pass: on a busy machine 200 questions at once take longer than a second.
    const limiterTimeoutMs = PATIENCE_MS;
    const budgetOfAProcess = async () =>
      tokenBudget({ limits: { requests: await limiter('requests', 50) }, limiterTimeoutMs });
    // One after the other: each creates the table unless it is there.
    const budgets = [await budgetOfAProcess(), await budgetOfAProcess()];
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, index) => admitted(budgets[index % 2] as TokenBudget, 'a')),
    );
    const passed = outcomes.filter((outcome) => outcome === 'admitted').length;
    expect([passed, new Set(outcomes), await admitted(budgets[0] as TokenBudget, 'b')]).toEqual([
      50,
      new Set(['admitted', 'rate_limit_exceeded']),
      'admitted',
    ]);
  });

  it('[C-28] tokens and cost that one process has charged count in the other', async () => {
    const budgetOfAProcess = async () =>
      tokenBudget({
        limits: { tokens: await limiter('tokens', 100), cost: await limiter('cost', 5_000_000) },
        cost: () => 0.000_1,
      });
    const one = await budgetOfAProcess();
    const other = await budgetOfAProcess();
    const outcomes: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      outcomes.push(await admitted(other, 'a'));
      one.resume('a').count({ model: 'm', usage });
      // The charge goes out before the question that follows on the same connection.
      await one.admit('unrelated');
    }
    const { headers } = await other.admit('b');
    expect(outcomes).toEqual(['admitted', 'admitted', 'rate_limit_exceeded']);
    expect(headers).toMatchObject({ 'x-ratelimit-limit-tokens': '100', 'x-ratelimit-remaining-tokens': '100' });
  });

  it('[C-28] tenants with any name have a budget', async () => {
    const budget = tokenBudget({ limits: { requests: await limiter('odd', 1) }, onLimiterError: 'refuse' });
    const tenants = ['a b', 'a\0b', 'ä', 'x'.repeat(5000), ''];
    const outcomes = [];
    for (const tenant of tenants) outcomes.push(await admitted(budget, tenant), await admitted(budget, tenant));
    expect(outcomes).toEqual(tenants.flatMap(() => ['admitted', 'rate_limit_exceeded']));
  });

  it('[C-28] a database that hangs holds no request up', async () => {
    const passing = tokenBudget({ limits: { tokens: await limiter('hung', 5) }, limiterTimeoutMs: 50 });
    const refusing = tokenBudget({
      limits: { tokens: await limiter('hung', 5) },
      limiterTimeoutMs: 50,
      onLimiterError: 'refuse',
    });
    const before = await Promise.all([admitted(passing, 'a'), admitted(refusing, 'a')]);
    const hung = hang();
    const during = await Promise.all([admitted(passing, 'a'), admitted(refusing, 'a')]);
    await hung;
    expect([before, during]).toEqual([
      ['admitted', 'admitted'],
      ['admitted', 'budget_unavailable'],
    ]);
  });
}

describeRedis('over Redis', () => {
  let service: Service;
  const clients: Redis[] = [];

  openPerSuite(async (closeLater) => {
    service = await startRedis();
    closeLater(service.close);
    closeLater(() => {
      for (const client of clients) client.disconnect();
    });
  });

  cases(
    async (keyPrefix, points) => {
      const storeClient = new Redis(service.url);
      storeClient.on('error', () => {});
      clients.push(storeClient);
      return new RateLimiterRedis({ storeClient, keyPrefix, points, duration: 60 });
    },
    async () => {
      service.pause();
      await sleep(HUNG_MS);
      service.resume();
    },
  );
});

describePostgres('over PostgreSQL', () => {
  let service: Service;
  const pools: pg.Pool[] = [];

  openPerSuite(async (closeLater) => {
    service = await startPostgres();
    closeLater(service.close);
    closeLater(() => Promise.all(pools.map((pool) => pool.end())));
  });

  cases(
    async (keyPrefix, points) => {
      const storeClient = new pg.Pool({ connectionString: service.url, max: 1 });
      storeClient.on('error', () => {});
      pools.push(storeClient);
      return new Promise((resolve, reject) => {
        const options = { storeClient, keyPrefix, points, duration: 60, tableName: `limits_${keyPrefix}` };
        const limiter: RateLimiterPostgres = new RateLimiterPostgres(options, (error) =>
          error ? reject(error) : resolve(limiter),
        );
      });
    },
    // Each limiter has a single connection.
    () => Promise.all(pools.map((pool) => pool.query('SELECT pg_sleep($1)', [HUNG_MS / 1000]))),
  );
});
