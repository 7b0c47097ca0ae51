/** Laws of conversations, in every store: whatever turns, kills and wake-ups come between, each item is there once. */

import fc from 'fast-check';
import type { Pool } from 'pg';
import { createClient } from 'redis';
import type { ConversationStore, ResponseKey } from '../../src/ports/store.ts';
import type { Item } from '../../src/protocol/items.ts';
import { memoryStore } from '../../src/stores/memory/memory-store.ts';
import { postgresStore } from '../../src/stores/postgres/postgres-store.ts';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { law, same } from '../support/law.ts';
import { describePostgres, postgresPerSuite } from '../support/postgres-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import { openPerSuite } from '../support/suite-resources.ts';
import { sqliteDrivers } from './sqlite-drivers.ts';

/** What happens next: a process takes a turn over, ends it (or wakes up and tries), or a client changes something. */
const step = fc.oneof(
  fc.record({ kind: fc.constantFrom('claim', 'end'), turn: fc.nat(1), process: fc.nat(2) }),
  fc.record({ kind: fc.constantFrom('post', 'remove'), turn: fc.nat(1), process: fc.nat(3) }),
  fc.record({ kind: fc.constant('walk' as const), turn: fc.nat(0), process: fc.nat(1) }),
);

type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;

const ORDERS = ['asc', 'desc'] as const;

/** A conversation, the processes that run its turns, and two clients that page through it. */
class World {
  private readonly conversations: ConversationStore;
  private readonly key: ResponseKey;
  /** The newest epoch of each turn, and the one that each process knows. */
  private readonly newest: number[] = [];
  private readonly known: number[][] = [[], []];
  private readonly cursors: (string | undefined)[] = [];

  constructor(conversations: ConversationStore, key: ResponseKey) {
    this.conversations = conversations;
    this.key = key;
  }

  async take({ kind, turn, process }: Step): Promise<void> {
    const { conversations, key } = this;
    if (kind === 'claim') await this.claim(turn, process);
    if (kind === 'end') await this.end(turn, process);
    if (kind === 'post') await conversations.append(key, [itemOf(`shared-${process}`, 0)], { onKnown: 'refuse' });
    if (kind === 'remove') await conversations.removeItem(key, `turn-${turn}-${process}`);
    if (kind === 'walk') await this.walk(process);
    await this.check();
  }

  private async claim(turn: number, process: number): Promise<void> {
    const epoch = (this.newest[turn] ?? 0) + 1;
    this.newest[turn] = epoch;
    (this.known[turn] ?? [])[process] = epoch;
    await this.conversations.append(this.key, [], { turn: { id: `resp_${turn}`, epoch } });
  }

  private async end(turn: number, process: number): Promise<void> {
    const epoch = this.known[turn]?.[process];
    if (epoch === undefined) return;
    // Each attempt at a turn may differ in length; its input has ids of the client's.
    const own = Array.from({ length: 1 + (epoch % 3) }, (_, place) => itemOf(`turn-${turn}-${place}`, epoch));
    const items = [itemOf(`shared-${turn}`, 0), ...own];
    const answer = await this.conversations.append(this.key, items, { turn: { id: `resp_${turn}`, epoch } });
    same(answer, epoch === this.newest[turn] ? true : 'overruled', 'only the last process ends a turn');
  }

  /** A client reads one page; what it reads is behind what it has read. */
  private async walk(client: number): Promise<void> {
    const order = ORDERS[client] ?? 'asc';
    const all = (await this.conversations.items(this.key)).map(({ id }) => id);
    const ordered = order === 'asc' ? all : all.toReversed();
    const after = this.cursors[client];
    const page = await this.conversations.page?.(this.key, { limit: 2, order, after });
    const from = after === undefined ? 0 : ordered.indexOf(after) + 1;
    const expected = after !== undefined && from === 0 ? [] : ordered.slice(from, from + 2);
    same(
      Array.from(page?.items ?? [], ({ id }) => id),
      expected,
      'a page moves on',
    );
    this.cursors[client] = expected.length === 0 ? undefined : String(expected.at(-1));
  }

  private async check(): Promise<void> {
    const items = await this.conversations.items(this.key);
    const ids = items.map(({ id }) => id);
    same(ids.length, new Set(ids).size, 'each item is there once');
    for (const [turn, epoch] of this.newest.entries()) {
      const own = items.filter(({ id }) => String(id).startsWith(`turn-${turn}-`));
      law(
        own.every((item) => item.epoch === epoch),
        'nothing of an earlier process is left',
        items,
      );
      same(
        own.map(({ id }) => id),
        own.map(({ id }) => id).toSorted(),
        'the items of a turn are in its order',
      );
    }
    const wanted = [...ids.map(String), 'none'];
    const found = (await this.conversations.find?.(this.key, wanted)) ?? [];
    same(Array.from(found, ({ id }) => id).toSorted(), ids.toSorted(), 'each item is found by its id');
  }
}

function itemOf(id: string, epoch: number): Item {
  return { type: 'message', id, epoch };
}

function holds(conversationsOf: () => ConversationStore, numRuns: number): void {
  let scopes = 0;
  it('[G-10] has each item once, in the order of its turn, whatever comes between, and pages move on', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        scopes += 1;
        const made = { scope: `law ${scopes}`, id: 'conv_1', createdAt: 0, metadata: {} };
        const conversations = conversationsOf();
        await conversations.put(made);
        const world = new World(conversations, made);
        for (const each of steps) await world.take(each);
      }),
      { numRuns },
    );
  });
}

describe('memory', () => holds(() => memoryStore().conversations, 300));

describe('SQLite', () => {
  const [driver] = sqliteDrivers;
  const database = driver?.open?.(':memory:');
  afterAll(() => database?.close());
  holds(() => {
    if (!database) throw new Error('No SQLite.');
    // The cast: this store has them.
    return sqliteStore({ database }).conversations as ConversationStore;
  }, 100);
});

function connect(url: string) {
  return createClient({ url })
    .on('error', () => {})
    .connect();
}

describeRedis('Redis', () => {
  let client: Awaited<ReturnType<typeof connect>>;
  openPerSuite(async (closeLater) => {
    const server = await startRedis();
    closeLater(server.close);
    client = await connect(server.url);
    closeLater(() => client.destroy());
  });
  holds(() => redisStore({ client }).conversations, 100);
});

describePostgres('PostgreSQL', () => {
  let pool: Pool;
  postgresPerSuite((_, connected) => {
    pool = connected;
  });
  holds(() => postgresStore({ pool }).conversations, 60);
});
