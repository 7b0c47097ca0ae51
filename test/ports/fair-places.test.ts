/** Places for work: a greedy tenant takes neither all of them nor all of their queue. */

import fc from 'fast-check';
import { FairSlots } from '../../src/ports/queues/fair-places.ts';
import { law, same } from '../support/law.ts';

/** Asks for a place as its users do; returns what came of it. */
function ask(places: FairSlots, tenant: string, signal?: AbortSignal) {
  const work = { tenant, state: 'waits' };
  if (places.isFull(tenant)) return { ...work, state: 'refused' };
  places.enter(tenant, signal).then(
    () => {
      work.state = 'runs';
    },
    () => {
      work.state = 'left';
    },
  );
  return work;
}

/** Resolves when every promise that is settled has been heard of. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('[G-07] [G-15] run another tenant’s work at once, however much a greedy one asks for', async () => {
  const places = new FairSlots({ places: 2, waiting: 8 });
  const greedy = Array.from({ length: 100 }, () => ask(places, 'greedy'));
  const other = ask(places, 'other');
  const third = ask(places, 'third');
  await settled();
  const count = (state: string) => greedy.filter((work) => work.state === state).length;
  expect([count('runs'), count('waits'), count('refused'), other.state, third.state]).toEqual([
    1,
    4,
    95,
    'runs',
    'waits',
  ]);
  places.leave('other');
  await settled();
  expect([third.state, count('waits')]).toEqual(['runs', 4]);
});

it('[G-07] go round between tenants where there is one place', async () => {
  const places = new FairSlots({ places: 1, waiting: 8 });
  const works = [...Array.from({ length: 4 }, () => ask(places, 'greedy')), ask(places, 'other')];
  await settled();
  const states = [];
  for (let round = 0; round < 2; round += 1) {
    places.leave('greedy');
    await settled();
    states.push(works.map(({ state }) => state));
  }
  expect(states).toEqual([
    ['runs', 'runs', 'waits', 'waits', 'waits'],
    ['runs', 'runs', 'waits', 'waits', 'runs'],
  ]);
});

it('[G-07] lose no place to work that is given up', async () => {
  const places = new FairSlots({ places: 1, waiting: 8 });
  const stop = new AbortController();
  const [first, gone, next] = [ask(places, 'a'), ask(places, 'b', stop.signal), ask(places, 'c')];
  stop.abort(new Error('left'));
  places.leave('a');
  await settled();
  expect([first.state, gone.state, next.state]).toEqual(['runs', 'left', 'runs']);
});

it('[G-07] are never given twice, all to one tenant, or kept from work that waits', async () => {
  const step = fc.record({ tenant: fc.constantFrom('a', 'b', 'c'), leaves: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 40 }), async (many, steps) => {
      const places = new FairSlots({ places: many, waiting: 6 });
      let works: ReturnType<typeof ask>[] = [];
      for (const { tenant, leaves } of steps) {
        const running = works.find((work) => work.state === 'runs' && work.tenant === tenant);
        if (!leaves) works.push(ask(places, tenant));
        else if (running) {
          works = works.filter((work) => work !== running);
          places.leave(tenant);
        }
        await settled();
        const runs = works.filter(({ state }) => state === 'runs');
        const waits = works.filter(({ state }) => state === 'waits');
        const runsOf = (name: string) => runs.filter((work) => work.tenant === name).length;
        law(runs.length <= many, 'no more than the places run', works);
        for (const name of ['a', 'b', 'c'])
          law(runsOf(name) <= Math.max(1, many - 1), 'a tenant leaves a place', works);
        if (runs.length < many)
          same(
            waits.filter((work) => runsOf(work.tenant) < Math.max(1, many - 1)),
            [],
            'no work waits beside a free place',
          );
      }
    }),
  );
});
