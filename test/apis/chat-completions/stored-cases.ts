/** What OpenAI's client expects of stored chat completions, for a store to show. */
import type OpenAI from 'openai';
import { memoryStore, type ResponseStore } from '../../../src/index.ts';
import { chatCompletion, chatStream, textStream } from '../../../src/testing/index.ts';
import { type ChatApp, openaiClient, startChatApp, USER } from './chat-app.ts';

/** A completion of the model server with this id. */
export function answerOf(id: string, content = 'Hello.'): string {
  return JSON.stringify({ ...JSON.parse(chatCompletion(content)), id, created: 1_700_000_000 });
}

/** An id as most model servers make them: too long to be another answer's, too. */
export function longId(name: string | number): string {
  return `chatcmpl-0123456789abcdef${name}`;
}

/** Asks for `count` stored completions, `longId(0)` and on, whose metadata name the parity of their number. */
export async function storeSome(app: ChatApp, client: OpenAI, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    app.fake.reply({ body: answerOf(longId(index)) });
    const metadata = { parity: index % 2 === 0 ? 'even' : 'odd' };
    await client.chat.completions.create({ model: 'recorded-model', messages: [USER], store: true, metadata });
  }
}

async function idsOf(list: AsyncIterable<{ readonly id: string }>): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of list) ids.push(id);
  return ids;
}

/** The cases over a store. */
export function storedCases(storeOf: () => ResponseStore = memoryStore): void {
  let app: ChatApp;
  let client: OpenAI;

  beforeEach(async () => {
    app = await startChatApp({ store: storeOf() });
    client = openaiClient(app.url);
  });
  afterEach(() => app.close());

  it('[E-08] retrieves a completion as its client received it, with the metadata', async () => {
    app.fake.reply({ body: answerOf(longId('a')) });
    const metadata = { topic: 'greetings' };
    const asked = { model: 'recorded-model', messages: [USER], temperature: 0.5 };
    const made = await client.chat.completions.create({ ...asked, store: true, metadata });
    const found = await client.chat.completions.retrieve(longId('a'));
    expect(found).toMatchObject({ ...made, metadata, temperature: 0.5, tools: null });
  });

  it('[E-08] retrieves a streamed thought whole, in the field in which its client received it', async () => {
    for (const field of ['reasoning_content', 'reasoning', 'reasoning_text']) {
      app.fake.reply({ body: chatStream({ role: 'assistant', [field]: 'H' }, { [field]: 'm.' }, { content: 'Yes' }) });
      const body = { model: 'recorded-model', messages: [USER], stream: true as const, store: true };
      let id = '';
      for await (const chunk of await client.chat.completions.create(body)) id = chunk.id;
      const { choices } = await client.chat.completions.retrieve(id);
      expect(choices[0]?.message).toMatchObject({ [field]: 'Hm.', content: 'Yes' });
    }
  });

  it('[E-08] retrieves a streamed completion at the moment of its end', async () => {
    app.fake.reply({ body: textStream(['Hel', 'lo', '.']) });
    const stream = await client.chat.completions.create({
      model: 'recorded-model',
      messages: [USER],
      stream: true,
      store: true,
    });
    let id = '';
    for await (const chunk of stream) id = chunk.id;
    const { choices, object } = await client.chat.completions.retrieve(id);
    expect({ object, choices }).toEqual({
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, logprobs: null, finish_reason: 'stop' }],
    });
  });

  it('[E-08] lists completions in pages, oldest first, and by metadata and model', async () => {
    await storeSome(app, client, 5);
    const { completions } = client.chat;
    const found = {
      all: await idsOf(completions.list({ limit: 2 })),
      newest: await idsOf(completions.list({ order: 'desc', limit: 100 })),
      odd: await idsOf(completions.list({ metadata: { parity: 'odd' }, limit: 1 })),
      other: await idsOf(completions.list({ model: 'another-model' })),
      missing: await idsOf(completions.list({ metadata: { parity: 'odd', toString: 'x' } })),
    };
    const named = (...numbers: readonly number[]) => numbers.map(longId);
    expect(found).toEqual({
      all: named(0, 1, 2, 3, 4),
      newest: named(4, 3, 2, 1, 0),
      odd: named(1, 3),
      other: [],
      missing: [],
    });
  });

  it('[E-08] gives a completion other metadata, and keeps its place in the list', async () => {
    await storeSome(app, client, 3);
    const { completions } = client.chat;
    const changed = await completions.update(longId(0), { metadata: { parity: 'odd' } });
    const listed = await idsOf(completions.list({ metadata: { parity: 'odd' } }));
    expect([changed.id, listed]).toEqual([longId(0), [longId(0), longId(1)]]);
  });

  it('[E-08] lists the messages of a completion', async () => {
    app.fake.reply({ body: answerOf(longId('a')) });
    const parts = [
      { type: 'text' as const, text: 'Two ' },
      { type: 'text' as const, text: 'parts.' },
    ];
    const messages = [USER, { role: 'user' as const, content: parts }];
    await client.chat.completions.create({ model: 'recorded-model', messages, store: true });
    const found: unknown[] = [];
    for await (const message of client.chat.completions.messages.list(longId('a'), { limit: 1 })) found.push(message);
    expect(found).toEqual([
      { ...USER, id: `${longId('a')}-0`, content_parts: null },
      { role: 'user', id: `${longId('a')}-1`, content: 'Two parts.', content_parts: parts },
    ]);
  });

  it('[E-08] deletes a completion once, from the list too', async () => {
    await storeSome(app, client, 2);
    const { completions } = client.chat;
    const deleted = await completions.delete(longId(0));
    const again = await completions.delete(longId(0)).catch((error: unknown) => error);
    const retrieved = await completions.retrieve(longId(0)).catch((error: unknown) => error);
    expect([deleted, await idsOf(completions.list())]).toEqual([
      { object: 'chat.completion.deleted', id: longId(0), deleted: true },
      [longId(1)],
    ]);
    expect([again, retrieved]).toMatchObject([{ status: 404 }, { status: 404 }]);
  });
}
