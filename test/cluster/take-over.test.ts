/** Nodes that are killed or frozen in the middle of a response: another one goes on, and no client sees it. */
import { chatChunk, type FakeResponder, textStream } from '../../src/testing/index.ts';
import { eventually } from './cluster.ts';
import {
  agreedOn,
  begun,
  calls,
  callsOf,
  followed,
  isOf,
  onEachDatabase,
  retrieved,
  seenUntil,
  settled,
  stalled,
  textsOf,
  type World,
} from './world.ts';

/** A moment at which a node dies, and what the clients see in the end. */
interface Death {
  readonly when: string;
  readonly replies: readonly FakeResponder[];
  /** Resolves at that moment. */
  come(world: World, id: string): Promise<unknown>;
  readonly status?: string;
  readonly texts: readonly string[];
  readonly calls?: readonly (readonly unknown[])[];
  /** How often the tools have run. */
  readonly runs?: number;
  /** What the node is stopped at, so that the moment does not pass. */
  readonly stop?: string;
}

const shown = (type: string) => (world: World, id: string) =>
  seenUntil(world.cluster.without()[0], id, isOf(`response.${type}`));
const reached = (what: string) => (world: World) => {
  const before = world.control.count(what);
  return eventually(what, () => world.control.count(what) > before || undefined);
};

const TORN = { tool_calls: [{ index: 0, id: 'call_0_once', function: { name: 'once', arguments: '{"a' } }] };

const DEATHS: readonly Death[] = [
  {
    when: 'in the middle of a text',
    replies: [stalled('Hello', ', '), { body: textStream('world') }],
    come: shown('output_text.delta'),
    texts: ['Hello, ', 'world'],
  },
  {
    when: 'in the middle of a call’s arguments',
    replies: [stalled('Wait.', TORN), calls('once'), { body: textStream('Done') }],
    come: shown('output_text.delta'),
    texts: ['Wait.', 'Done'],
    calls: [['once', 'completed', 'did tool/once']],
  },
  {
    when: 'while a tool runs that may run twice',
    replies: [calls('again'), { body: textStream('Done') }],
    stop: 'tool/again',
    come: reached('tool/again'),
    texts: ['Done'],
    calls: [['again', 'completed', 'did tool/again']],
  },
  {
    when: 'while a tool runs that may not',
    replies: [calls('once'), { body: textStream('Done') }],
    stop: 'tool/once',
    come: reached('tool/once'),
    texts: ['Done'],
    calls: [['once', 'failed', null]],
  },
  {
    when: 'before its end is stored',
    replies: [{ body: textStream('Hello') }],
    stop: 'store/before-end',
    come: reached('store/before-end'),
    texts: ['Hello'],
  },
  {
    when: 'between the storing of a failure and its last event',
    replies: [{ body: chatChunk({ content: 'Hello' }) }],
    stop: 'store/after-end',
    come: reached('store/after-end'),
    status: 'failed',
    texts: ['Hello'],
  },
  {
    when: 'between the storing of its end and its last event',
    replies: [{ body: textStream('Hello') }],
    stop: 'store/after-end',
    come: reached('store/after-end'),
    texts: ['Hello'],
  },
];

onEachDatabase('A response whose node is gone', (world) => {
  it.each(DEATHS)('[S-18] [X-08] goes on elsewhere after kill -9 $when', async (death) => {
    const { cluster, model, control } = world;
    model.say(...death.replies);
    if (death.stop) control.stopNext(death.stop);
    const come = death.stop ? death.come(world, '') : undefined;
    const id = await begun(cluster.without()[0]);
    await (come ?? death.come(world, id));
    const owner = await cluster.ownerOf(id);
    const others = cluster.without(owner);
    const streams = others.flatMap((node) => [-1, 1, 4].map((after) => followed(node, id, after)));
    await owner.kill();
    // Not the owner, which a busy machine may have held up until it had lost the response before it was killed.
    const finisher = await cluster.endOf(id, owner);
    const { events, response } = await agreedOn(cluster, id);
    const wanted = others.flatMap(() => [-1, 1, 4].map((after) => events.slice(after + 1)));
    expect((await Promise.all(streams)).map((stream) => stream.events)).toEqual(wanted);
    const [third] = cluster.without(finisher);
    for (const after of [0, Math.floor(events.length / 2), events.length - 2])
      expect((await followed(third, id, after)).events).toEqual(events.slice(after + 1));
    expect([response.status, textsOf(response), callsOf(response)]).toEqual([
      death.status ?? 'completed',
      death.texts,
      death.calls ?? [],
    ]);
  });

  it('[S-18] [X-08] is left as it is by a node that wakes after the end', async () => {
    const { cluster, model } = world;
    // The first node reads the rest when it wakes: the model goes on meanwhile.
    const rest = [...' from the dead'].map((content) => chatChunk({ content }));
    model.say(
      { body: [chatChunk({ content: 'Hello' }), ...rest, textStream('!')], paceMs: 500 },
      { body: textStream(' there') },
    );
    const id = await begun(cluster.without()[0]);
    const owner = await cluster.ownerOf(id);
    const [other] = cluster.without(owner);
    await seenUntil(other, id, isOf('response.output_text.delta'));
    owner.freeze();
    try {
      await settled(other, id);
      await cluster.endOf(id);
      const before = [await followed(other, id), await retrieved(other, id)];
      owner.thaw();
      await eventually('the owner lets go', () => owner.isDoneWith(id) || undefined);
      expect([await followed(other, id), await retrieved(other, id)]).toEqual(before);
    } finally {
      owner.thaw();
    }
    const { response } = await agreedOn(cluster, id);
    expect([textsOf(response).length, textsOf(response).at(-1), model.asked]).toEqual([2, ' there', 2]);
  });
});
