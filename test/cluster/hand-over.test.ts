/** Nodes that go in good order, responses that kill every node, and tools that must not run twice. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { textStream } from '../../src/testing/index.ts';
import { eventually } from './cluster.ts';
import {
  agreedOn,
  begun,
  calls,
  callsOf,
  followed,
  isOf,
  onEachDatabase,
  seenUntil,
  settled,
  stalled,
  textsOf,
} from './world.ts';

onEachDatabase('A response whose node drains', (world) => {
  it('[S-18] [X-08] is handed over at once', async () => {
    const { cluster, model } = world;
    model.say(stalled('Hello'), { body: textStream(' there') });
    const id = await begun(cluster.without()[0]);
    const owner = await cluster.ownerOf(id);
    const [other] = cluster.without(owner);
    await seenUntil(other, id, isOf('response.output_text.delta'));
    const following = followed(other, id);
    expect(await owner.drained()).toBe(0);
    expect(owner.done.filter((each) => each.id === id)).toEqual([expect.objectContaining({ outcome: 'released' })]);
    expect(await cluster.endOf(id)).not.toBe(owner);
    const { events, response } = await agreedOn(cluster, id);
    expect([response.status, textsOf(response)]).toEqual(['completed', ['Hello', ' there']]);
    expect((await following).events).toEqual(events);
  });

  it('[S-18] [X-08] is handed over as often as nodes go, and no try is lost', async () => {
    const { cluster, model } = world;
    model.say(stalled('a'));
    const id = await begun(cluster.without()[0]);
    for (let asked = 1; asked <= 4; asked += 1) {
      await eventually('the model is asked', () => model.asked >= asked || undefined);
      const owner = cluster.nodes.find(
        ({ claimed, done }) => claimed.includes(id) && !done.some((each) => each.id === id),
      );
      if (asked === 4) model.say({ body: textStream('!') });
      expect(await owner?.drained()).toBe(0);
      await cluster.fill(2);
    }
    await cluster.endOf(id);
    const { response } = await agreedOn(cluster, id);
    expect([response.status, textsOf(response).at(-1)]).toEqual(['completed', '!']);
  });
});

onEachDatabase(
  'A response that kills its node',
  (world) => {
    it('[S-18] [X-08] has failed after three nodes, and the others go on', async () => {
      const { cluster, model, control } = world;
      model.say(calls('fatal'));
      const nodes = cluster.nodes;
      const last = cluster.without()[0];
      const id = await begun(last);
      await cluster.endOf(id);
      const [survivor] = cluster.without();
      const { error, status } = await settled(survivor, id);
      expect([status, (error as JsonObject).message, control.count('tool/fatal')]).toEqual([
        'failed',
        expect.stringMatching(/3 servers/),
        3,
      ]);
      expect(nodes.filter(({ isAlive }) => !isAlive).length).toBe(3);
      const { events } = await agreedOn(cluster, id);
      expect(events.at(-1)?.type).toBe('response.failed');
      model.say({ body: textStream('Fine.') });
      expect(textsOf(await settled(survivor, await begun(survivor)))).toEqual(['Fine.']);
    });
  },
  { nodes: 4 },
);

onEachDatabase('A tool that runs when its node is killed', (world) => {
  it.each([
    ['once', 1, [['once', 'failed', null]]],
    ['again', 2, [['again', 'completed', 'did tool/again']]],
  ] as const)('[S-18] [X-08] has its effects as often as it allows: %s', async (name, times, shown) => {
    const { cluster, model, control } = world;
    const what = `tool/${name}`;
    const before = control.count(what);
    control.stopNext(what);
    model.say(calls(name), { body: textStream('Done') });
    const id = await begun(cluster.without()[0]);
    await eventually('the tool runs', () => control.count(what) > before || undefined);
    await (await cluster.ownerOf(id)).kill();
    await cluster.endOf(id);
    const { response } = await agreedOn(cluster, id);
    expect([control.count(what) - before, callsOf(response), textsOf(response)]).toEqual([times, shown, ['Done']]);
  });
});
