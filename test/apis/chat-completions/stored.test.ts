/** Stored chat completions: `store: true`, and what OpenAI's client does with them later. */
import { jest } from '@jest/globals';
import OpenAI from 'openai';
import {
  functionTools,
  type MemoryStore,
  memoryStore,
  type Note,
  type ResponseStore,
  type RouterOptions,
} from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { encryptedStore } from '../../../src/stores/encrypted/encrypted-store.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { chatCompletion, chatStream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { databaseFile, type OpenDatabase, sqliteDrivers } from '../../stores/sqlite-drivers.ts';
import { startApp } from '../../support/app.ts';
import { AS_OPENAI, ask, askJson, type ChatApp, openaiClient, startChatApp } from './chat-app.ts';
import { answerOf, longId, storedCases, storeSome } from './stored-cases.ts';

describe('stored chat completions in memory', () => storedCases());

describe('stored chat completions, encrypted', () =>
  storedCases(() => encryptedStore(memoryStore(), { keys: [{ id: 'a', key: Buffer.alloc(32, 7) }] })));

describe('stored chat completions in SQLite', () => {
  const { file, remove } = databaseFile();
  let database: OpenDatabase | undefined;
  afterEach(() => database?.close());
  afterAll(remove);
  let count = 0;
  storedCases(() => {
    database = sqliteDrivers[0]?.open?.(`${file}${count++}`);
    if (!database) throw new Error('libsql is not installed.');
    return sqliteStore({ database });
  });
});

describe('stored chat completions', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  async function start(options: RouterOptions = {}): Promise<ChatApp> {
    const app = await startChatApp(options);
    closers.push(() => app.close());
    return app;
  }

  const TIGHT = { model: { outputBytes: 1000 } } as const;

  /** A stream of chunks with these fields, beside the head that all of them have. */
  function chunks(count: number, fields: (index: number) => JsonObject): string {
    const head = { id: 'chatcmpl-aaaaaaaaaaaaaaaa', object: 'chat.completion.chunk', created: 1, model: 'm' };
    const data = Array.from({ length: count }, (_, index) => JSON.stringify({ ...head, ...fields(index) }));
    return [...data, '[DONE]'].map((each) => `data: ${each}\n\n`).join('');
  }

  async function statusOf(url: string, path: string, headers: Readonly<Record<string, string>> = AS_OPENAI.headers) {
    const answer = await fetch(`${url}${path}`, { headers });
    await answer.arrayBuffer();
    return answer.status;
  }

  it('[E-08] stores nothing unless the client wants it, and hides a tenant’s from others', async () => {
    const app = await start();
    app.fake.reply({ body: answerOf(longId('a')) }, { body: answerOf(longId('b')) });
    await askJson(app.url, {}, AS_OPENAI);
    await askJson(app.url, { store: true }, AS_OPENAI);
    const other = new OpenAI({ baseURL: app.url, apiKey: 'another-key', maxRetries: 0 });
    const { data } = await other.chat.completions.list();
    expect([
      await statusOf(app.url, `/chat/completions/${longId('a')}`),
      await statusOf(app.url, `/chat/completions/${longId('b')}`),
      await statusOf(app.url, `/chat/completions/${longId('b')}`, { authorization: 'Bearer another-key' }),
      data,
    ]).toEqual([404, 200, 404, []]);
  });

  it('[E-08] sends the model server neither `store` nor `metadata`: it must not keep a tenant’s answer under the host’s key', async () => {
    const app = await start();
    app.fake.reply({ body: answerOf(longId('a')) });
    await askJson(app.url, { store: true, metadata: { a: 'b' } }, AS_OPENAI);
    const { body } = app.fake.requests[0] as unknown as { readonly body: JsonObject };
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['store']));
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['metadata']));
  });

  it('[E-08] cannot be made to replace a response, a conversation or another record by the model server’s id', async () => {
    const store = memoryStore();
    const app = await start({ store });
    const scope = await scopeIn(app, store);
    const scoped = { scope, createdAt: 0, input: [], output: [], resource: { kept: true } };
    const ids = ['resp_0123456789abcdef', 'chat_call_0123456789abcdef', 'list_of_stored_chats'];
    for (const id of ids) await store.put({ ...scoped, id });
    for (const id of ids) app.fake.reply({ body: answerOf(id) });
    for (const _ of ids) await askJson(app.url, { store: true }, AS_OPENAI);
    const kept = await Promise.all(ids.map((id) => store.get({ scope, id })));
    expect(kept.map((record) => record?.resource)).toEqual(ids.map(() => ({ kept: true })));
    const { data } = await openaiClient(app.url).chat.completions.list();
    // The list's own id is too short for an answer's, which gets another.
    const own = expect.stringMatching(/^chatcmpl-[0-9a-f]{32}$/);
    expect(data.map(({ id }) => id)).toEqual([longId('first'), ids[0], ids[1], own]);
  });

  it('[E-08] shows neither the list nor a stored completion as a conversation or a response', async () => {
    const store = memoryStore();
    const app = await start({ store });
    const responses = await startApp({ upstream: app.fake, options: { store } });
    closers.push(() => responses.close());
    await storeSome(app, openaiClient(app.url), 1);
    const paths = [
      '/conversations/list_of_stored_chats',
      '/conversations/list_of_stored_chats/items',
      `/responses/stored_chat_${longId(0)}`,
    ];
    const statuses = await Promise.all(paths.map((path) => statusOf(responses.url, path)));
    const deleted = await fetch(`${responses.url}/conversations/list_of_stored_chats`, {
      method: 'DELETE',
      ...AS_OPENAI,
    });
    const used = await fetch(`${responses.url}/responses`, {
      method: 'POST',
      headers: { ...AS_OPENAI.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'x', conversation: 'list_of_stored_chats' }),
    });
    expect([...statuses, deleted.status, used.status]).toEqual([404, 404, 404, 404, 404]);
  });

  it('[E-08] stores what guards let through, of the request and of a stream', async () => {
    const guards = { input: [pii()], output: [pii()] };
    const app = await start({ guards });
    app.fake.reply({ body: textStream([...'Write to bob@example.com now.']) });
    const answer = await ask(
      app.url,
      { stream: true, store: true, messages: [{ role: 'user', content: 'I am al@example.com.' }] },
      AS_OPENAI,
    );
    const [, id = ''] = /"id":"([^"]+)"/.exec(await answer.text()) ?? [];
    const client = openaiClient(app.url);
    const { choices } = await client.chat.completions.retrieve(id);
    const { data } = await client.chat.completions.messages.list(id);
    expect([choices[0]?.message.content, data[0]?.content]).toEqual(['Write to [EMAIL] now.', 'I am [EMAIL].']);
  });

  it('[E-08] stores the answer of all rounds, without the calls that the server ran', async () => {
    const tools = functionTools({ add: { description: 'Adds.', execute: () => '3' } });
    const app = await start({ tools });
    app.fake.reply({ body: toolCallStream([{ id: 'call_1', name: 'add', arguments: '{}' }]) });
    app.fake.reply({ body: textStream(['It is ', '3.']) });
    const answer = await ask(app.url, { stream: true, store: true }, AS_OPENAI);
    const [, id = ''] = /"id":"([^"]+)"/.exec(await answer.text()) ?? [];
    const { choices } = await openaiClient(app.url).chat.completions.retrieve(id);
    expect(choices[0]).toMatchObject({ message: { content: 'It is 3.' }, finish_reason: 'stop' });
    expect(choices[0]?.message.tool_calls).toBeUndefined();
  });

  it('[E-08] puts the client’s streamed calls together', async () => {
    const app = await start();
    const pieces = ['{"a"', ':', '1}'];
    const deltas = pieces.map((text, index) => ({
      tool_calls: [
        {
          index: 0,
          ...(index === 0 ? { id: 'call_1', type: 'function' } : {}),
          function: { ...(index === 0 ? { name: 'look' } : {}), arguments: text },
        },
      ],
    }));
    app.fake.reply({ body: chatStream(...deltas) });
    const answer = await ask(app.url, { stream: true, store: true }, AS_OPENAI);
    const [, id = ''] = /"id":"([^"]+)"/.exec(await answer.text()) ?? [];
    const { choices } = await openaiClient(app.url).chat.completions.retrieve(id);
    expect(choices[0]?.message.tool_calls).toEqual([
      { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } },
    ]);
  });

  it('[E-08] puts a streamed call of a custom tool together', async () => {
    const app = await start();
    const deltas = [{ name: 'write', input: '' }, { input: 'a ' }, { input: 'tide' }].map((custom, at) => ({
      tool_calls: [{ index: 0, ...(at === 0 ? { id: 'call_1', type: 'custom' } : {}), custom }],
    }));
    app.fake.reply({ body: chatStream(...deltas) });
    const answer = await ask(app.url, { stream: true, store: true }, AS_OPENAI);
    const [, id = ''] = /"id":"([^"]+)"/.exec(await answer.text()) ?? [];
    const { choices } = await openaiClient(app.url).chat.completions.retrieve(id);
    expect(choices[0]?.message.tool_calls).toEqual([
      { id: 'call_1', type: 'custom', custom: { name: 'write', input: 'a tide' } },
    ]);
  });

  it.each(['"0"', 'null'])(
    '[E-08] stores the text of a model server that numbers its only choice %s',
    async (index) => {
      const app = await start();
      app.fake.reply({ body: textStream('A tide.').replaceAll('"index":0', `"index":${index}`) });
      const answer = await ask(app.url, { store: true, stream: true }, AS_OPENAI);
      const [, id = ''] = /"id":"([^"]+)"/.exec(await answer.text()) ?? [];
      const { choices } = await openaiClient(app.url).chat.completions.retrieve(id);
      expect(choices.map(({ index: at, message }) => [at, message.content])).toEqual([[0, 'A tide.']]);
    },
  );

  it('[E-08] stores no answer that broke off', async () => {
    const app = await start();
    app.fake.reply({
      body: textStream(['Hel', 'lo']).replace('data: [DONE]\n\n', 'data: {"error":{"message":"Gone"}}\n\n'),
    });
    await (await ask(app.url, { stream: true, store: true }, AS_OPENAI)).text();
    const { data } = await openaiClient(app.url).chat.completions.list();
    expect(data).toEqual([]);
  });

  const LONG = 'x'.repeat(50);
  const call = (fields: JsonObject) => ({ delta: { tool_calls: [{ index: 0, ...fields }] } });
  it.each<[string, (index: number) => JsonObject]>([
    ['fields of a delta', (index) => ({ delta: { [`f${index}`]: LONG } })],
    ['names of fields', (index) => ({ delta: { [`${LONG}${index}`]: 0 } })],
    ['objects in a delta', (index) => ({ delta: { [`f${index}`]: { text: LONG } } })],
    ['lists in a delta', (index) => ({ delta: { [`${LONG}${index}`]: [] } })],
    ['fields of a choice', (index) => ({ delta: {}, [`f${index}`]: LONG })],
    ['fields of a call', (index) => call({ [`f${index}`]: LONG })],
    ['fields of a function', (index) => call({ function: { [`f${index}`]: LONG } })],
    ['fields of speech', (index) => ({ delta: { audio: { [`f${index}`]: LONG } } })],
    ['fields of log probabilities', (index) => ({ delta: {}, logprobs: { [`f${index}`]: LONG } })],
    ['a field that becomes longer', (index) => ({ delta: { state: 'x'.repeat(50 * index) } })],
    ['a value that is nested too deeply', () => ({ delta: { state: JSON.parse('['.repeat(99) + ']'.repeat(99)) } })],
    ['choices', (index) => ({ index, delta: {} })],
    [
      'fields behind a list that was replaced, with a member nested as deeply as may be',
      (index) => ({
        delta: { [`f${index}`]: LONG, x: [[1], [JSON.parse(`${'['.repeat(32)}${']'.repeat(32)}`)], 5][index] },
      }),
    ],
    [
      'fields behind lists that were replaced again and again',
      (index) => ({
        delta: index < 300 ? { x: [[1], Array(100).fill(1), 5][index % 3] } : { [`f${index}`]: LONG },
      }),
    ],
  ])('[E-08] stores no answer with %s without an end', async (_, choice) => {
    const notes: Note[] = [];
    const app = await start({ hooks: { onNote: (note) => void notes.push(note) }, limits: TIGHT });
    app.fake.reply({ body: chunks(600, (index) => ({ choices: [{ index: 0, ...choice(index) }] })) });
    await (await ask(app.url, { stream: true, store: true }, AS_OPENAI)).text();
    const { data } = await openaiClient(app.url).chat.completions.list();
    expect([data, notes.filter(({ code }) => code === 'chat_unstored').length]).toEqual([[], 1]);
  });

  it('[E-08] stores no answer with fields of a chunk without an end', async () => {
    const app = await start({ limits: TIGHT });
    app.fake.reply({ body: chunks(600, (index) => ({ [`f${index}`]: LONG, choices: [] })) });
    await (await ask(app.url, { stream: true, store: true }, AS_OPENAI)).text();
    const { data } = await openaiClient(app.url).chat.completions.list();
    expect(data).toEqual([]);
  });

  it('[E-08] stores an answer whose chunks repeat their fields any number of times', async () => {
    const app = await start({ limits: TIGHT });
    const usage = (index: number) => ({ prompt_tokens: 9, completion_tokens: index, total_tokens: 9 + index });
    app.fake.reply({
      body: chunks(600, (index) => ({
        ...{ model: LONG, system_fingerprint: LONG, usage: usage(index), constructor: LONG, timings: { ms: index } },
        choices: [{ index: 0, delta: { content: 'a', name: LONG, state: [{}].slice(index) }, toString: LONG }],
      })),
    });
    await (await ask(app.url, { stream: true, store: true }, AS_OPENAI)).text();
    const client = openaiClient(app.url);
    expect(await client.chat.completions.retrieve('chatcmpl-aaaaaaaaaaaaaaaa')).toMatchObject({
      ...{ usage: usage(599), timings: { ms: 599 } },
      choices: [{ message: { content: 'a'.repeat(600), name: LONG, state: [{}] } }],
    });
  });

  it('[E-08] refuses metadata that cannot be stored, before the model is asked', async () => {
    const app = await start();
    const answer = await askJson(app.url, { store: true, metadata: { a: 1 } }, AS_OPENAI);
    expect([answer.status, answer.body, app.fake.requests.length]).toMatchObject([
      400,
      { error: { param: 'metadata.a' } },
      0,
    ]);
  });

  it('[E-08] notes a completion that has no id to be found by, and one of a request whose tenant is unknown', async () => {
    const notes: Note[] = [];
    const app = await start({ hooks: { onNote: (note) => void notes.push(note) } });
    const { id: _, ...nameless } = JSON.parse(chatCompletion('Hello.'));
    app.fake.reply({ body: JSON.stringify(nameless) }, { body: answerOf(longId('a')) });
    await askJson(app.url, { store: true }, AS_OPENAI);
    await askJson(app.url, { store: true }, { headers: { cookie: 'session=1' } });
    expect(notes.filter(({ code }) => code === 'chat_unstored')).toHaveLength(2);
  });

  it('[E-08] fails or answers where the store fails, as the host has chosen', async () => {
    const broken: ResponseStore = { ...memoryStore(), put: () => Promise.reject(new Error('Down.')) };
    const statuses: number[] = [];
    for (const onStoreError of ['fail', 'continue'] as const) {
      const app = await start({ store: broken, onStoreError, logger: false });
      app.fake.reply({ body: answerOf(longId('a')) });
      statuses.push((await askJson(app.url, { store: true }, AS_OPENAI)).status);
    }
    expect(statuses).toEqual([500, 200]);
  });

  const choicesOf = (text: string) => text.match(/"choices":.*/g);

  it.each([false, true])(
    '[E-08] keeps apart the completions of a model server whose ids repeat, as Ollama’s do (streamed: %s)',
    async (stream) => {
      const app = await start();
      const client = openaiClient(app.url);
      const shown: { readonly id: string; readonly said: unknown }[] = [];
      for (const said of ['One.', 'Two.']) {
        const head = 'chatcmpl-123';
        const sent = stream ? textStream([...said]).replaceAll('chatcmpl-fake', head) : answerOf(head, said);
        app.fake.reply({ body: sent });
        const text = await (await ask(app.url, { store: true, stream }, AS_OPENAI)).text();
        const ids = new Set(Array.from(text.matchAll(/"id":"([^"]*)"/g), ([, id = '']) => id));
        const [id = ''] = ids;
        expect([ids.size, id, choicesOf(text)]).toEqual([
          1,
          expect.stringMatching(/^chatcmpl-[0-9a-f]{32}$/),
          choicesOf(sent),
        ]);
        shown.push({ id, said });
      }
      const found = await Promise.all(shown.map(({ id }) => client.chat.completions.retrieve(id)));
      const { data } = await client.chat.completions.list();
      expect([found.map(({ id, choices }) => ({ id, said: choices[0]?.message.content })), data.length]).toEqual([
        shown,
        2,
      ]);
    },
  );

  it.each([false, true])(
    '[E-08] shows one id for all rounds where the model server’s is too short (streamed: %s)',
    async (stream) => {
      const tools = functionTools({ add: { description: 'Adds.', execute: () => '3' } });
      const app = await start({ tools });
      const call = { id: 'call_1', name: 'add', arguments: '{}' };
      const called = { content: null, tool_calls: [{ id: call.id, type: 'function', function: call }] };
      const bodies = stream
        ? [toolCallStream([call]), textStream('It is 3.')]
        : [chatCompletion(called), chatCompletion('It is 3.')];
      for (const [at, body] of bodies.entries()) app.fake.reply({ body: body.replaceAll('chatcmpl-fake', `${at}`) });
      const text = await (await ask(app.url, { stream, store: true }, AS_OPENAI)).text();
      const ids = Array.from(text.matchAll(/"id":"([^"]*)"/g), ([, id = '']) => id);
      const { choices } = await openaiClient(app.url).chat.completions.retrieve(ids[0] ?? '');
      expect([new Set(ids).size, choices[0]?.message.content]).toEqual([1, 'It is 3.']);
    },
  );

  it('[E-08] changes nothing but the id: neither another choice nor a long number', async () => {
    const app = await start();
    const { choices, ...head } = JSON.parse(chatCompletion('One.', { id: '7' }));
    const two = JSON.stringify({ ...head, choices: [...choices, { ...choices[0], index: 1 }] });
    const sent = two.replace('"created":', '"x_number":12345678901234567890,"created":');
    app.fake.reply({ body: sent });
    const { text } = await askJson(app.url, { store: true }, AS_OPENAI);
    expect(text.replace(/"chatcmpl-[0-9a-f]{32}"/, '"7"')).toBe(sent);
  });

  it.each([
    ['of a model server that makes long ids', { store: true }, longId('a')],
    ['of one that makes UUIDs', { store: true }, 'c2a4e1f0-9d3b-4c5e-8f60-112233445566'],
    ['of one that writes none', { store: true }, ''],
    ['that is not stored', {}, 'chatcmpl-123'],
  ])('[E-08] [S-19] passes each byte of an answer %s', async (_, body, id) => {
    const app = await start();
    const [first = '', ...others] = textStream(['One', ' two.']).replaceAll('chatcmpl-fake', id).split('\n\n');
    // Azure's first chunk has an empty id.
    const sent = [first.replace(`"id":"${id}"`, '"id":""'), ...others].join('\n\n');
    const whole = answerOf(id);
    app.fake.reply({ body: sent }, { body: whole });
    const streamed = await (await ask(app.url, { ...body, stream: true }, AS_OPENAI)).text();
    expect([streamed, (await askJson(app.url, body, AS_OPENAI)).text]).toEqual([sent, whole]);
  });

  it('[E-08] lists at most 4 MiB: older completions make room', async () => {
    const store = memoryStore();
    const app = await start({ store });
    const scope = await scopeIn(app, store);
    const key = { scope, id: 'list_of_stored_chats' };
    const filler = (index: number) => ({
      type: 'stored_chat_completion',
      id: `old-${index}`,
      model: 'm',
      metadata: { text: 'x'.repeat(400) },
      storedAt: index,
    });
    await store.conversations.append(
      key,
      Array.from({ length: 8300 }, (_, index) => filler(index)),
      {},
    );
    app.fake.reply({ body: answerOf(longId('new')) });
    await askJson(app.url, { store: true }, AS_OPENAI);
    const items = await store.conversations.items(key);
    const size = Buffer.byteLength(JSON.stringify(items));
    expect([size < 4 * 1024 * 1024 + 10_000, items.at(-1)?.id]).toEqual([true, longId('new')]);
  });

  /** The scope of openai-node's key, as the store sees it. */
  async function scopeIn(app: ChatApp, store: MemoryStore): Promise<string> {
    const put = jest.spyOn(store, 'put');
    app.fake.reply({ body: answerOf(longId('first')) });
    await askJson(app.url, { store: true }, AS_OPENAI);
    const scope = put.mock.calls[0]?.[0].scope;
    put.mockRestore();
    return String(scope);
  }
});
