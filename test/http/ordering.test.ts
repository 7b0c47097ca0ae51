/** What is kept, and when: before the client receives the end, so that it can go on at once. */

import { memoryStore, type ResponseStore, type RouterOptions, type StoredResponse } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatChunk,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import {
  answerTextIn,
  ask,
  askJson,
  askStream,
  errorIn,
  lastResponse,
  type Outcome,
  outcomeOf,
  parsed,
  send,
  typesOf,
} from './client.ts';

let fake: FakeUpstream;
let app: App;

afterEach(() => Promise.all([app.close(), fake.close()]));

async function start(options: RouterOptions = {}, reply: FakeReply = { body: textStream('Hello') }): Promise<void> {
  fake = await startFakeUpstream({ reply });
  app = await startApp({ upstream: fake, options });
}

/** A store whose `put` takes as long as the test likes. */
function slowStore() {
  const inner = memoryStore();
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let begun = () => {};
  const putting = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const store: ResponseStore = {
    ...inner,
    async put(response) {
      begun();
      await gate;
      inner.put(response);
    },
  };
  return { store, open, putting };
}

function failingStore(failing: keyof ResponseStore): ResponseStore {
  const fail = () => Promise.reject(new Error('the database is down: password=hunter2'));
  const { chain, ...inner } = memoryStore();
  return { ...inner, [failing]: fail };
}

const STORE_ERROR = {
  message: 'The store of responses failed.',
  type: 'server_error',
  param: null,
  code: 'store_error',
};

describe('a response that ends', () => {
  it('[P-12] sends its end only when the store has it', async () => {
    const { store, open, putting } = slowStore();
    await start({ store });
    const response = await ask(app.url, { stream: true });
    const reader = response.body?.getReader();
    let text = '';
    const reading = (async () => {
      for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
        text += Buffer.from(read.value).toString();
      }
    })();
    await putting;
    // Another request goes the whole way there and back meanwhile.
    await send(`${app.url}/models`);
    const before = text;
    open();
    await reading;
    expect([before.includes('output_text.delta'), before.includes('response.completed')]).toEqual([true, false]);
    expect([text.includes('response.completed'), text.endsWith('data: [DONE]\n\n')]).toEqual([true, true]);
  });

  it('[P-12] answers JSON only when the store has it', async () => {
    const { store, open, putting } = slowStore();
    await start({ store });
    let answered = false;
    const answer = askJson(app.url).finally(() => {
      answered = true;
    });
    await putting;
    await send(`${app.url}/models`);
    const early = answered;
    open();
    const { id, status } = await answer;
    expect([early, status, (await send(`${app.url}/responses/${id}`)).status]).toEqual([false, 'completed', 200]);
  });

  it('[P-12] can be continued, retrieved and deleted the moment that its end is seen', async () => {
    const inner = memoryStore();
    const later = <Value>(act: () => Value) => new Promise<Value>((resolve) => setTimeout(() => resolve(act()), 20));
    const store: ResponseStore = {
      name: 'later',
      get: (key) => later(() => inner.get(key)),
      put: (response) => later(() => inner.put(response)),
      delete: (key) => later(() => inner.delete(key)),
    };
    await start({ store });
    const response = await ask(app.url, { stream: true, input: 'one' });
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('response.completed')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
    const id = /"id":"(resp_[0-9a-f]{32})"/.exec(text)?.[1] ?? '';
    // Without waiting for [DONE] or for the end of the body.
    const next = await askJson(app.url, { previous_response_id: id, input: 'two' });
    const found = await send(`${app.url}/responses/${id}`);
    const gone = await send(`${app.url}/responses/${id}`, 'DELETE');
    const messages = (fake.requests[1]?.body as { messages: JsonObject[] } | undefined)?.messages;
    expect([next.status, found.status, gone.status, messages?.map(({ content }) => content)]).toEqual([
      'completed',
      200,
      200,
      ['one', 'Hello', 'two'],
    ]);
  });

  it('[P-12] of 20 conversations at once each goes on with its own', async () => {
    await start();
    const talk = async (name: number) => {
      const first = lastResponse(await askStream(app.url, { input: `I am ${name}.` }));
      const second = await askJson(app.url, { previous_response_id: first.id, input: 'Who am I?' });
      const items = await send(`${app.url}/responses/${first.id}/input_items`);
      const [item] = items.body.data as readonly { content: readonly { text: string }[] }[];
      return [second.previous_response_id === first.id, item?.content[0]?.text];
    };
    const seen = await Promise.all(Array.from({ length: 20 }, (_, name) => talk(name)));
    expect(seen).toEqual(seen.map((_, name) => [true, `I am ${name}.`]));
  });
});

describe('a store that fails', () => {
  const reported: { code: string; cause: string }[] = [];
  const hooks: RouterOptions['hooks'] = {
    onError: ({ code, cause }) => void reported.push({ code, cause: String(cause) }),
  };
  const CAUSE = { code: 'store_error', cause: 'Error: the database is down: password=hunter2' };

  beforeEach(() => {
    reported.length = 0;
  });

  it.each([true, false])('[P-12] fails the response, with the output so far (stream: %s)', async (stream) => {
    await start({ store: failingStore('put'), hooks });
    const response = await ask(app.url, { stream });
    const outcome = await outcomeOf(app.url, response);
    expect(outcome).toEqual({ status: 200, ending: 'failed', error: 'store_error', text: 'Hello', stored: false });
  });

  it.each([true, false])(
    '[P-12] reports why to the host, and nothing of it to the client (stream: %s)',
    async (stream) => {
      await start({ store: failingStore('put'), hooks });
      const text = await (await ask(app.url, { stream })).text();
      expect([text.includes('hunter2'), reported]).toEqual([false, [CAUSE]]);
    },
  );

  it.each([true, false])(
    '[P-12] is reported, and the response completed, where the host wants it (stream: %s)',
    async (stream) => {
      await start({ store: failingStore('put'), onStoreError: 'continue', hooks });
      const outcome = await outcomeOf(app.url, await ask(app.url, { stream }));
      const completed: Outcome = { status: 200, ending: 'completed', error: null, text: 'Hello', stored: false };
      expect([outcome, reported[0]]).toEqual([completed, CAUSE]);
    },
  );

  it.each([
    ['fail', 0],
    ['continue', 2],
  ] as const)(
    '[P-12] adds what it cannot store to no conversation, unless the host wants it: %s',
    async (onStoreError, added) => {
      await start({ store: failingStore('put'), onStoreError, hooks });
      const post = async (path: string, body: object) => {
        const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
        return parsed(await (await fetch(`${app.url}${path}`, init)).text());
      };
      const { id } = await post('/conversations', {});
      await (await ask(app.url, { conversation: id })).text();
      const { data } = parsed(await (await fetch(`${app.url}/conversations/${id}/items`)).text());
      expect([(data as unknown[]).length, reported]).toEqual([added, [CAUSE]]);
    },
  );

  it.each<[string, keyof ResponseStore, (url: string) => Promise<Response>]>([
    ['continue', 'get', (url) => ask(url, { previous_response_id: `resp_${'0'.repeat(32)}` })],
    ['retrieve', 'get', (url) => fetch(`${url}/responses/resp_x`)],
    ['list the input of', 'get', (url) => fetch(`${url}/responses/resp_x/input_items`)],
    ['delete', 'delete', (url) => fetch(`${url}/responses/resp_x`, { method: 'DELETE' })],
  ])('[P-12] is a 500 that reveals nothing, for a client that wants to %s a response', async (_, method, act) => {
    await start({ store: failingStore(method), hooks });
    const response = await act(app.url);
    expect([response.status, errorIn(parsed(await response.text())), reported]).toEqual([500, STORE_ERROR, [CAUSE]]);
  });

  it('[P-12] by throwing at once is the same as by rejecting', async () => {
    const store: ResponseStore = {
      ...memoryStore(),
      put() {
        throw new Error('at once');
      },
    };
    await start({ store, hooks });
    const stream = await askStream(app.url);
    expect([typesOf(stream.events).slice(-2), reported.map(({ code }) => code)]).toEqual([
      ['error', 'failed'],
      ['store_error'],
    ]);
  });
});

describe('what is kept', () => {
  const CUT = chatChunk({ content: 'Hel' });

  it.each<[string, FakeReply, string, boolean]>([
    ['completed', { body: textStream('Hello') }, 'completed', true],
    ['incomplete by length', { body: chatChunk({ content: 'Hel' }, { finish_reason: 'length' }) }, 'incomplete', true],
    [
      'incomplete by the filter',
      { body: chatChunk({ content: 'Hel' }, { finish_reason: 'content_filter' }) },
      'incomplete',
      true,
    ],
    ['failed', { body: CUT }, 'failed', false],
  ])('[B-28] of a response that is %s', async (_, reply, ending, stored) => {
    await start({}, reply);
    const outcomes = [
      await outcomeOf(app.url, await ask(app.url, { stream: true })),
      await outcomeOf(app.url, await ask(app.url)),
    ];
    const seen = { ending, stored };
    expect(outcomes).toEqual([expect.objectContaining(seen), expect.objectContaining(seen)]);
  });

  it('[B-28] is one record with its own input and output, and the id of the one before', async () => {
    const put: StoredResponse[] = [];
    const inner = memoryStore();
    const store: ResponseStore = {
      ...inner,
      put(response) {
        put.push(response);
        inner.put(response);
      },
    };
    await start({ store, scope: () => 'tenant' });
    const first = await askJson(app.url, { input: 'one' });
    const second = await askJson(app.url, { input: 'two', previous_response_id: first.id });
    const { output, ...resource } = second;
    expect(put.length).toBe(2);
    expect(put[1]).toEqual({
      scope: 'tenant',
      id: second.id,
      previousId: first.id,
      createdAt: expect.any(Number),
      input: [
        {
          type: 'message',
          role: 'user',
          id: expect.stringMatching(/^msg_[0-9a-f]{32}i[0-9a-f]{4}$/),
          status: 'completed',
          content: [{ type: 'input_text', text: 'two' }],
        },
      ],
      output,
      resource: { ...resource, requested: { model: 'm', service_tier: 'default' } },
    });
  });

  it.each([true, false])('[B-29] is nothing where the request says store: false (stream: %s)', async (stream) => {
    const put: unknown[] = [];
    const inner = memoryStore();
    const store: ResponseStore = { ...inner, put: (response) => void put.push(response) };
    await start({ store });
    const response = await ask(app.url, { store: false, stream });
    const text = await response.text();
    const id = /"id":"(resp_[0-9a-f]{32})"/.exec(text)?.[1] ?? '';
    const found = await send(`${app.url}/responses/${id}`);
    const items = await send(`${app.url}/responses/${id}/input_items`);
    const next = await ask(app.url, { previous_response_id: id });
    expect([put, found.status, items.status, next.status, errorIn(parsed(await next.text())).code]).toEqual([
      [],
      404,
      404,
      400,
      'previous_response_not_found',
    ]);
  });

  it('[B-29] of what came before can be continued with store: false', async () => {
    await start();
    const first = await askJson(app.url, { input: 'one' });
    const second = await askJson(app.url, { input: 'two', previous_response_id: first.id, store: false });
    expect([answerTextIn(second), second.store, (await send(`${app.url}/responses/${second.id}`)).status]).toEqual([
      'Hello',
      false,
      404,
    ]);
  });

  it('[B-28] of a deleted response is nothing, and deleting it again is a 404', async () => {
    await start();
    const { id } = await askJson(app.url);
    const answers = [
      await send(`${app.url}/responses/${id}`, 'DELETE'),
      await send(`${app.url}/responses/${id}`, 'DELETE'),
      await send(`${app.url}/responses/${id}`),
    ];
    expect([answers[0]?.body, ...answers.map(({ status }) => status)]).toEqual([
      { id, object: 'response', deleted: true },
      200,
      404,
      404,
    ]);
  });
});
