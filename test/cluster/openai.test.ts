/** openai-node as the client of a cluster: the node that it reads from is killed, and it reads the rest from another. */
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { textStream } from '../../src/testing/index.ts';
import { accumulatedOutput, openaiClient } from '../support/responses-client.ts';
import type { WireEvent } from '../support/wire-schemas.ts';
import { agreedOn, calls, onEachDatabase, stalled } from './world.ts';

onEachDatabase('openai-node', (world) => {
  it('[S-18] [X-08] has the whole response although the node was killed that streamed it', async () => {
    const { cluster, model } = world;
    model.say(calls('once'), stalled('Hello', ', '), { body: textStream('world') });
    const [first] = cluster.without();
    const events: ResponseStreamEvent[] = [];
    let id = '';
    const cut = async () => {
      const question = { model: 'm', input: 'Hi', background: true, stream: true } as const;
      for await (const event of await openaiClient(first.url).responses.create(question)) {
        events.push(event);
        if (event.type === 'response.created') id = event.response.id;
        if (event.type === 'response.output_text.delta') void first.kill();
      }
    };
    await expect(cut()).rejects.toThrow();
    // Its connections end a little before it is known to be dead.
    await first.kill();
    // Another node may have been the owner: then the stream alone was lost, and its node goes too.
    const owner = await cluster.ownerOf(id);
    await owner.kill();
    const [other] = cluster.without();
    const client = openaiClient(other.url);
    const starting_after = events.at(-1)?.sequence_number ?? 0;
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after })) events.push(event);
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
    const { response } = await agreedOn(cluster, id);
    // The cast: of another realm, and with the client's own types.
    const read = JSON.parse(JSON.stringify(events)) as readonly WireEvent[];
    expect(JSON.parse(JSON.stringify(accumulatedOutput(read)))).toEqual(response.output);
    const followed = client.responses.stream({ response_id: id, starting_after: 3 });
    const types: string[] = [];
    followed.on('event', ({ type }) => types.push(type));
    const final = await followed.finalResponse();
    expect([final.output_text, types]).toEqual(['Hello, world', events.slice(4).map(({ type }) => type)]);
    const { output_text: text, ...retrieved } = await client.responses.retrieve(id);
    expect([text, retrieved.status]).toEqual(['Hello, world', 'completed']);
  });
});
