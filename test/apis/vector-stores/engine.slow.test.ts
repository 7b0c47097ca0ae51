/** Indexing on an engine: processes that share its queue share the work, and one continues what another has given up. */
import { setTimeout as pause } from 'node:timers/promises';
import { memoryFiles } from '../../../src/files.ts';
import { bullmqEngine } from '../../../src/stores/queues/bullmq/bullmq-engine.ts';
import { createVectorStores, memoryVectors, type VectorStores } from '../../../src/vector-stores.ts';
import { engineDatabases } from '../../stores/queues/engine-databases.ts';
import { type HostConnection, hosts } from '../../stores/queues/engine-hosts.ts';
import type { Service } from '../../support/services.ts';
import { embeddingOf } from './embeddings-server.ts';

const STORE = { scope: 'alice', id: 'vs_1' };
const files = memoryFiles();

/** A host that embeds slowly: its vector stores, and the files that it has embedded, by their only text. */
interface Node {
  readonly vectorStores: VectorStores;
  readonly embedded: string[];
  /** Those that it has begun to embed. */
  readonly asked: string[];
}

async function upload(id: string): Promise<void> {
  async function* content() {
    yield Buffer.from(id);
  }
  const details = () => ({ filename: `${id}.txt`, purpose: 'assistants' });
  await files.put({ scope: STORE.scope, id, createdAt: 0, content: content(), details });
}

describe.each(engineDatabases)('indexing over $name', ({ name, describe: describeDatabase, start }) => {
  describeDatabase('a queue', () => {
    let server: Service;
    let host: HostConnection;
    let index: ReturnType<typeof memoryVectors>;
    let nodes: Node[];
    let pauseMs: number;
    let queues = 0;

    beforeAll(async () => {
      server = await start();
      host = await hosts[name](server.url);
    });
    afterAll(async () => {
      await host?.end();
      await server?.close();
    });
    beforeEach(async () => {
      index = memoryVectors();
      nodes = [];
      pauseMs = 30;
      queues += 1;
      const about = { name: '', metadata: {}, createdAt: 0, lastActiveAt: Date.now() };
      await index.putStore({ ...STORE, ...about }, 'create');
    });
    afterEach(() => Promise.all(nodes.map(({ vectorStores }) => vectorStores.close())));

    function node(): Node {
      const embedded: string[] = [];
      const asked: string[] = [];
      const embed = async (texts: readonly string[], signal: AbortSignal) => {
        asked.push(...texts);
        await pause(pauseMs, undefined, { signal });
        embedded.push(...texts);
        return texts.map((text) => Float32Array.from(embeddingOf(text, 4)));
      };
      const engine = bullmqEngine({ ...host.options, queueName: `indexing-${queues}`, concurrency: 1 });
      // No look for more within the test: all that happens is the engine's doing.
      const indexing = { engine, pollMs: 600_000 };
      // A closed node must leave the index open for the others.
      const shared = Object.assign(Object.create(index), { close: undefined });
      const embeddings = { name: 'slow', embed };
      const vectorStores = createVectorStores({ files, index: shared, embeddings, indexing, logger: false });
      const made = { vectorStores, embedded, asked };
      nodes.push(made);
      return made;
    }

    async function add({ vectorStores }: Node, count: number): Promise<readonly string[]> {
      const ids = Array.from({ length: count }, (_, at) => `file-${name}-${queues}-${at}`);
      await Promise.all(ids.map(upload));
      const chunking = { maxTokens: 800, overlapTokens: 400 };
      const about = { attributes: {}, chunking, autoChunking: true, createdAt: 1 };
      const added = ids.map((id) => ({ ...STORE, store: STORE.id, id, filename: id, ...about }));
      await index.addFiles(STORE, added);
      vectorStores.indexAdded(count);
      return ids;
    }

    async function completed(count: number): Promise<void> {
      while ((await index.countFiles(STORE)).completed < count) await pause(10);
    }

    it('[X-14] is shared by the processes, and each file is indexed once', async () => {
      const [one, other] = [node(), node()];
      const ids = await add(one, 12);
      await completed(12);
      expect([...one.embedded, ...other.embedded].toSorted()).toEqual([...ids].toSorted());
      expect([one.embedded.length > 1, other.embedded.length > 1]).toEqual([true, true]);
    });

    it('[X-14] hands the file of a process that is closed to another', async () => {
      pauseMs = 600_000;
      const one = node();
      const ids = await add(one, 1);
      while (one.asked.length === 0) await pause(10);
      pauseMs = 1;
      const other = node();
      await one.vectorStores.close();
      await completed(1);
      expect([one.embedded, other.embedded]).toEqual([[], ids]);
    });
  });
});
