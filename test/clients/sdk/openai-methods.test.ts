/** Every method of OpenAI's SDK that this package serves, in both versions that people use. */
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import OpenAI7 from 'openai7';
import { zodTextFormat as zodTextFormat7 } from 'openai7/helpers/zod';
import { z } from 'zod';
import { textStream } from '../../../src/testing/index.ts';
import { type RequestApp, requestAppPerTest } from '../../support/request-app.ts';

const City = z.object({ city: z.string() });
const MODEL = 'fake-model';

let app: RequestApp;
requestAppPerTest((started) => {
  app = started;
});

// The casts: what is called is the same in both.
const versions = [
  { version: 6, Client: OpenAI, formatOf: zodTextFormat },
  {
    version: 7,
    Client: OpenAI7 as unknown as typeof OpenAI,
    formatOf: zodTextFormat7 as unknown as typeof zodTextFormat,
  },
] as const;

/** The status of what the client threw. */
async function refusal(call: Promise<unknown>): Promise<unknown> {
  const thrown = await call.catch((error: unknown) => error);
  return thrown instanceof Error && 'status' in thrown && thrown.status;
}

/** Whether the last request to the model holds this. */
function reported(text: string): boolean {
  return JSON.stringify(app.requested().messages).includes(text);
}

/** The texts of the items of a page, which the client turns itself. */
async function textsOf(items: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const texts: unknown[] = [];
  for await (const item of items) {
    const { content, type } = item as {
      readonly type: string;
      readonly content?: readonly { readonly text: string }[];
    };
    texts.push(content?.map(({ text }) => text).join('') ?? type);
  }
  return texts;
}

describe.each(versions)('openai-node $version', ({ Client, formatOf }) => {
  const clientOf = () => new Client({ baseURL: app.url, apiKey: 'client-key', maxRetries: 0 });

  it('[Q-02] [S-07] parses an answer into an object', async () => {
    app.upstream.reply({ body: textStream('{"city":"Rome"}') });
    const text = { format: formatOf(City, 'city') };
    const whole = await clientOf().responses.parse({ model: MODEL, input: 'Which?', text });
    const streamed = await clientOf().responses.stream({ model: MODEL, input: 'Which?', text }).finalResponse();
    expect([whole.output_parsed, streamed.output_parsed]).toEqual([{ city: 'Rome' }, { city: 'Rome' }]);
  });

  it('[Q-02] [S-12] [S-13] continues, retrieves, lists and deletes a response', async () => {
    const { responses } = clientOf();
    const first = await responses.create({ model: MODEL, input: 'One.' });
    const second = await responses.create({
      model: MODEL,
      input: ['Two.', 'Three.'].map((content) => ({ role: 'user', content })),
      previous_response_id: first.id,
    });
    const listed = await textsOf(await responses.inputItems.list(second.id, { limit: 1, order: 'asc' }));
    const retrieved = await responses.retrieve(second.id);
    await responses.delete(second.id);
    expect([
      listed,
      [retrieved.output_text, retrieved.previous_response_id],
      await refusal(responses.retrieve(second.id)),
      await refusal(responses.create({ model: MODEL, input: 'Four.', previous_response_id: second.id })),
    ]).toEqual([['Two.', 'Three.'], ['Hello!', first.id], 404, 400]);
  });

  it('[Q-02] [S-17] keeps a conversation, its items and its metadata', async () => {
    const { conversations, responses } = clientOf();
    const { id } = await conversations.create({
      metadata: { topic: 'a' },
      items: [{ role: 'user', content: 'Zero.' }],
    });
    await responses.create({ model: MODEL, input: 'One.', conversation: id });
    const added = await conversations.items.create(id, { items: [{ role: 'user', content: 'Two.' }] });
    const item = added.data[0]?.id ?? 'none';
    const order = { order: 'asc', limit: 2 } as const;
    const before = await textsOf(await conversations.items.list(id, order));
    const found = await conversations.items.retrieve(item, { conversation_id: id });
    await conversations.items.delete(item, { conversation_id: id });
    const updated = await conversations.update(id, { metadata: { topic: 'b' } });
    const after = await textsOf(await conversations.items.list(id, order));
    const deleted = await conversations.delete(id);
    expect([
      before,
      found.id,
      after,
      updated.metadata,
      deleted.deleted,
      await refusal(conversations.retrieve(id)),
    ]).toEqual([['Zero.', 'One.', 'Hello!', 'Two.'], item, ['Zero.', 'One.', 'Hello!'], { topic: 'b' }, true, 404]);
  });

  it('[Q-02] [S-14] counts the tokens of an input, compacts a conversation, and takes it back', async () => {
    const { responses } = clientOf();
    const counted = await responses.inputTokens.count({ model: MODEL, input: 'How long is this?' });
    app.upstream.reply({ body: textStream('They talked of Rome.') });
    const compacted = await responses.compact({ model: MODEL, input: 'Rome is a city.' });
    // The cast: what was compacted goes back as it came, as OpenAI's guides show.
    const input = [...(compacted.output as OpenAI.Responses.ResponseInput), { role: 'user', content: 'And?' } as const];
    const { status } = await responses.create({ model: MODEL, input });
    expect([
      counted.object,
      counted.input_tokens > 0,
      compacted.object,
      status,
      reported('They talked of Rome.'),
    ]).toEqual(['response.input_tokens', true, 'response.compaction', 'completed', true]);
  });

  it('[Q-02] [S-16] lists the models', async () => {
    const ids: string[] = [];
    for await (const { id } of clientOf().models.list()) ids.push(id);
    expect(ids).toEqual(['fake-model']);
  });
});
