/** The Conversations API over HTTP, asked by OpenAI's own SDK. */

import OpenAI from 'openai';
import { functionTools, memoryStore, type ResponseStore } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatChunk,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';

let fake: FakeUpstream;
let app: App;
let client: OpenAI;
let store: ResponseStore;

beforeEach(async () => {
  fake = await startFakeUpstream();
  store = memoryStore();
  app = await startApp({ upstream: fake, options: { store } });
  client = clientOf('sk-mine');
});

afterEach(async () => {
  await app.close();
  await fake.close();
});

function clientOf(apiKey: string): OpenAI {
  return new OpenAI({ baseURL: app.url, apiKey, maxRetries: 0 });
}

function says(role: 'user' | 'assistant', text: string) {
  return { type: 'message', role, content: text } as const;
}

/** The words of the items, oldest first. */
async function wordsIn(id: string): Promise<readonly string[]> {
  const words: string[] = [];
  for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 2 })) {
    // The cast: the test looks at messages and calls alike.
    const { type, content } = item as unknown as JsonObject & { content?: readonly { text: string }[] };
    words.push(content ? content.map(({ text }) => text).join('') : String(type));
  }
  return words;
}

function sentMessages(index: number): unknown {
  // The cast: the test looks at one field.
  const { body } = (fake.requests[index] as { readonly body: JsonObject } | undefined) ?? { body: {} };
  return body.messages;
}

/** What the SDK says of a refusal. */
async function refusal(asking: Promise<unknown>): Promise<JsonObject> {
  return asking.then(
    () => ({ status: 200 }),
    ({ status, code, param }) => ({ status, code, param }),
  );
}

it('[G-10] keeps each answer of a local shell, where the model server gives its calls the same id', async () => {
  const call = { body: toolCallStream([{ id: 'call_1', name: 'local_shell', arguments: '{"command":["ls"]}' }]) };
  fake.reply(call, call, { body: textStream('Two files.') });
  const { id: conversation } = await client.conversations.create();
  const ask = (input: unknown) =>
    client.responses.create({ model: 'm', conversation, input, tools: [{ type: 'local_shell' }] } as never);
  await ask('What is there?');
  await ask([{ type: 'local_shell_call_output', id: 'call_1', output: 'a.md' }]);
  await ask([{ type: 'local_shell_call_output', id: 'call_1', output: 'b.md' }]);
  expect(await wordsIn(conversation)).toEqual([
    ...['What is there?', 'local_shell_call', 'local_shell_call_output', 'local_shell_call', 'local_shell_call_output'],
    'Two files.',
  ]);
  // The cast: the messages have these fields.
  const sent = sentMessages(2) as readonly JsonObject[];
  expect(sent.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))).toEqual(['a.md', 'b.md']);
});

describe('conversations', () => {
  it('[S-17] are made, read, changed and deleted', async () => {
    const made = await client.conversations.create({ metadata: { topic: 'a' } });
    const read = await client.conversations.retrieve(made.id);
    const changed = await client.conversations.update(made.id, { metadata: { topic: 'b' } });
    const deleted = await client.conversations.delete(made.id);
    const resource = { id: made.id, object: 'conversation', created_at: made.created_at };
    expect([made, read, changed, deleted, await refusal(client.conversations.retrieve(made.id))]).toEqual([
      { ...resource, metadata: { topic: 'a' } },
      { ...resource, metadata: { topic: 'a' } },
      { ...resource, metadata: { topic: 'b' } },
      { id: made.id, object: 'conversation.deleted', deleted: true },
      { status: 404, code: 'conversation_not_found', param: 'conversation' },
    ]);
    expect(made.id).toMatch(/^conv_[0-9a-f]{32}$/);
  });

  it('[S-17] lose their metadata where it is replaced by null, as the type of OpenAI’s client allows', async () => {
    const { id } = await client.conversations.create({ metadata: { topic: 'a' } });
    const { metadata } = await client.conversations.update(id, { metadata: null });
    const read = await client.conversations.retrieve(id);
    // The cast: what TypeScript does not let through.
    const refused = await refusal(client.conversations.update(id, {} as { metadata: null }));
    expect([metadata, read.metadata, refused]).toEqual([
      {},
      {},
      { status: 400, code: 'missing_required_parameter', param: 'metadata' },
    ]);
  });

  it('[S-17] keep items, which come back whole: an id, a status and a list of parts', async () => {
    const { id } = await client.conversations.create({ items: [says('user', 'a')] });
    const added = await client.conversations.items.create(id, { items: [says('assistant', 'b'), says('user', 'c')] });
    expect(added.data).toEqual([
      {
        type: 'message',
        role: 'assistant',
        id: expect.stringMatching(/^msg_/),
        status: 'completed',
        content: [{ type: 'output_text', text: 'b', annotations: [], logprobs: [] }],
      },
      {
        type: 'message',
        role: 'user',
        id: expect.stringMatching(/^msg_/),
        status: 'completed',
        content: [{ type: 'input_text', text: 'c' }],
      },
    ]);
    expect(await wordsIn(id)).toEqual(['a', 'b', 'c']);
  });

  it('[S-17] give single items, and forget them', async () => {
    const { id } = await client.conversations.create({ items: [says('user', 'a'), says('user', 'b')] });
    const [first] = (await client.conversations.items.list(id, { order: 'asc' })).data;
    const itemId = String(first?.id);
    const found = await client.conversations.items.retrieve(itemId, { conversation_id: id });
    const left = await client.conversations.items.delete(itemId, { conversation_id: id });
    const again = await refusal(client.conversations.items.retrieve(itemId, { conversation_id: id }));
    expect([found, left.id, await wordsIn(id), again]).toEqual([
      first,
      id,
      ['b'],
      { status: 404, code: 'item_not_found', param: 'item_id' },
    ]);
  });

  it.each([
    [
      'an item that is there',
      { items: [{ ...says('user', 'x'), id: 'msg_a' }] },
      'item_already_in_conversation',
      'items',
    ],
    ['more than 20 items', { items: Array(21).fill(says('user', 'x')) }, 'array_above_max_length', 'items'],
    ['no items', {}, 'missing_required_parameter', 'items'],
    ['an item without a type', { items: [{}] }, 'missing_required_parameter', 'items[0].type'],
    ['an item of a wrong role', { items: [{ role: 'tool', content: '' }] }, 'invalid_value', 'items[0].role'],
    ['items that are none', { items: 'x' }, 'invalid_type', 'items'],
  ])('[S-17] [P-11] refuse %s', async (_, body, code, param) => {
    const { id } = await client.conversations.create({ items: [{ ...says('user', 'a'), id: 'msg_a' }] });
    expect(await refusal(client.conversations.items.create(id, body as never))).toEqual({ status: 400, code, param });
    expect(await wordsIn(id)).toEqual(['a']);
  });

  it('[S-17] [P-13] are invisible to another scope on every path', async () => {
    const { id } = await client.conversations.create({ items: [{ ...says('user', 'a'), id: 'msg_a' }] });
    const other = clientOf('sk-other');
    const { conversations } = other;
    const requested = [
      conversations.retrieve(id),
      conversations.update(id, { metadata: {} }),
      conversations.delete(id),
      conversations.items.list(id),
      conversations.items.create(id, { items: [says('user', 'b')] }),
      conversations.items.retrieve('msg_a', { conversation_id: id }),
      conversations.items.delete('msg_a', { conversation_id: id }),
      other.responses.create({ model: 'm', input: 'Hi', conversation: id }),
    ];
    const missing = { status: 404, code: 'conversation_not_found', param: 'conversation' };
    expect(await Promise.all(requested.map((each) => refusal(each)))).toEqual(requested.map(() => missing));
    expect(await wordsIn(id)).toEqual(['a']);
  });
});

describe('a response in a conversation', () => {
  it('[S-17] sends the model all items, and adds its input and output once it is complete', async () => {
    const { id } = await client.conversations.create({
      items: [says('user', 'I am Ada.'), says('assistant', 'Hello, Ada!')],
    });
    fake.reply({ body: textStream('You are Ada.') });
    const response = await client.responses.create({ model: 'm', input: 'Who am I?', conversation: { id } });
    expect([response.conversation, response.previous_response_id, sentMessages(0), await wordsIn(id)]).toEqual([
      { id },
      null,
      [
        { role: 'user', content: 'I am Ada.' },
        { role: 'assistant', content: 'Hello, Ada!' },
        { role: 'user', content: 'Who am I?' },
      ],
      ['I am Ada.', 'Hello, Ada!', 'Who am I?', 'You are Ada.'],
    ]);
  });

  it('[S-17] takes a tool call and its output over two turns, and what it only refers to is not added again', async () => {
    const { id } = await client.conversations.create({ items: [{ ...says('user', 'Add.'), id: 'msg_a' }] });
    const tools = [{ type: 'function', name: 'add', parameters: {}, strict: false } as const];
    fake.reply({ body: toolCallStream([{ id: 'c1', name: 'add', arguments: '{}' }]) }, { body: textStream('3') });
    const input = [{ type: 'item_reference', id: 'msg_a' } as const];
    await client.responses.create({ model: 'm', input, conversation: id, tools });
    await client.responses.create({
      model: 'm',
      input: [{ type: 'function_call_output', call_id: 'c1', output: '3' }],
      conversation: id,
      tools,
    });
    expect(await wordsIn(id)).toEqual(['Add.', 'function_call', 'function_call_output', '3']);
  });

  it('[S-17] keeps one item of an id that the input has twice, so that its pages end', async () => {
    const { id: conversation } = await client.conversations.create();
    const input = [1, 2].map((number) => ({ ...says('user', `Question ${number}`), id: 'msg_same' }));
    fake.reply({ body: textStream('Answer') });
    await client.responses.create({ model: 'm', conversation, input });
    expect(await wordsIn(conversation)).toEqual(['Question 1', 'Answer']);
  });

  it('[S-17] [P-12] is added before its last event is sent, and not at all where it failed', async () => {
    const { id } = await client.conversations.create();
    fake.reply(
      { body: textStream('Done.') },
      { body: [chatChunk({ content: 'Half' }), ' '], paceMs: 20, cutAfterBytes: 1e6 },
    );
    const seen: (readonly string[])[] = [];
    const first = await client.responses.create({ model: 'm', input: 'First', conversation: id, stream: true });
    for await (const { type } of first) if (type === 'response.completed') seen.push(await wordsIn(id));
    const second = await client.responses.create({ model: 'm', input: 'Second', conversation: id, stream: true });
    await expect(second.toReadableStream().pipeTo(new WritableStream())).rejects.toThrow('broke');
    seen.push(await wordsIn(id));
    expect(seen).toEqual([
      ['First', 'Done.'],
      ['First', 'Done.'],
    ]);
  });

  it('[S-17] is not added where the call that waits for approval could not be stored', async () => {
    const put: ResponseStore['put'] = (record) => {
      if (record.id.startsWith('approval_')) throw new Error('The store is full.');
      return store.put(record);
    };
    const tools = functionTools({ send: { description: 'Sends it.', execute: () => 'Sent.' } });
    const full = await startApp({
      upstream: fake,
      options: { store: { ...store, put }, tools, approval: () => true, hooks: { onError() {} } },
    });
    const sdk = new OpenAI({ baseURL: full.url, apiKey: 'sk-mine', maxRetries: 0 });
    const { id } = await client.conversations.create();
    fake.reply({ body: toolCallStream([{ id: 'c1', name: 'send', arguments: '{}' }]) });
    const { error } = await sdk.responses.create({ model: 'm', input: 'Send it.', conversation: id }).then(
      (response) => response,
      (failure) => ({ error: failure }),
    );
    await full.close();
    expect([error !== null, await wordsIn(id)]).toEqual([true, []]);
  });

  it('[S-17] never loses or mixes the items of turns that run at once', async () => {
    const { id } = await client.conversations.create();
    fake.reply(...Array.from({ length: 20 }, (_, turn) => ({ body: textStream(`answer`), paceMs: turn % 3 })));
    const requested = Array.from({ length: 20 }, (_, turn) =>
      client.responses.create({ model: 'm', input: `question ${turn}`, conversation: id }),
    );
    await Promise.all(requested);
    const words = await wordsIn(id);
    const questions = words.filter((_, index) => index % 2 === 0);
    const answers = words.filter((_, index) => index % 2 === 1);
    expect([questions.toSorted(), answers]).toEqual([
      Array.from({ length: 20 }, (_, turn) => `question ${turn}`).toSorted(),
      Array(20).fill('answer'),
    ]);
  });

  it('[G-13] keeps its answer where the conversation was deleted in the meantime, and can be continued', async () => {
    const notes: string[] = [];
    const noting = await startApp({
      upstream: fake,
      options: { store, hooks: { onNote: ({ code }) => void notes.push(code) } },
    });
    const sdk = new OpenAI({ baseURL: noting.url, apiKey: 'sk-mine', maxRetries: 0 });
    const { id } = await sdk.conversations.create();
    fake.reply(async () => {
      await sdk.conversations.delete(id);
      return { body: textStream('Paid for.') };
    });
    fake.reply({ body: textStream('And on.') });
    const response = await sdk.responses.create({ model: 'm', input: 'Hi', conversation: id });
    const kept = await sdk.responses.retrieve(response.id);
    const next = await sdk.responses.create({ model: 'm', input: 'Go on', previous_response_id: response.id });
    await noting.close();
    expect([response.status, kept.output_text, next.output_text, notes]).toEqual([
      'completed',
      'Paid for.',
      'And on.',
      ['conversation_gone'],
    ]);
    expect(await refusal(client.conversations.retrieve(id))).toEqual({
      status: 404,
      code: 'conversation_not_found',
      param: 'conversation',
    });
  });

  it('[G-10] has an item once that two turns at once bring, and its list ends', async () => {
    const { id } = await client.conversations.create();
    const message = { type: 'message', id: 'msg_same', role: 'user', content: 'Hi' } as const;
    let open = () => {};
    const both = new Promise<void>((resolve) => {
      open = resolve;
    });
    for (const text of ['One.', 'Two.'])
      fake.reply(async () => {
        if (fake.requests.length === 2) open();
        await both;
        return { body: textStream(text) };
      });
    const create = () =>
      client.responses.create({ model: 'm', input: [message as OpenAI.Responses.ResponseInputItem], conversation: id });
    await Promise.all([create(), create()]);
    const ids: string[] = [];
    for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 1 })) {
      ids.push(String(item.id));
      if (ids.length > 3) break;
    }
    expect([ids[0], ids.length, new Set(ids).size]).toEqual(['msg_same', 3, 3]);
  });

  it('[G-10] takes an item of one of ten requests at once, and refuses the others', async () => {
    const { id } = await client.conversations.create();
    const items = [{ type: 'message', id: 'msg_same', role: 'user', content: 'Hi' }] as const;
    const answers = await Promise.all(
      // The cast: the SDK's type has no ids for new messages.
      Array.from({ length: 10 }, () => refusal(client.conversations.items.create(id, { items: items as never }))),
    );
    expect(answers.map(({ status, code }) => code ?? status).toSorted()).toEqual([
      200,
      ...Array(9).fill('item_already_in_conversation'),
    ]);
    expect(await wordsIn(id)).toEqual(['Hi']);
  });

  it('[G-10] lists the input of a response once for each id, and its list ends', async () => {
    fake.reply({ body: textStream('Hello') });
    const says = (id: string) => ({ type: 'message', id, role: 'user', content: id });
    // The cast: the SDK's type has no ids for new messages.
    const input = ['msg_a', 'msg_b', 'msg_a', 'msg_c'].map(says) as never;
    const { id } = await client.responses.create({ model: 'm', input });
    const ids: string[] = [];
    for await (const item of client.responses.inputItems.list(id, { order: 'asc', limit: 1 })) {
      ids.push(String(item.id));
      if (ids.length > 4) break;
    }
    expect(ids).toEqual(['msg_a', 'msg_b', 'msg_c']);
  });

  it('[S-17] is refused where the store keeps none, or two pasts are named', async () => {
    const { name, get, put, delete: remove } = memoryStore();
    const plain = await startApp({ upstream: fake, options: { store: { name, get, put, delete: remove } } });
    const asking = new OpenAI({ baseURL: plain.url, apiKey: 'k', maxRetries: 0 });
    const two = { model: 'm', input: 'Hi', conversation: 'conv_1', previous_response_id: 'resp_1' };
    expect([
      await refusal(asking.conversations.create()),
      await refusal(asking.responses.create({ model: 'm', input: 'Hi', conversation: 'conv_1' })),
      await refusal(client.responses.create(two)),
    ]).toEqual([
      { status: 400, code: 'unsupported_parameter', param: 'conversation' },
      { status: 400, code: 'unsupported_parameter', param: 'conversation' },
      { status: 400, code: 'mutually_exclusive_parameters', param: 'conversation' },
    ]);
    await plain.close();
  });
});

describe('a long conversation', () => {
  /** The memory store, without the methods of conversations that are named; and how often all items were read. */
  function watchedStore(...without: readonly string[]) {
    const { conversations, ...rest } = memoryStore();
    let reads = 0;
    const items: typeof conversations.items = (key, maxBytes) => {
      reads += 1;
      return conversations.items(key, maxBytes);
    };
    const kept = Object.entries({ ...conversations, items }).filter(([name]) => !without.includes(name));
    // The cast: all that is missing is optional.
    const watched = Object.fromEntries(kept) as unknown as typeof conversations;
    return { store: { ...rest, conversations: watched }, reads: () => reads };
  }

  /** What a client makes of a conversation that it appends to, pages, reads from and renames. */
  async function used(over: ResponseStore): Promise<readonly unknown[]> {
    const own = await startApp({ upstream: fake, options: { store: over } });
    const { conversations } = new OpenAI({ baseURL: own.url, apiKey: 'k', maxRetries: 0 });
    const { id } = await conversations.create({
      items: ['a', 'b'].map((text) => ({ ...says('user', text), id: text })),
    });
    await conversations.items.create(id, { items: [{ ...says('user', 'c'), id: 'c' }] });
    const again = await refusal(conversations.items.create(id, { items: [{ ...says('user', 'b'), id: 'b' }] }));
    const newest = await conversations.items.list(id, { limit: 2 });
    const older = await conversations.items.list(id, { limit: 2, after: 'b' });
    const one = await conversations.items.retrieve('b', { conversation_id: id });
    const { metadata } = await conversations.update(id, { metadata: { topic: 'x' } });
    const lost = await refusal(conversations.items.list(id, { after: 'none' }) as Promise<unknown>);
    await own.close();
    const pages = [newest, older].map(({ data, has_more: more }) => [data.map((item) => item.id), more]);
    return [again.code, pages, one.id, metadata, lost.param];
  }

  const USED = [
    'item_already_in_conversation',
    [
      [['c', 'b'], true],
      [['a'], false],
    ],
    'b',
    { topic: 'x' },
    'after',
  ];

  it('[F-05] is appended to, paged and read from without reading all of it', async () => {
    const { store: watched, reads } = watchedStore();
    expect([await used(watched), reads()]).toEqual([USED, 0]);
  });

  it('[F-05] is served the same by a store that has none of the optional methods', async () => {
    const { store: watched, reads } = watchedStore('page', 'find', 'update');
    expect([await used(watched), reads() > 0]).toEqual([USED, true]);
  });

  it('[F-05] is refused more items past historyBytes, and a turn keeps the answer that it was let begin', async () => {
    const own = await startApp({
      upstream: fake,
      options: { store, limits: { request: { historyBytes: 3000 }, model: { outputBytes: 3000 } } },
    });
    const asking = new OpenAI({ baseURL: own.url, apiKey: 'k', maxRetries: 0 });
    const { id } = await asking.conversations.create({ items: [says('user', 'x'.repeat(2000))] });
    const full = await refusal(asking.conversations.items.create(id, { items: [says('user', 'y'.repeat(2000))] }));
    fake.reply({ body: textStream('z'.repeat(1500)) });
    const { status } = await asking.responses.create({ model: 'm', input: 'Hi', conversation: id });
    const next = await refusal(asking.responses.create({ model: 'm', input: 'Hi', conversation: id }));
    const held = (await asking.conversations.items.list(id)).data.length;
    await own.close();
    const tooLong = { status: 400, code: 'conversation_too_long', param: 'conversation' };
    expect([full, status, next, held]).toEqual([tooLong, 'completed', tooLong, 3]);
  });
});

describe('two nodes', () => {
  it('[F-10] do not bring a conversation back whose metadata one changes while the other deletes it', async () => {
    const { conversations, ...rest } = memoryStore();
    let isDeleted = false;
    // It is deleted elsewhere between the look and the change.
    const deleting = (key: { scope: string; id: string }) => {
      const found = conversations.get(key);
      if (found && !isDeleted) isDeleted = conversations.delete(key);
      return found;
    };
    const racing = { ...rest, conversations: { ...conversations, get: deleting } };
    const own = await startApp({ upstream: fake, options: { store: racing } });
    const asking = new OpenAI({ baseURL: own.url, apiKey: 'k', maxRetries: 0 });
    const { id } = await asking.conversations.create();
    const updated = await refusal(asking.conversations.update(id, { metadata: { topic: 'x' } }));
    const found = await refusal(asking.conversations.retrieve(id));
    await own.close();
    expect([updated.code, found.code]).toEqual(['conversation_not_found', 'conversation_not_found']);
  });
});
