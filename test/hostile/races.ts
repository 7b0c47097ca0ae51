/** The races that two clients can run on two nodes, for any store. */
import type { ResponseStore } from '../../src/index.ts';
import { json, moment, type Nodes, raced, startNodes, streamed } from './race-nodes.ts';
import { tally } from './tally.ts';

/** How many tries of each race over each store: over all three they are more than a thousand. */
const TRIES = 400;
/** Around the end of a response, which takes some milliseconds. */
const AROUND_THE_END_MS = 30;
/** For a busy machine; otherwise about ten seconds are enough. */
const LONG_ENOUGH_MS = 600_000;

/** Two connections to one database, and their end. */
export interface TwoStores {
  readonly stores: readonly [ResponseStore, ResponseStore];
  close(): Promise<void>;
}

/** Registers the four races over this store. */
export function raceSuite(name: string, open: () => Promise<TwoStores>): void {
  const { tried } = tally(`races over ${name}`);
  let both: TwoStores;
  let nodes: Nodes;

  beforeAll(async () => {
    both = await open();
    nodes = await startNodes(both.stores);
  });
  afterAll(async () => {
    await nodes?.close();
    await both?.close();
  });

  it(
    '[F-10] keeps the outcome that the client of a stream and the one that cancels it have seen',
    async () => {
      const ends = new Map<unknown, number>();
      const faults = await raced(TRIES, async () => {
        const { id, completed } = await streamed(nodes.a);
        await moment(AROUND_THE_END_MS);
        const [reported, { body }] = await Promise.all([completed, json(`${nodes.b}/responses/${id}/cancel`, 'POST')]);
        const kept = (await json(`${nodes.a}/responses/${id}`, 'GET')).body;
        ends.set(kept.status, (ends.get(kept.status) ?? 0) + 1);
        if (reported && kept.status !== 'completed') return `sent completed, kept ${kept.status}`;
        if (body.status !== kept.status) return `cancel answered ${body.status}, kept ${kept.status}`;
        return undefined;
      });
      expect(faults).toEqual([]);
      // Otherwise there was no race.
      expect([...ends.keys()].toSorted()).toEqual(['cancelled', 'completed']);
      tried('a cancel on one node while the other ends the response', TRIES);
    },
    LONG_ENOUGH_MS,
  );

  it(
    '[F-10] does not restore a response whose deletion was confirmed',
    async () => {
      const faults = await raced(TRIES, async () => {
        const { id, completed } = await streamed(nodes.a);
        await moment(AROUND_THE_END_MS);
        const [, { status }] = await Promise.all([completed, json(`${nodes.b}/responses/${id}`, 'DELETE')]);
        const kept = (await json(`${nodes.a}/responses/${id}`, 'GET')).status;
        return status === 200 && kept === 404 ? undefined : `delete answered ${status}, then get ${kept}`;
      });
      expect(faults).toEqual([]);
      tried('a delete on one node while the other ends the response', TRIES);
    },
    LONG_ENOUGH_MS,
  );

  it(
    '[F-10] does not restore a response when its deletion and its cancel collide',
    async () => {
      const faults = await raced(TRIES, async () => {
        const { id, completed } = await streamed(nodes.a);
        await moment(AROUND_THE_END_MS / 3);
        const [, , { status }] = await Promise.all([
          completed,
          json(`${nodes.a}/responses/${id}/cancel`, 'POST'),
          json(`${nodes.b}/responses/${id}`, 'DELETE'),
        ]);
        const kept = (await json(`${nodes.a}/responses/${id}`, 'GET')).status;
        return status === 200 && kept === 404 ? undefined : `delete answered ${status}, then get ${kept}`;
      });
      expect(faults).toEqual([]);
      tried('a delete on one node while the other cancels', TRIES);
    },
    LONG_ENOUGH_MS,
  );

  it(
    '[F-10] does not restore a deleted conversation by an update of its metadata',
    async () => {
      const faults = await raced(TRIES, async () => {
        const { id } = (await json(`${nodes.a}/conversations`, 'POST', {})).body;
        const url = (node: string) => `${node}/conversations/${id}`;
        const [, , { status }] = await Promise.all([
          json(url(nodes.a), 'POST', { metadata: { a: '1' } }),
          json(url(nodes.b), 'POST', { metadata: { b: '2' } }),
          moment(8).then(() => json(url(nodes.b), 'DELETE')),
        ]);
        const kept = (await json(url(nodes.a), 'GET')).status;
        return status === 200 && kept === 404 ? undefined : `delete answered ${status}, then get ${kept}`;
      });
      expect(faults).toEqual([]);
      tried('a delete of a conversation while its metadata changes', TRIES);
    },
    LONG_ENOUGH_MS,
  );
}
