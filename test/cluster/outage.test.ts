/** The database is gone for a while in the middle: what was acknowledged stays, and the nodes go on without a restart. */
import { setTimeout as pause } from 'node:timers/promises';
import { textStream } from '../../src/testing/index.ts';
import { agreedOn, begun, isOf, onEachDatabase, seenUntil, settled, textsOf } from './world.ts';

/** DOWN_MS=30000 for longer outages. */
const DOWN_MS = Number(process.env.DOWN_MS ?? 8000);
const RESPONSES = 6;
const WORDS = Array.from({ length: 24 }, (_, index) => `word${index} `);

onEachDatabase(
  'An outage of the database',
  (world) => {
    it(
      '[S-18] [X-08] loses no response and no event that a client has seen',
      async () => {
        const { cluster, model, database } = world;
        model.say({ body: textStream(WORDS), split: splits(), paceMs: DOWN_MS / 20 });
        const nodes = cluster.nodes;
        const places = Array.from(
          { length: RESPONSES },
          (_, index) => nodes[index % nodes.length] ?? cluster.without()[0],
        );
        const ids = await Promise.all(places.map((node) => begun(node)));
        const seen = await Promise.all(
          ids.map((id) => seenUntil(cluster.without()[0], id, isOf('response.output_text.delta'))),
        );
        await database.stop();
        await pause(DOWN_MS);
        await database.start();
        for (const [index, id] of ids.entries()) {
          const { status } = await settled(cluster.without()[0], id);
          const { events, response } = await agreedOn(cluster, id);
          expect(events.slice(0, seen[index]?.length)).toEqual(seen[index]);
          // A node that took over has asked the model to go on, and this one says everything again.
          expect([status, textsOf(response)]).toEqual(['completed', expect.arrayContaining([WORDS.join('')])]);
        }
        expect(cluster.nodes).toEqual(nodes);
        model.say({ body: textStream('Fine.') });
        const after = await begun(cluster.without()[0]);
        expect(textsOf(await settled(cluster.without()[0], after))).toEqual(['Fine.']);
      },
      120_000 + 4 * DOWN_MS,
    );
  },
  { durable: true },
);

/** One piece for each chunk. */
function splits(): readonly number[] {
  const text = textStream(WORDS);
  return [...text.matchAll(/\n\n/g)].map(({ index }) => index + 2);
}
