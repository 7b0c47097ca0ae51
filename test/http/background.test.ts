/** `background: true`: the client leaves, and comes back for the response, for its events, or to cancel it. */

import { setTimeout as sleep } from 'node:timers/promises';
import {
  chatCompletionsUpstream,
  memoryStore,
  type ResponseStore,
  type RouterOptions,
  type StoredResponse,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, textStream } from '../../src/testing/index.ts';
import { type GatedUpstream, type Script, startGatedUpstream } from '../apis/chat-completions/gated-upstream.ts';
import { type App, startApp } from '../support/app.ts';
import { gate } from '../support/gate.ts';
import { HOUR_LONG_LIMITS } from '../support/patience.ts';
import { ask, askJson, errorIn, parsed, parseStream, type StreamEvent, send, typesOf } from './client.ts';

const apps: App[] = [];
let model: GatedUpstream;

/** An app whose model server plays these scripts, one for each request. */
async function start(scripts: readonly Script[], options: RouterOptions = {}): Promise<App> {
  model = await startGatedUpstream(...scripts);
  return join(options);
}

/** One more app over the same model server. */
async function join(options: RouterOptions = {}): Promise<App> {
  const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'key', retries: 0 });
  const app = await startApp({ options: { upstream, ...options } });
  apps.push(app);
  return app;
}

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  await model.close();
});

/** What a model server writes: `written`, then nothing until `open` is called, then `rest`. */
function gated(written: string, rest: string) {
  const { open, opened } = gate();
  return { script: [written, opened, rest], open };
}

const HELLO = chatChunk({ content: 'Hello' });
const THERE = textStream(' there');
const NEVER = new Promise<void>(() => {});
const ENDLESS: Script = [HELLO, NEVER];

const inBackground = (app: App, body: JsonObject = {}) => askJson(app.url, { background: true, ...body });
const retrieved = async (app: App, id: unknown) => (await send(`${app.url}/responses/${id}`)).body;
const cancelled = (app: App, id: unknown, headers?: Readonly<Record<string, string>>) =>
  send(`${app.url}/responses/${id}/cancel`, 'POST', headers);

/** The response, once it has ended. */
async function ended(app: App, id: unknown): Promise<JsonObject> {
  for (;;) {
    const response = await retrieved(app, id);
    if (response.status !== 'in_progress') return response;
    await sleep(5);
  }
}

const textOf = ({ output }: JsonObject) => JSON.stringify(output).match(/"text":"([^"]*)"/)?.[1];

/** Reads the stream until there are so many events, and leaves. */
async function readEvents(response: Response, count: number): Promise<readonly StreamEvent[]> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true });
    const whole = text.slice(0, text.lastIndexOf('\n\n') + 2);
    const { events } = parseStream(whole);
    if (events.length >= count) return events;
  }
  throw new Error(`The stream ended: ${text}`);
}

/** The response in the first event. */
function responseIn(events: readonly StreamEvent[]): JsonObject {
  const [created] = events;
  return (created?.response ?? {}) as JsonObject;
}

const eventsOf = async (app: App, id: unknown, query = '') =>
  parseStream(await (await fetch(`${app.url}/responses/${id}?stream=true${query}`)).text());

describe('a response in the background', () => {
  it('[S-18] [M-14] is queued at once, in progress while the model answers, and whole afterwards', async () => {
    const { script, open } = gated(HELLO, THERE);
    const app = await start([script]);
    const queued = await inBackground(app, { metadata: { a: 'b' } });
    const running = await retrieved(app, queued.id);
    open();
    const whole = await ended(app, queued.id);
    expect([queued.status, queued.background, queued.output]).toEqual(['queued', true, []]);
    expect(running).toEqual({ ...queued, status: 'in_progress' });
    expect([whole.status, whole.background, textOf(whole), whole.metadata]).toEqual([
      'completed',
      true,
      'Hello there',
      { a: 'b' },
    ]);
  });

  it('[S-18] goes on when its client leaves the stream, which begins before the model has answered', async () => {
    const { script, open } = gated('', textStream('Hello'));
    const app = await start([script]);
    const client = new AbortController();
    const response = await ask(app.url, { background: true, stream: true }, { signal: client.signal });
    const events = await readEvents(response, 3);
    client.abort();
    await sleep(50);
    open();
    const { id } = responseIn(events);
    expect(typesOf(events)).toEqual(['created', 'queued', 'in_progress']);
    expect(textOf(await ended(app, id))).toBe('Hello');
  });

  it('[S-18] [S-12] can be continued when it has ended, and not before', async () => {
    const { script, open } = gated(HELLO, THERE);
    const app = await start([script, [textStream('Fine')]]);
    const { id } = await inBackground(app);
    const early = await ask(app.url, { previous_response_id: id });
    expect([early.status, errorIn(parsed(await early.text())).code]).toEqual([400, 'response_in_progress']);
    open();
    await ended(app, id);
    expect((await askJson(app.url, { previous_response_id: id })).status).toBe('completed');
  });

  it('[S-18] [S-12] whose process is gone cannot be continued, as one that has failed', async () => {
    const store = memoryStore();
    const app = await start([ENDLESS], { store });
    const { id } = await inBackground(app);
    const key = { scope: 'anonymous', id: String(id) };
    // The cast: it was just stored.
    const stored = store.get(key) as StoredResponse;
    store.put({ ...stored, createdAt: stored.createdAt - 2 * 60 * 60_000 });
    const shown = await retrieved(app, id);
    const next = await ask(app.url, { previous_response_id: id });
    expect([shown.status, next.status, errorIn(parsed(await next.text())).code]).toEqual([
      ...['failed', 400, 'previous_response_not_found'],
    ]);
  });

  it('[S-18] [S-17] leaves nothing in its conversation where its end could not be stored, and it has failed', async () => {
    const store = memoryStore();
    const replace: ResponseStore['replace'] = (response, version) => {
      if (response.resource.status === 'completed') throw new Error('The connection was lost.');
      return store.replace(response, version);
    };
    const app = await start([[textStream('Hello')]], { store: { ...store, replace }, hooks: { onError() {} } });
    const { body: made } = await send(`${app.url}/conversations`, 'POST');
    const { id } = await inBackground(app, { conversation: made.id });
    const over = await ended(app, id);
    const { body: list } = await send(`${app.url}/conversations/${made.id}/items`);
    expect([over.status, list.data]).toEqual(['failed', []]);
  });

  it.each([true, false])('[S-18] is kept as failed where the model server refuses it (stream: %s)', async (stream) => {
    const reported: unknown[] = [];
    const hooks = {
      onError: (error: { code: string }) => void reported.push(error.code),
      onResponse: tellStatus(reported),
    };
    const upstream = chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:1/v1', apiKey: 'key', retries: 0 });
    const app = await start([], { upstream, hooks });
    const answer = await ask(app.url, { background: true, stream });
    const text = await answer.text();
    const { id } = stream ? responseIn(parseStream(text).events) : parsed(text);
    const { status, error } = await ended(app, id);
    expect([answer.status, status, error]).toEqual([
      200,
      'failed',
      expect.objectContaining({ code: 'server_error', reason: 'upstream_unavailable', message: expect.any(String) }),
    ]);
    expect(reported).toEqual(['upstream_unavailable', 'failed']);
    if (stream) expect(typesOf(parseStream(text).events).slice(-2)).toEqual(['error', 'failed']);
  });

  it('[S-18] [P-12] keeps a turn that failed halfway, with what there was of it, and nothing goes on from there', async () => {
    const app = await start([[HELLO]]);
    const { id } = await inBackground(app);
    const { status, output } = await ended(app, id);
    const next = await ask(app.url, { previous_response_id: id });
    expect([status, textOf({ output })]).toEqual(['failed', 'Hello']);
    expect([next.status, errorIn(parsed(await next.text())).code]).toEqual([400, 'previous_response_not_found']);
  });

  it('[S-18] cannot be continued once it is cancelled, and says why', async () => {
    const app = await start([ENDLESS]);
    const { id } = await inBackground(app);
    await cancelled(app, id);
    const next = await ask(app.url, { previous_response_id: id });
    const { code, message, param } = errorIn(parsed(await next.text()));
    expect([next.status, code, param, message]).toEqual([
      400,
      'previous_response_not_found',
      'previous_response_id',
      `Previous response with id '${id}' cannot be continued, since its status is 'cancelled'.`,
    ]);
  });

  it('[F-27] [V-17] is forgotten ten minutes after its end where it is not to be stored, and nothing goes on from it', async () => {
    const store = memoryStore();
    const { script, open } = gated(HELLO, THERE);
    const app = await start([script], { store });
    const other = await join({ store });
    const { id, status, store: isStored } = await inBackground(app, { store: false });
    const early = await retrieved(other, id);
    const before = Date.now();
    open();
    const whole = await ended(other, id);
    const after = Date.now();
    const kept = (await store.get({ scope: 'anonymous', id: String(id) })) as StoredResponse;
    const end = Number(kept.expiresAt) - 10 * 60_000;
    const next = await ask(app.url, { previous_response_id: id });
    expect([status, isStored, early.status, whole.status, textOf(whole)]).toEqual([
      'queued',
      false,
      'in_progress',
      'completed',
      'Hello there',
    ]);
    expect([end >= before, end <= after]).toEqual([true, true]);
    expect([next.status, errorIn(parsed(await next.text())).code]).toEqual([400, 'previous_response_not_found']);
  });

  it('[F-27] [V-17] is forgotten as well where it is cancelled, fails, or its node dies', async () => {
    const store = memoryStore();
    const app = await start([ENDLESS, [HELLO], ENDLESS], { store, limits: { turns: { durationMs: 100_000 } } });
    const expiryOf = async (id: unknown) => {
      const { expiresAt, createdAt } = (await store.get({ scope: 'anonymous', id: String(id) })) as StoredResponse;
      return Math.round((Number(expiresAt) - createdAt) / 10_000) * 10;
    };
    const stopped = await inBackground(app, { store: false });
    await cancelled(app, stopped.id);
    const failed = await inBackground(app, { store: false });
    const { status } = await ended(app, failed.id);
    const running = await inBackground(app, { store: false });
    expect([status, await expiryOf(stopped.id), await expiryOf(failed.id), await expiryOf(running.id)]).toEqual([
      'failed',
      600,
      600,
      700,
    ]);
  });

  it('[F-27] [V-17] is streamed again where it is not stored, and its items are nothing to refer to', async () => {
    const notes: unknown[] = [];
    const hooks = { onNote: ({ code }: { code: string }) => void notes.push(code) };
    const app = await start([[textStream('Hello')], [textStream('Hello')]], { hooks });
    const first = parseStream(await (await ask(app.url, { background: true, stream: true, store: false })).text());
    const response = first.events.at(-1)?.response as JsonObject;
    expect((await eventsOf(app, response.id)).text).toBe(first.text);
    const [{ id }] = response.output as [JsonObject];
    await askJson(app.url, {
      input: [
        { type: 'item_reference', id },
        { role: 'user', content: 'Hi' },
      ],
    });
    expect(notes).toEqual(['reference_skipped']);
  });

  it('[S-18] is refused where the store cannot keep it, whatever the host does about its failures', async () => {
    const broken: ResponseStore = { ...memoryStore(), put: () => Promise.reject(new Error('full')) };
    const app = await start([ENDLESS], { store: broken, onStoreError: 'continue', hooks: { onError() {} } });
    const answer = await ask(app.url, { background: true });
    expect([answer.status, errorIn(parsed(await answer.text())).code]).toEqual([500, 'store_error']);
    await app.router.drain({ timeoutMs: 0 });
  });

  it.each([
    ['continue', 1, 'completed'],
    ['fail', 2, 'failed'],
  ] as const)(
    '[S-18] ends in the store, too, after an outage at its end, with onStoreError: %s',
    async (onStoreError, outages, status) => {
      const store = memoryStore();
      let left = outages;
      const replace: ResponseStore['replace'] = async (...change) => {
        if (left-- > 0) throw new Error('The database restarts.');
        return store.replace?.(...change) ?? false;
      };
      const app = await start([[textStream('Hello')]], {
        store: { ...store, replace },
        onStoreError,
        hooks: { onError() {} },
      });
      const { id } = await inBackground(app);
      expect((await ended(app, id)).status).toBe(status);
    },
  );

  it('[S-18] [P-10] ends when it is deleted', async () => {
    const app = await start([ENDLESS], { limits: HOUR_LONG_LIMITS });
    const { id } = await inBackground(app);
    const deleted = await send(`${app.url}/responses/${id}`, 'DELETE');
    await model.left;
    expect([deleted.body.deleted, (await send(`${app.url}/responses/${id}`)).status]).toEqual([true, 404]);
  });

  it('[S-18] does not hold up the end of the server where its store no longer answers', async () => {
    const store = memoryStore();
    let isHanging = false;
    const get: ResponseStore['get'] = (key) => (isHanging ? new Promise(() => {}) : store.get(key));
    const app = await start([ENDLESS], {
      store: { ...store, get },
      limits: { request: { storeTimeoutMs: 3_600_000 } },
    });
    await inBackground(app);
    isHanging = true;
    await app.router.drain({ timeoutMs: 0 });
  });

  it('[S-18] fails where the server shuts down, and is kept so', async () => {
    const app = await start([ENDLESS]);
    const { id } = await inBackground(app);
    await app.router.drain({ timeoutMs: 0 });
    const { status, error } = await retrieved(app, id);
    expect([status, (error as JsonObject).reason]).toEqual(['failed', 'server_draining']);
  });

  it('[S-18] has failed where the server that made it has been gone for longer than it could take', async () => {
    const store = memoryStore();
    const app = await start([ENDLESS], { store });
    const { id } = await inBackground(app);
    const kept = store.get({ scope: 'anonymous', id: String(id) }) as StoredResponse;
    store.put({ ...kept, createdAt: Date.now() - 1000 - 60_001 });
    const other = await join({ store, limits: { turns: { durationMs: 1000 } } });
    const { status, error } = await retrieved(other, id);
    expect([status, (error as JsonObject).code]).toEqual(['failed', 'server_error']);
  });
});

function tellStatus(reported: unknown[]) {
  return ({ status }: { status: string }) => void reported.push(status);
}

/** How a stream is written: the types of its events but for the one that only the background has, and its framing. */
function mannerOf(text: string) {
  const types = [...text.matchAll(/^data: (?=.*?"type":"([^"]+)")/gm)].map(([, type]) => type);
  const named = text.match(/^event: (?!response.queued)/gm)?.length;
  return { types: types.filter((type) => type !== 'response.queued'), named, done: text.endsWith('data: [DONE]\n\n') };
}

describe('the events of a response in the background', () => {
  const STREAM = { background: true, stream: true };

  it('[S-18] are sent again, all of them or those behind a number, as they were', async () => {
    const app = await start([[textStream('Hello there')]]);
    const first = parseStream(await (await ask(app.url, STREAM)).text());
    const { id } = responseIn(first.events);
    expect((await eventsOf(app, id)).text).toBe(first.text);
    for (const { sequence_number: number } of first.events) {
      const rest = await eventsOf(app, id, `&starting_after=${number}`);
      expect([rest.events, rest.done]).toEqual([first.events.slice(number + 1), true]);
    }
  });

  it('[S-18] go on where the client left, while the model is still answering', async () => {
    const { script, open } = gated(HELLO, THERE);
    const app = await start([script]);
    const seen = await readEvents(await ask(app.url, STREAM), 6);
    const { id } = responseIn(seen);
    const last = Number(seen.at(-1)?.sequence_number);
    const rest = eventsOf(app, id, `&starting_after=${last}`);
    await sleep(20);
    open();
    const { events } = await rest;
    expect(events[0]?.sequence_number).toBe(last + 1);
    expect([...seen, ...events]).toEqual((await eventsOf(app, id)).events);
    expect(textOf(events.at(-1)?.response as JsonObject)).toBe('Hello there');
  });

  it.each([
    ['', 'of a response that was not streamed', { background: true }],
    ['', 'of a response that was not in the background', {}],
    ['&starting_after=-1', 'behind a number below 0', STREAM],
    ['&starting_after=x', 'behind no number', STREAM],
  ])('[S-18] are refused (%s): %s', async (query, _, body) => {
    const app = await start([[textStream('Hello')]]);
    const text = await (await ask(app.url, body)).text();
    const { id } = 'stream' in body ? responseIn(parseStream(text).events) : parsed(text);
    const answer = await send(`${app.url}/responses/${id}?stream=true${query}`);
    const param = query ? 'starting_after' : 'stream';
    expect([answer.status, errorIn(answer.body).param]).toEqual([400, param]);
  });

  it.each(['openai', 'open-responses-server', 'vllm-responses', 'tokligence'] as const)(
    '[S-18] [X-04] are sent, and sent again, in the dialect of %s',
    async (dialect) => {
      const app = await start([[textStream('Hello')], [textStream('Hello')]], { dialect });
      const foreground = await (await ask(app.url, { stream: true })).text();
      const background = await (await ask(app.url, STREAM)).text();
      const id = /resp_\w+/.exec(background);
      expect(mannerOf(background)).toEqual(mannerOf(foreground));
      expect(await (await fetch(`${app.url}/responses/${id}?stream=true`)).text()).toBe(background);
    },
  );

  it('[S-18] are dropped when their time is over, and the response stays', async () => {
    const app = await start([[textStream('Hello')]], { limits: { turns: { eventsTtlMs: 20 } } });
    const events = parseStream(await (await ask(app.url, { background: true, stream: true })).text()).events;
    const { id } = responseIn(events);
    await sleep(100);
    const { body } = await send(`${app.url}/responses/${id}?stream=true`);
    expect(errorIn(body)).toMatchObject({ code: 'unsupported_parameter', param: 'stream' });
    expect(await retrieved(app, id)).toMatchObject({ status: 'completed' });
  });

  it('[S-18] are not available on another node, which reports it', async () => {
    const store = memoryStore();
    const app = await start([[textStream('Hello')]], { store });
    const other = await join({ store });
    const text = await (await ask(app.url, STREAM)).text();
    const { id } = responseIn(parseStream(text).events);
    const answer = await send(`${other.url}/responses/${id}?stream=true`);
    expect([answer.status, errorIn(answer.body).code]).toEqual([400, 'unsupported_parameter']);
  });
});

describe('cancelling', () => {
  it('[S-18] [P-10] stops a response at once, which stays as it was then, with what was whole of it', async () => {
    const app = await start([[chatChunk({ reasoning_content: 'Hm' }), HELLO, NEVER]], { limits: HOUR_LONG_LIMITS });
    const { id } = responseIn(await readEvents(await ask(app.url, { background: true, stream: true }), 8));
    const first = await cancelled(app, id);
    await model.left;
    expect([first.status, first.body.status, first.body.output]).toEqual([
      200,
      'cancelled',
      [expect.objectContaining({ type: 'reasoning', status: 'completed' })],
    ]);
    expect([await cancelled(app, id), await retrieved(app, id)]).toEqual([first, first.body]);
  });

  it('[S-18] ends the streams of its events without one that no client knows', async () => {
    const app = await start([ENDLESS]);
    const { id } = responseIn(await readEvents(await ask(app.url, { background: true, stream: true }), 6));
    const stream = eventsOf(app, id);
    await cancelled(app, id);
    const { events, done } = await stream;
    expect([typesOf(events).at(-1), done]).toEqual(['output_text.delta', true]);
  });

  it('[S-18] leaves a response as it is that has ended', async () => {
    const app = await start([[textStream('Hello')]]);
    const { id } = await inBackground(app);
    const whole = await ended(app, id);
    expect(await cancelled(app, id)).toEqual({ status: 200, body: whole });
  });

  it('[S-18] is refused for a response that its client waited for', async () => {
    const app = await start([[textStream('Hello')]]);
    const { id } = await askJson(app.url);
    const { status, body } = await cancelled(app, id);
    expect([status, errorIn(body).message]).toEqual([400, 'Cannot cancel a synchronous response.']);
  });

  it('[S-18] [P-13] knows nothing of missing responses, nor of those of others', async () => {
    const app = await start([ENDLESS]);
    const { id } = await inBackground(app);
    const answers = [await cancelled(app, id, { authorization: 'Bearer other' }), await cancelled(app, 'resp_1')];
    expect(answers.map(({ status, body }) => [status, errorIn(body).code])).toEqual([
      [404, 'response_not_found'],
      [404, 'response_not_found'],
    ]);
    expect((await retrieved(app, id)).status).toBe('in_progress');
  });

  it('[S-18] [P-10] makes every node leave its model server within seconds', async () => {
    const store = memoryStore();
    const app = await start([ENDLESS], { store });
    const other = await join({ store });
    const { id } = await inBackground(app);
    await cancelled(other, id);
    await model.left;
    expect((await retrieved(app, id)).status).toBe('cancelled');
  });

  it.each([
    ['says', THERE],
    ['breaks off', ''],
  ])('[S-18] counts on every node, and that the model %s later changes nothing', async (_, rest) => {
    const store = memoryStore();
    const { script, open } = gated(HELLO, rest);
    const app = await start([script], { store });
    const other = await join({ store });
    const { id } = await inBackground(app);
    const { body } = await cancelled(other, id);
    open();
    await app.router.drain();
    expect([body.status, await retrieved(app, id)]).toEqual(['cancelled', body]);
  });
});

describe('the end of a response', () => {
  /** A store that lets something happen just before the first response is replaced, as on another node. */
  function interrupted(happen: (store: ReturnType<typeof memoryStore>, ended: StoredResponse) => void) {
    const store = memoryStore();
    let isDone = false;
    const replace: typeof store.replace = (response, version) => {
      if (!isDone) happen(store, response);
      isDone = true;
      return store.replace(response, version);
    };
    return { ...store, replace } satisfies ResponseStore;
  }

  function cancelElsewhere(store: ReturnType<typeof memoryStore>, { scope, id }: StoredResponse): void {
    const running = store.get({ scope, id }) as StoredResponse;
    store.replace({ ...running, resource: { ...running.resource, status: 'cancelled' }, version: 1 }, 0);
  }

  it('[F-10] is not sent where another node has cancelled it by then, and leaves nothing in its conversation', async () => {
    const store = interrupted(cancelElsewhere);
    const app = await start([[textStream('Hello')]], { store });
    const conversation = { scope: 'anonymous', id: 'conv_1', createdAt: 0, metadata: {} };
    store.conversations.put(conversation);
    const answer = await ask(app.url, { background: true, stream: true, conversation: 'conv_1' });
    const { events, done } = parseStream(await answer.text());
    const { id } = responseIn(events);
    expect([typesOf(events).includes('completed'), done, (await retrieved(app, id)).status]).toEqual([
      false,
      true,
      'cancelled',
    ]);
    expect(store.conversations.items(conversation)).toEqual([]);
  });

  it('[F-10] does not bring back what another node has deleted by then', async () => {
    const store = interrupted((inner, response) => void inner.delete(response));
    const app = await start([[textStream('Hello')]], { store });
    const { events } = parseStream(await (await ask(app.url, { background: true, stream: true })).text());
    expect([typesOf(events).includes('completed'), store.size]).toEqual([false, 0]);
  });

  it('[F-10] is what cancelling answers where it came first', async () => {
    const store = interrupted((inner, { scope, id }) => {
      const running = inner.get({ scope, id }) as StoredResponse;
      inner.replace({ ...running, resource: { ...running.resource, status: 'completed' }, version: 1 }, 0);
    });
    const app = await start([ENDLESS], { store });
    const other = await join({ store });
    const { id } = await inBackground(app);
    const { status, body } = await cancelled(other, id);
    expect([status, body.status, (await retrieved(app, id)).status]).toEqual([200, 'completed', 'completed']);
    await app.router.drain({ timeoutMs: 0 });
  });

  it('[F-10] is a 404 to who cancels what is deleted in that moment', async () => {
    const store = interrupted((inner, response) => void inner.delete(response));
    const app = await start([ENDLESS], { store });
    const other = await join({ store });
    const { id } = await inBackground(app);
    expect([(await cancelled(other, id)).status, store.size]).toEqual([404, 0]);
    await app.router.drain({ timeoutMs: 0 });
  });

  it('[F-10] works over a store that cannot replace', async () => {
    const { replace: _, ...store } = memoryStore();
    const app = await start([[textStream('Hello')], ENDLESS], { store });
    const first = await inBackground(app);
    const whole = await ended(app, first.id);
    const second = await inBackground(app);
    expect([whole.status, (await cancelled(app, second.id)).body.status]).toEqual(['completed', 'cancelled']);
  });
});
