/** What clients ask of other nodes than the one that makes a response: they cancel it, delete it, and ask for its events. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { textStream } from '../../src/testing/index.ts';
import { ask, errorIn, lastResponse, parseStream, send } from '../http/client.ts';
import { type ClusterNode, eventually } from './cluster.ts';
import {
  agreedOn,
  begun,
  followed,
  isOf,
  onEachDatabase,
  retrieved,
  seenUntil,
  settled,
  stalled,
  type World,
} from './world.ts';

/** A response whose node is killed in the middle of its text; the others live. */
async function orphaned({ cluster, model }: World): Promise<{ id: string; owner: ClusterNode }> {
  model.say(stalled('Hello'));
  const id = await begun(cluster.without()[0]);
  const owner = await cluster.ownerOf(id);
  await seenUntil(cluster.without(owner)[0], id, isOf('response.output_text.delta'));
  await owner.kill();
  return { id, owner };
}

/** The same, once another node has asked the model to go on. */
async function adopted(world: World) {
  const { id, owner } = await orphaned(world);
  const heir = await world.cluster.ownerOf(id, owner);
  const first = world.model.fake.requests.length - world.model.asked;
  await eventually('the model is asked again', () => world.model.asked > 1 || undefined);
  return { id, owner, heir, left: world.model.fake.closed(first + 1) };
}

onEachDatabase('A response whose node was killed', (world) => {
  it('[S-18] [X-08] is cancelled from another node before anybody goes on with it', async () => {
    const { id } = await orphaned(world);
    const [node] = world.cluster.without();
    const { body } = await send(`${node.url}/responses/${id}/cancel`, 'POST');
    expect(body.status).toBe('cancelled');
    await world.cluster.endOf(id);
    const streams = await Promise.all(world.cluster.nodes.map((each) => followed(each, id)));
    const responses = await Promise.all(world.cluster.nodes.map((each) => retrieved(each, id)));
    expect(streams.map(({ events, done }) => [events.at(-1)?.type, done])).toEqual(
      streams.map(() => ['response.output_text.delta', true]),
    );
    expect(responses).toEqual(responses.map(() => body));
    expect(world.model.asked).toBe(1);
  });

  it('[S-18] [X-08] is deleted from another node before anybody goes on with it', async () => {
    const { id } = await orphaned(world);
    const [node] = world.cluster.without();
    const { body } = await send(`${node.url}/responses/${id}`, 'DELETE');
    expect(body.deleted).toBe(true);
    await world.cluster.endOf(id);
    const answers = await Promise.all(
      world.cluster.nodes.flatMap(({ url }) => [
        send(`${url}/responses/${id}`),
        send(`${url}/responses/${id}?stream=true`),
      ]),
    );
    expect([answers.map(({ status }) => status), world.model.asked]).toEqual([answers.map(() => 404), 1]);
  });

  it('[S-18] [X-08] is cancelled from another node while one goes on with it', async () => {
    const { id, heir, left } = await adopted(world);
    const [node] = world.cluster.without(heir);
    const { body } = await send(`${node.url}/responses/${id}/cancel`, 'POST');
    expect(body.status).toBe('cancelled');
    await left;
    await eventually('the heir lets go', () => heir.isDoneWith(id) || undefined);
    const [one, other] = await Promise.all([followed(node, id), followed(heir, id)]);
    expect([one.events, one.done]).toEqual([other.events, true]);
    expect(await retrieved(heir, id)).toEqual(body);
  });

  it('[S-18] [X-08] is deleted from another node while one goes on with it', async () => {
    const { id, heir, left } = await adopted(world);
    const [node] = world.cluster.without(heir);
    const { body } = await send(`${node.url}/responses/${id}`, 'DELETE');
    expect(body.deleted).toBe(true);
    await left;
    await eventually('the heir lets go', () => heir.isDoneWith(id) || undefined);
    const answers = await Promise.all(world.cluster.nodes.map(({ url }) => send(`${url}/responses/${id}`)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
  });
});

onEachDatabase(
  'The events of a response',
  (world) => {
    it('[S-18] [X-08] are distinguished from those that were never kept, once they are no longer kept', async () => {
      const { cluster, model } = world;
      model.say({ body: textStream('Hello') });
      const [one, other] = cluster.without();
      const id = await begun(one);
      await settled(one, id);
      const codes = await eventually('the log expires', async () => {
        const response = await fetch(`${other?.url ?? one.url}/responses/${id}?stream=true`);
        const text = await response.text();
        return response.status === 200 ? undefined : [response.status, errorIn(JSON.parse(text) as JsonObject).code];
      });
      const foreground = lastResponse(parseStream(await (await ask(one.url, { stream: true })).text()));
      const never = await send(`${one.url}/responses/${foreground.id}?stream=true`);
      expect([codes, [never.status, errorIn(never.body).code]]).toEqual([
        [400, 'events_expired'],
        [400, 'unsupported_parameter'],
      ]);
      expect((await retrieved(one, id)).status).toBe('completed');
    });
  },
  { limits: { turns: { eventsTtlMs: 500 } }, nodes: 2 },
);

onEachDatabase(
  'The events of a response that has ended',
  (world) => {
    it('[S-18] [X-08] are the same on every node', async () => {
      const { cluster, model } = world;
      model.say({ body: textStream(['Hello', ', ', 'world']) });
      const id = await begun(cluster.without()[0]);
      await cluster.endOf(id);
      const { response } = await agreedOn(cluster, id);
      expect(response.status).toBe('completed');
    });
  },
  { nodes: 2 },
);
