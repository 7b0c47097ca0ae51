/** Turns that call tools of the server and of the client: both are served, and the next request holds both results. */

import {
  functionTools,
  memoryStore,
  type ResponseStore,
  type RouterOptions,
  type StoredResponse,
} from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import {
  AS_OPENAI,
  ask,
  askData,
  askJson,
  type ChatApp,
  type Extra,
  type Reported,
  requestedOf,
  startChatApp,
  streamed,
  USER,
  whole,
} from './chat-app.ts';
import { calling, result, says, wired } from './script.ts';

const THEIRS = calling('theirs', { b: 2 });
const OURS = calling('ours', { a: 1 });
const FORMS = [
  ['in a stream', streamed],
  ['in JSON', whole],
] as const;

let app: ChatApp;
let ran: number;

afterEach(() => app.close());

async function start(options: RouterOptions = {}): Promise<void> {
  ran = 0;
  const execute = () => `result ${++ran}`;
  app = await startChatApp({ tools: functionTools({ ours: { execute } }), ...options });
}

/** The client's next request: what it received, and the results of its own calls. */
function answered({ content, calls }: Reported): readonly JsonObject[] {
  const written = { role: 'assistant', content, tool_calls: calls.map(wired) };
  return [USER, written, ...calls.map((call) => result(call, `client's ${call.name}`))];
}

/** What the model server is asked where the client goes on with the messages. */
async function requestedWith(messages: readonly JsonObject[], extra: Extra = {}): Promise<readonly JsonObject[]> {
  app.fake.reply(says({ text: 'Done.' }));
  await askJson(app.url, { messages }, extra);
  return requestedOf(app).messages;
}

describe.each(FORMS)('a round that calls tools of the server and of the client, %s,', (_, answerOf) => {
  it.each(['functions.theirs:0', 'call_0'])(
    "[T-04] [P-13] keeps two chats apart whose model server writes '%s' as the id of both their calls",
    async (id) => {
      await start();
      const theirs = calling('theirs', { b: 2 }, id);
      const asked = ['One?', 'Two?', 'Three?'].map((content) => ({ role: 'user', content }));
      const calls: JsonObject[][] = [];
      for (const user of asked) {
        // The third model calls no tool of the server's.
        const isLast = user === asked.at(-1);
        app.fake.reply(says({ calls: isLast ? [theirs] : [OURS, theirs] }));
        const reported = await answerOf(app.url, { messages: [user] });
        const written = { role: 'assistant', content: null, tool_calls: reported.calls.map(wired) };
        calls.push([user, written, ...reported.calls.map((call) => result(call, 'mine'))]);
      }
      const results: unknown[] = [];
      for (const messages of calls) {
        const sent = await requestedWith(messages, AS_OPENAI);
        results.push(sent.filter(({ role }) => role === 'tool').map(({ content }) => content));
      }
      expect(results).toEqual([['result 1', 'mine'], ['result 2', 'mine'], ['mine']]);
    },
  );

  it("[T-04] [S-19] hands out what is the client's, as its calls, where the limit of calls is reached beside them", async () => {
    await start({ limits: { tools: { calls: 1 } } });
    app.fake.reply(says({ text: 'Both.', calls: [OURS, calling('ours', { a: 2 }, 'again'), THEIRS] }));
    const reported = await answerOf(app.url);
    expect(reported).toEqual({ content: 'Both.', calls: [THEIRS], finish: 'tool_calls' });
    const messages = await requestedWith(answered(reported), AS_OPENAI);
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(results).toEqual(['result 1', expect.stringContaining('Not run'), "client's theirs"]);
  });

  it("[A-29] [T-04] runs the server's, hands out the client's, and puts both results before the model", async () => {
    await start();
    app.fake.reply(says({ text: 'Both. ', calls: [THEIRS, OURS] }));
    const reported = await answerOf(app.url);
    expect({ reported, ran, requested: app.fake.requests.length }).toEqual({
      reported: { content: 'Both. ', calls: [THEIRS], finish: 'tool_calls' },
      ran: 1,
      requested: 1,
    });
    expect(await requestedWith(answered(reported), AS_OPENAI)).toEqual([
      USER,
      { role: 'assistant', content: 'Both. ', tool_calls: [wired(OURS), wired(THEIRS)] },
      result(OURS, 'result 1'),
      result(THEIRS, "client's theirs"),
    ]);
  });

  it("[T-04] [A-29] puts the rounds before a client's call back too, each with its own text", async () => {
    await start();
    const [one, two] = [calling('ours', { a: 1 }, 'call_1'), calling('ours', { a: 2 }, 'call_2')];
    const more = calling('theirs', { b: 3 }, 'call_3');
    app.fake.reply(
      says({ text: 'First. ', calls: [one] }),
      says({ text: 'Second. ', calls: [two] }),
      says({ text: 'Yours.', calls: [THEIRS, more] }),
    );
    const reported = await answerOf(app.url);
    expect(reported).toEqual({ content: 'First. Second. Yours.', calls: [THEIRS, more], finish: 'tool_calls' });
    expect(await requestedWith(answered(reported), AS_OPENAI)).toEqual([
      USER,
      { role: 'assistant', content: 'First. ', tool_calls: [wired(one)] },
      result(one, 'result 1'),
      { role: 'assistant', content: 'Second. ', tool_calls: [wired(two)] },
      result(two, 'result 2'),
      { role: 'assistant', content: 'Yours.', tool_calls: [wired(THEIRS), wired(more)] },
      result(THEIRS, "client's theirs"),
      result(more, "client's theirs"),
    ]);
  });

  it('[A-29] is at an end for the moment where only the client can go on, in one model call', async () => {
    await start();
    app.fake.reply(says({ calls: [THEIRS] }));
    const reported = await answerOf(app.url);
    expect({ reported, requested: app.fake.requests.length }).toEqual({
      reported: { content: null, calls: [THEIRS], finish: 'tool_calls' },
      requested: 1,
    });
    expect(await requestedWith(answered(reported), AS_OPENAI)).toEqual(answered(reported));
  });
});

describe('what was kept for the client', () => {
  /** A turn of both, and the client's next request for it. */
  async function mixedTurn(calls = [THEIRS, OURS], extra: Extra = {}): Promise<readonly JsonObject[]> {
    app.fake.reply(says({ calls }));
    const { choices } = (await askJson(app.url, {}, extra)).body as { choices: readonly [{ message: JsonObject }] };
    const { content, tool_calls: reported } = choices[0].message as {
      content: null;
      tool_calls: readonly JsonObject[];
    };
    const results = reported.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'mine' }));
    return [USER, { role: 'assistant', content, tool_calls: reported }, ...results];
  }

  it('[T-04] comes back in every later request, for as long as the conversation goes on', async () => {
    await start();
    const messages = await mixedTurn();
    const later = [...messages, { role: 'assistant', content: 'Done.' }, USER];
    const restored = await requestedWith(messages);
    expect(await requestedWith(later)).toEqual([...restored, ...later.slice(messages.length)]);
    expect(restored).toHaveLength(4);
  });

  it('[T-04] comes back where the client has written the arguments anew', async () => {
    await start();
    const [user, written, ...results] = await mixedTurn();
    const rewritten = { ...THEIRS, arguments: '{ "b" : 2 }' };
    const requested = await requestedWith([
      user,
      { ...written, tool_calls: [wired(rewritten)] },
      ...results,
    ] as JsonObject[]);
    expect(requested[1]?.tool_calls).toEqual([wired(OURS), wired(rewritten)]);
  });

  it.each([
    ['other arguments', calling('theirs', { b: 3 })],
    ['another name', { ...THEIRS, name: 'another' }],
    ['another id', { ...THEIRS, id: 'call_another' }],
  ])('[T-04] stays where a call of the client has %s: it is another conversation', async (_, call) => {
    await start();
    await mixedTurn();
    const other = answered({ content: null, calls: [call], finish: 'tool_calls' });
    expect(await requestedWith(other)).toEqual(other);
  });

  it('[T-04] stays where the request is of another scope', async () => {
    await start();
    const messages = await mixedTurn([THEIRS, OURS], { headers: { authorization: 'Bearer one' } });
    const of = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    expect(await requestedWith(messages, of('two'))).toEqual(messages);
    expect(await requestedWith(messages, of('one'))).toHaveLength(4);
  });

  it('[T-04] is more calls of the client than one, all in their places', async () => {
    await start();
    const more = calling('theirs', { b: 3 }, 'call_more');
    const messages = await mixedTurn([THEIRS, OURS, more]);
    expect(await requestedWith(messages)).toEqual([
      USER,
      { role: 'assistant', content: null, tool_calls: [wired(OURS), wired(THEIRS), wired(more)] },
      result(OURS, 'result 1'),
      ...messages.slice(2),
    ]);
  });
});

describe('a store that fails', () => {
  const full: ResponseStore = {
    ...memoryStore(),
    put(_: StoredResponse) {
      throw new Error('disk full');
    },
  };

  it('[T-04] fails the turn whose results could not be kept, in the stream or with a status', async () => {
    await start({ store: full, hooks: { onError: () => {} } });
    app.fake.reply(says({ calls: [THEIRS, OURS] }));
    const error = { message: 'The store of responses failed.', type: 'server_error', param: null, code: 'store_error' };
    const data = await askData(app.url);
    expect(data.slice(-2)).toEqual([JSON.stringify({ error }), '[DONE]']);
    const { status, body } = await askJson(app.url);
    expect({ status, body }).toEqual({ status: 500, body: { error } });
  });

  it('[T-04] is reported to the host alone, where the host wants to go on without', async () => {
    const reported: string[] = [];
    const hooks = { onError: ({ code }: { code: string }) => void reported.push(code) };
    await start({ store: full, onStoreError: 'continue', hooks });
    app.fake.reply(says({ calls: [THEIRS, OURS] }));
    expect(await whole(app.url)).toEqual({ content: null, calls: [THEIRS], finish: 'tool_calls' });
    expect(reported).toEqual(['store_error']);
  });

  it('[T-04] is not asked about turns that hold no calls, nor where the server has no tools', async () => {
    const requested: string[] = [];
    const watched: ResponseStore = {
      ...memoryStore(),
      get: ({ id }) => {
        requested.push(id);
        return undefined;
      },
    };
    await start({ store: watched });
    await askJson(app.url, { messages: [USER, { role: 'assistant', content: 'Hi.' }, USER] });
    await askJson(app.url, { messages: answered({ content: null, calls: [THEIRS], finish: 'tool_calls' }) });
    await app.close();
    await start({ store: watched, tools: undefined });
    await (await ask(app.url, { messages: answered({ content: null, calls: [THEIRS], finish: 'tool_calls' }) })).text();
    expect(requested).toEqual([expect.stringMatching(/^chat_call_theirs_[0-9a-f]{64}$/)]);
  });
});
