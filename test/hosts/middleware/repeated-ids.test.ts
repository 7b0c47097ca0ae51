/** Conversations are kept apart where the model server gives several answers one id: Ollama's ids are random numbers below a thousand. */
import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  loadHistory,
  type MiddlewareOptions,
  memoryStore,
  type Note,
  type ResponseStore,
  recordTurn,
  responsesRouter,
} from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { chatCompletion, chatStream, startFakeUpstream } from '../../../src/testing/index.ts';
import { databaseFile, type OpenDatabase, sqliteDrivers } from '../../stores/sqlite-drivers.ts';
import { listening } from '../../support/listening.ts';
import { type HostRequest, responseOf, responseStream, type Step, withHost } from './host.ts';

/** A turn: what the user says, the id of the answer, and the id of the answer that it continues. */
type Turn = readonly [says: string, id: string, previousId?: string];

/** A server whose answers have these ids, one after the other; `asked` has what it is told. */
function modelWith(ids: readonly string[], asked: unknown[], says = (at: number): string => `Answer ${at}`): Step {
  const left = [...ids];
  return (req: HostRequest, res) => {
    // The cast: a middleware has read it.
    const body = req.body as JsonObject;
    const id = left.shift() ?? '';
    asked.push(JSON.stringify(body.messages ?? body.input));
    const text = says(asked.length);
    const isChat = 'messages' in body;
    const stream = isChat
      ? chatStream({ role: 'assistant', content: text }).replaceAll('chatcmpl-fake', id)
      : responseStream(text, id);
    const whole = isChat ? chatCompletion(text, { id }) : JSON.stringify(responseOf(text, id));
    const type = body.stream ? 'text/event-stream' : 'application/json';
    res.writeHead(200, { 'content-type': type }).end(body.stream ? stream : whole);
  };
}

interface Talk {
  readonly store: ResponseStore;
  readonly isChat?: boolean;
  readonly stream?: boolean;
  readonly options?: MiddlewareOptions;
  /** The answer of this number. */
  readonly says?: (at: number) => string;
  /** Called before the last turn. */
  readonly beforeLast?: () => unknown;
}

/** What becomes of the turns: the number of turns that the model is told of, or the error. */
async function talk(
  turns: readonly Turn[],
  { store, isChat = true, stream = false, options = {}, says, beforeLast }: Talk,
): Promise<readonly unknown[]> {
  const asked: string[] = [];
  const settings = { store, logger: false as const, ...options };
  const handler = modelWith(
    turns.map(([, id]) => id),
    asked,
    says,
  );
  return withHost([recordTurn(settings), loadHistory(settings), handler], async ({ post }) => {
    const seen: unknown[] = [];
    for (const [at, [words, , previousId]] of turns.entries()) {
      if (at === turns.length - 1) await beforeLast?.();
      const said = isChat ? { messages: [{ role: 'user', content: words }] } : { input: words };
      const before = asked.length;
      const answer = await post({
        model: 'm',
        stream,
        ...said,
        ...(previousId ? { previous_response_id: previousId } : {}),
      });
      const text = await answer.text();
      if (answer.status === 200) seen.push(asked[before]?.match(/Say \w+|Answer \d/g));
      else seen.push([answer.status, (JSON.parse(text) as { readonly error: JsonObject }).error]);
    }
    return seen;
  });
}

/** The refusal to continue a conversation, because of the id of one of its answers. */
function refusal(previousId: string, id: string) {
  const message = `Previous response with id '${previousId}' cannot be continued: the model server has given the id '${id}' to several answers.`;
  return [
    400,
    expect.objectContaining({ code: 'previous_response_not_found', param: 'previous_response_id', message }),
  ];
}

const { file, remove } = databaseFile();
const databases: OpenDatabase[] = [];
afterEach(() => {
  for (const database of databases.splice(0)) database.close();
});
afterAll(remove);

const STORES: Readonly<Record<string, () => ResponseStore>> = {
  memory: memoryStore,
  SQLite() {
    const database = sqliteDrivers[0]?.open?.(`${file}${Math.random()}`);
    if (!database) throw new Error('libsql is not installed.');
    databases.push(database);
    return sqliteStore({ database });
  },
};

for (const [name, open] of Object.entries(STORES))
  for (const isChat of [true, false])
    for (const stream of [true, false]) {
      const what = `${isChat ? 'chats' : 'responses'}, ${stream ? 'streamed' : 'as JSON'}, in ${name}`;

      it(`[S-12] continues no conversation by an id that another one's answer has, too (${what})`, async () => {
        const turns: Turn[] = [
          ['Say Ada', 'c-1'],
          ['Say Bob', 'c-1'],
          ['Say more', 'c-2', 'c-1'],
        ];
        expect(await talk(turns, { store: open(), isChat, stream })).toEqual([
          ['Say Ada'],
          ['Say Bob'],
          refusal('c-1', 'c-1'),
        ]);
      });

      it(`[S-12] continues none that has such an answer further back (${what})`, async () => {
        const turns: Turn[] = [
          ['Say Ada', 'c-1'],
          ['Say two', 'c-2', 'c-1'],
          ['Say Bob', 'c-1'],
          ['Say more', 'c-3', 'c-2'],
        ];
        const two = ['Say Ada', 'Answer 1', 'Say two'];
        expect(await talk(turns, { store: open(), isChat, stream })).toEqual([
          ['Say Ada'],
          two,
          ['Say Bob'],
          refusal('c-2', 'c-1'),
        ]);
      });

      it(`[S-12] makes no circle of one whose ids come again (${what})`, async () => {
        const turns: Turn[] = [
          ['Say Ada', 'c-1'],
          ['Say two', 'c-2', 'c-1'],
          ['Say three', 'c-1', 'c-2'],
          ['Say four', 'c-4', 'c-1'],
        ];
        const seen = await talk(turns, { store: open(), isChat, stream });
        expect([seen[2], seen[3]]).toEqual([
          ['Say Ada', 'Answer 1', 'Say two', 'Answer 2', 'Say three'],
          refusal('c-1', 'c-1'),
        ]);
      });
    }

it('[S-12] takes no later answer for one that the store has lost', async () => {
  const store = memoryStore();
  const options = { scope: () => 'all' };
  const turns: Turn[] = [
    ['Say Ada', 'c-1'],
    ['Say two', 'c-2', 'c-1'],
    ['Say Bob', 'c-1'],
    ['Say more', 'c-3', 'c-2'],
  ];
  // As if the first one had expired before Bob's came: it is stored a moment later than the turn behind it.
  async function lose() {
    const bobs = store.get({ scope: 'all', id: 'c-1' });
    const two = store.get({ scope: 'all', id: 'c-2' });
    store.delete({ scope: 'all', id: 'c-1' });
    if (bobs && two) store.put({ ...bobs, resource: {}, createdAt: two.createdAt + 1 });
  }
  expect((await talk(turns, { store, options, beforeLast: lose })).at(-1)).toEqual(refusal('c-2', 'c-1'));
});

it('[S-12] continues what was asked and answered twice in the same words', async () => {
  const turns: Turn[] = [
    ['Say Ada', 'c-1'],
    ['Say Ada', 'c-1'],
    ['Say more', 'c-2', 'c-1'],
  ];
  const store = memoryStore();
  expect((await talk(turns, { store, says: () => 'Answer 0' })).at(-1)).toEqual(['Say Ada', 'Answer 0', 'Say more']);
});

it('[S-12] keeps them apart where both answers end at the same time', async () => {
  const { get, put, delete: removed } = memoryStore();
  const later = () => new Promise((resolve) => setTimeout(resolve, 20));
  const store: ResponseStore = {
    name: 'slow',
    delete: removed,
    async get(key) {
      const found = get(key);
      await later();
      return found;
    },
    async put(turn) {
      await later();
      put(turn);
    },
  };
  const asked: unknown[] = [];
  const steps = [recordTurn({ store }), loadHistory({ store }), modelWith(['c-1', 'c-1'], asked)];
  const status = await withHost(steps, async ({ post }) => {
    const say = (content: string, more = {}) => post({ model: 'm', messages: [{ role: 'user', content }], ...more });
    await Promise.all(['Ada', 'Bob'].map(async (name) => (await say(name)).text()));
    return (await say('More', { previous_response_id: 'c-1' })).status;
  });
  expect(status).toBe(400);
});

it('[S-12] trusts an id that is too long to come again', async () => {
  const id = 'chatcmpl-0123456789abcdef';
  const turns: Turn[] = [
    ['Say Ada', id],
    ['Say again', id],
    ['Say more', 'c-2', id],
  ];
  expect((await talk(turns, { store: memoryStore() })).at(-1)).toEqual(['Say again', 'Answer 2', 'Say more']);
});

it.each(Object.entries(STORES))('[S-12] refuses a chain that leads back to itself, in %s', async (_, open) => {
  const store = open();
  const put = (id: string, previousId: string) =>
    store.put({ scope: 'all', id, previousId, createdAt: 1, input: [], output: [], resource: { status: 'completed' } });
  await put('resp_a', 'resp_b');
  await put('resp_b', 'resp_a');
  const seen = await talk([['Say more', 'c-1', 'resp_a']], { store, options: { scope: () => 'all' } });
  expect(seen).toEqual([refusal('resp_a', 'resp_a')]);
});

it('[S-12] notes it, and keeps the words of neither', async () => {
  const notes: unknown[] = [];
  const hooks = { onNote: ({ code }: Note, info: object) => void notes.push({ code, ...info }) };
  const store = memoryStore();
  const scope = () => 'all';
  const turns: Turn[] = [
    ['Say Ada', 'c-1'],
    ['Say Bob', 'c-1'],
    ['Say Eve', 'c-1'],
  ];
  await talk(turns, { store, options: { hooks, scope } });
  const note = expect.objectContaining({ code: 'id_repeated', responseId: 'c-1', scope: 'all' });
  expect([notes, JSON.stringify(store.get({ scope: 'all', id: 'c-1' })).match(/Ada|Bob|Eve|Answer/g)]).toEqual([
    [note, note],
    null,
  ]);
  const { url, close } = await listening(express().use(responsesRouter({ store, scope, logger: false })));
  const shown = (await (await fetch(`${url}/responses/c-1`)).json()) as JsonObject;
  await close();
  expect(shown).toMatchObject({ id: 'c-1', object: 'response', status: 'failed', output: [] });
  expect(shown).not.toHaveProperty('repeated');
});

it.each([false, true])(
  '[S-12] continues each conversation where chatCompletionsRouter is the handler (streamed: %s)',
  async (stream) => {
    const fake = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL });
    const settings = { store: memoryStore(), upstream, logger: false as const };
    const app = express().use('/v1', recordTurn(settings), loadHistory(settings), chatCompletionsRouter(settings));
    const { url, close } = await listening(app);
    async function say(content: string, previousId?: string): Promise<string> {
      const body = { model: 'm', stream, messages: [{ role: 'user', content }], previous_response_id: previousId };
      fake.reply({
        body: stream
          ? chatStream({ role: 'assistant', content: `Hello ${content}` }).replaceAll('chatcmpl-fake', 'chatcmpl-7')
          : chatCompletion(`Hello ${content}`, { id: 'chatcmpl-7' }),
      });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) });
      const [, id = ''] = /"id":"([^"]*)"/.exec(await answer.text()) ?? [];
      return id;
    }
    const [ada, bob] = [await say('Ada'), await say('Bob')];
    const more = await say('more', ada);
    await say('and more', more);
    const { body } = fake.requests.at(-1) as unknown as { readonly body: { readonly messages: readonly JsonObject[] } };
    await close();
    await upstream.close?.();
    await fake.close();
    expect([new Set([ada, bob, more]).size, body.messages.map(({ content }) => content)]).toEqual([
      3,
      ['Ada', 'Hello Ada', 'more', 'Hello more', 'and more'],
    ]);
  },
);
