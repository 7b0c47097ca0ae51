/** Processes of an older commit and of this one over one database: an update, one process after the other, and the way back. */
import { textStream } from '../../src/testing/index.ts';
import { askJson } from '../http/client.ts';
import { describeWhere } from '../support/skipping.ts';
import type { ClusterNode } from './cluster.ts';
import { checkOut, lastBefore, oldestAlike } from './older-checkout.ts';
import { begun, isOf, onEachDatabase, retrieved, seenUntil, settled, stalled, textsOf, type World } from './world.ts';

const NO_HISTORY = 'the history of the repository is not there';

/** Runs the tests with the folder of the commit. */
function withCheckout(commit: string | undefined, suite: (folder: () => string) => void): void {
  let checkout: ReturnType<typeof checkOut> | undefined;
  beforeAll(() => {
    checkout = commit === undefined ? undefined : checkOut(commit);
  });
  afterAll(() => checkout?.remove());
  suite(() => checkout?.folder ?? '');
}

/** A conversation goes on from one node to the next, and each reads what the others have stored. */
async function goesOn(nodes: readonly ClusterNode[]): Promise<string> {
  let id: string | undefined;
  for (const { url } of nodes) {
    const { id: next } = await askJson(url, {
      input: 'Go on.',
      ...(id === undefined ? {} : { previous_response_id: id }),
    });
    id = String(next);
  }
  const statuses = await Promise.all(nodes.map(async (node) => (await retrieved(node, String(id))).status));
  expect(statuses).toEqual(nodes.map(() => 'completed'));
  return String(id);
}

/** A response that runs when its process ends, whichever that is, ends in another; resolves with that process. */
async function handsOn({ cluster, model }: World): Promise<ClusterNode> {
  model.say(stalled('Hello'), { body: textStream(' there') });
  const id = await begun(cluster.without()[0]);
  const owner = await cluster.ownerOf(id);
  const [other] = cluster.without(owner);
  await seenUntil(other, id, isOf('response.output_text.delta'));
  expect(await owner.drained()).toBe(0);
  const { status, ...response } = await settled(other, id);
  // On a busy machine the owner may have lost its claim before it drained, and with it the text that it had begun.
  expect([status, textsOf(response).at(-1)]).toEqual(['completed', ' there']);
  model.say(SAID);
  return other;
}

const SAID = { body: textStream('Hello.') };

/** Ends all others, as the last steps of an update do. */
async function isAlone({ cluster }: World, last: ClusterNode): Promise<void> {
  for (const node of cluster.nodes) if (node !== last) expect(await node.drained()).toBe(0);
}

/** Two old processes, then a new one beside them, and then new ones alone; returns the last, and a response of the first. */
async function updated(world: World, folder: string) {
  const { cluster, model } = world;
  model.say(SAID);
  const [one, two] = [await cluster.add(folder), await cluster.add(folder)];
  const first = await goesOn([one, two]);
  const fresh = await cluster.add();
  await goesOn([one, fresh, two, fresh]);
  await handsOn(world);
  const last = await cluster.add();
  await isAlone(world, last);
  expect((await retrieved(last, first)).status).toBe('completed');
  return { last, first };
}

const WAIT_MS = 240_000;

describeWhere(oldestAlike !== undefined, NO_HISTORY)('An update from a commit with the same tables', () => {
  withCheckout(oldestAlike, (folder) => {
    onEachDatabase(
      'and the way back',
      (world) => {
        it(
          '[G-12] lose no response and no turn of a conversation, whichever processes are there',
          async () => {
            const { cluster } = world;
            const { last, first } = await updated(world, folder());
            const again = await cluster.add(folder());
            const second = await goesOn([last, again, last]);
            await handsOn(world);
            const oldest = await cluster.add(folder());
            await isAlone(world, oldest);
            for (const id of [first, second]) expect((await retrieved(oldest, id)).status).toBe('completed');
            await goesOn([oldest, oldest]);
          },
          WAIT_MS,
        );
      },
      { nodes: 0 },
    );
  });
});

describeWhere(lastBefore !== undefined, NO_HISTORY)('An update from a commit with fewer tables', () => {
  withCheckout(lastBefore, (folder) => {
    onEachDatabase(
      'goes forward',
      (world) => {
        it(
          '[G-12] while the old processes go on, and loses nothing',
          async () => {
            await updated(world, folder());
          },
          WAIT_MS,
        );
      },
      { nodes: 0 },
    );
  });
});
