/** The same core behind another wire: a connection says what an event stream says, in frames of its own. */
import { chatChunk, type FakeReply, textStream } from '../../../src/testing/index.ts';
import { recordedStream } from '../../support/replay.ts';
import { post, withoutIdentity } from '../../support/responses-client.ts';
import { describeShared, listShared } from '../../support/shared.ts';
import { expectWireLaws, readWire } from '../../support/wire-laws.ts';
import { expectWire, type WireEvent } from '../../support/wire-schemas.ts';
import { finalOf, type Message, outcomeOf, type SocketApp, startSocketApp, textOf } from './support.ts';

let app: SocketApp;
afterEach(() => app.close());

/** The events without what differs from one answer to the next: identity, times and seals. */
function anonymous(events: readonly WireEvent[]): unknown {
  const response = expectWireLaws(events);
  const seed = response.id.slice('resp_'.length);
  const text = JSON.stringify(events)
    .replaceAll(seed, '<seed>')
    .replace(/"(created_at|completed_at)":\d+/g, '"$1":0')
    .replace(/"encrypted_content":"[^"]*"/g, '"encrypted_content":""');
  return [JSON.parse(text), withoutIdentity(response)];
}

async function bothWires(reply: FakeReply): Promise<{ readonly http: unknown; readonly socket: unknown }> {
  app.fake.reply(reply);
  const talk = await app.connect();
  const sent = await talk.ask();
  const { text } = await post(app.url, { model: 'fake-model', input: 'Hi', stream: true });
  return { http: anonymous(readWire(text)), socket: anonymous(sent.map((message) => expectWire(message))) };
}

const recordings = listShared('corpus/chat-stream', '.sse').map((name) => name.replace(/\.sse$/, ''));

describeShared('each recorded stream of a model server', () => {
  beforeEach(async () => {
    app = await startSocketApp();
  });

  it('[S-15] says the same over WebSocket as over HTTP, and keeps every law of the wire', async () => {
    const differing: string[] = [];
    for (const name of recordings) {
      const { http, socket } = await bothWires(recordedStream(name));
      if (JSON.stringify(http) !== JSON.stringify(socket)) differing.push(name);
    }
    expect([recordings.length > 20, differing]).toEqual([true, []]);
  }, 120_000);
});

describe('the frames', () => {
  beforeEach(async () => {
    app = await startSocketApp({ heartbeat: { intervalMs: 20 } });
  });

  it('[S-15] say the same over WebSocket as over HTTP where text looks like framing', async () => {
    const { http, socket } = await bothWires({
      body: textStream(['data: [DONE]\n\n', ': no\n\nevent: x', '\r\n\u2028']),
    });
    expect(socket).toEqual(http);
  });

  it.each(['open-responses-server', 'vllm-responses', 'tokligence'] as const)(
    '[S-15] say the same over WebSocket as over HTTP in the dialect %s',
    async (dialect) => {
      const spoken = await startSocketApp({ dialect });
      spoken.fake.reply({ body: textStream(['Hel', 'lo']) });
      const talk = await spoken.connect();
      const { text } = await post(spoken.url, { model: 'fake-model', input: 'Hi', stream: true });
      const wanted = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data).type);
      talk.create();
      const types: unknown[] = [];
      while (types.length < wanted.length) types.push((await talk.next()).type);
      await spoken.close();
      expect([types, wanted.length > 3]).toEqual([wanted, true]);
    },
  );

  it('[S-15] number each response of a connection from 0, and have no [DONE]', async () => {
    const talk = await app.connect();
    await talk.ask();
    await talk.ask();
    const numbers = talk.received.map(({ sequence_number }) => sequence_number);
    const once = Array.from({ length: numbers.length / 2 }, (_, index) => index);
    expect(numbers).toEqual([...once, ...once]);
  });

  it('[S-15] report a model server that breaks off', async () => {
    app.fake.reply({ body: chatChunk({ content: 'Hel' }), cutAfterBytes: 10_000 });
    const talk = await app.connect();
    const sent = await talk.ask();
    expectWireLaws(sent.map((message) => expectWire(message)));
    const types = sent.slice(-2).map(({ type }) => type);
    expect([textOf(sent), types, outcomeOf(sent)]).toEqual(['Hel', ['error', 'response.failed'], 'failed']);
  });

  it('[S-15] [P-15] fill pauses with pings, and the event that every fourth heartbeat is', async () => {
    app.fake.reply({ body: chatChunk({ content: 'Hel' }), stallAfterBytes: 10_000 });
    const talk = await app.connect();
    let pings = 0;
    talk.socket.on('ping', () => {
      pings += 1;
    });
    talk.create();
    const events: Message[] = [];
    while (events.at(-1)?.type !== 'keepalive') events.push(await talk.next());
    expect([pings >= 3, events.at(-1)]).toEqual([true, { type: 'keepalive', sequence_number: events.length - 1 }]);
  });

  it('[S-15] name the stream of their request, and no other', async () => {
    const talk = await app.connect();
    const named = await talk.ask({ stream_id: 'a-lane_1.x' });
    const plain = await talk.ask({ stream_id: null });
    const seen = [named, plain].map((messages) => [...new Set(messages.map(({ stream_id }) => stream_id))]);
    expect([seen, 'stream_id' in finalOf(named)]).toEqual([[['a-lane_1.x'], [undefined]], false]);
  });
});

describe('a request', () => {
  beforeEach(async () => {
    app = await startSocketApp();
  });

  it('[S-15] may say stream, stream_options and background, as OpenAI’s own examples do', async () => {
    const talk = await app.connect();
    const requested = { stream: false, stream_options: { include_obfuscation: true }, background: true };
    const sent = await talk.ask(requested);
    expect([outcomeOf(sent), finalOf(sent).background]).toEqual(['completed', false]);
  });

  it('[S-15] is found over HTTP where it was stored, and can be continued from either side', async () => {
    const talk = await app.connect();
    const first = finalOf(await talk.ask({ input: 'One.' }));
    const { text } = await post(app.url, { model: 'm', input: 'Two.', previous_response_id: first.id });
    const second = JSON.parse(text);
    const third = finalOf(await talk.ask({ input: 'Three.', previous_response_id: second.id }));
    const stored = await fetch(`${app.url}/responses/${third.id}`);
    expect([await stored.json(), app.requested().filter(({ role }) => role === 'user')]).toEqual([
      third,
      ['One.', 'Two.', 'Three.'].map((content) => ({ role: 'user', content })),
    ]);
  });

  it('[S-15] is not found over HTTP where it was not stored', async () => {
    const talk = await app.connect();
    const { id } = finalOf(await talk.ask({ store: false }));
    expect((await fetch(`${app.url}/responses/${id}`)).status).toBe(404);
  });

  it('[S-15] with generate: false asks no model, has no output, and can be continued', async () => {
    const talk = await app.connect();
    const context_management = [{ type: 'compaction', compact_threshold: 1 }];
    const warm = await talk.ask({ store: false, generate: false, input: 'My name is Ada.', context_management });
    const requested = app.fake.requests.length;
    const next = await talk.ask({ store: false, previous_response_id: finalOf(warm).id, input: [] });
    const events = expectWireLaws(warm.map((message) => expectWire(message)));
    expect([warm.map(({ type }) => type), requested, events.output, outcomeOf(next), app.requested()]).toEqual([
      ['response.created', 'response.in_progress', 'response.completed'],
      0,
      [],
      'completed',
      [{ role: 'user', content: 'My name is Ada.' }],
    ]);
    expect(app.errors).toEqual([]);
  });
});
