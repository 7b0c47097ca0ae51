/** `background: { durable: true }`: a stream goes on without its client, which comes back for the rest. */

import { setTimeout as pause } from 'node:timers/promises';
import { chatCompletionsUpstream, memoryStore, type RouterOptions } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatChunk, type FakeUpstream, startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import { ask, askJson, askStream, errorIn, parsed, parseStream, send } from '../../http/client.ts';
import { type App, startApp } from '../../support/app.ts';
import { expectWireLaws, readWire } from '../../support/wire-laws.ts';

const apps: App[] = [];
let model: FakeUpstream;
beforeEach(async () => {
  model = await startFakeUpstream();
});
afterEach(() => Promise.all([...apps.splice(0).map((app) => app.close()), model.close()]));

async function start(options: RouterOptions = {}): Promise<App> {
  const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'key', retries: 0 });
  const app = await startApp({ options: { upstream, background: { durable: true }, logger: false, ...options } });
  apps.push(app);
  return app;
}

/** Reads the stream until this text has come, and leaves. */
async function readUntil(response: Response, wanted: string, client: AbortController): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!text.includes(wanted)) text += decoder.decode((await reader?.read())?.value, { stream: true });
  client.abort();
  return text;
}

const idIn = (text: string) => /"id":"(resp_\w+)"/.exec(text)?.[1] ?? '';

describe('a durable stream', () => {
  it('[X-08] is the same as another one, and can be read again', async () => {
    const app = await start();
    model.reply({ body: textStream('Hello') });
    const first = await askStream(app.url);
    const whole = expectWireLaws(readWire(first.text)) as JsonObject;
    const again = parseStream(await (await fetch(`${app.url}/responses/${whole.id}?stream=true`)).text());
    expect([again.events, whole.background, whole.status]).toEqual([first.events, false, 'completed']);
    expect((await send(`${app.url}/responses/${whole.id}`)).body).toEqual(whole);
  });

  it('[X-08] goes on when its client is cut off, which gets exactly the rest; the model is asked once', async () => {
    const app = await start();
    model.reply({ body: [chatChunk({ content: 'Hello' }), textStream(' there')], paceMs: 300 });
    const client = new AbortController();
    const text = await readUntil(await ask(app.url, { stream: true }, { signal: client.signal }), 'Hello', client);
    const seen = parseStream(text.slice(0, text.lastIndexOf('\n\n') + 2)).events;
    const after = seen.at(-1)?.sequence_number;
    const url = `${app.url}/responses/${idIn(text)}?stream=true&starting_after=${after}`;
    const rest = parseStream(await (await fetch(url)).text());
    const { events } = parseStream(await (await fetch(`${app.url}/responses/${idIn(text)}?stream=true`)).text());
    expect([...seen, ...rest.events]).toEqual(events);
    expect([model.requests.length, JSON.stringify(events.at(-1))]).toEqual([1, expect.stringContaining('Hello there')]);
  });

  it('[X-08] refuses with the model server’s status, and keeps nothing then', async () => {
    const store = memoryStore();
    const puts: string[] = [];
    const deletes: string[] = [];
    const watched = {
      ...store,
      put: (response: Parameters<typeof store.put>[0]) => {
        puts.push(response.id);
        return store.put(response);
      },
      delete: (key: Parameters<typeof store.delete>[0]) => {
        deletes.push(key.id);
        return store.delete(key);
      },
    };
    const app = await start({ store: watched });
    model.reply({
      status: 429,
      body: JSON.stringify({ error: { message: 'Slow down.', code: 'rate_limit_exceeded' } }),
    });
    const response = await ask(app.url, { stream: true });
    expect([response.status, errorIn(parsed(await response.text())).code]).toEqual([429, 'rate_limit_exceeded']);
    expect([puts.length, deletes]).toEqual([1, puts]);
  });

  it('[X-08] ends where the model server breaks off a call', async () => {
    const app = await start();
    const called = { index: 0, id: 'call_1', function: { name: 'ask', arguments: '{"a' } };
    model.reply({ body: [chatChunk({ content: 'Hello' }), chatChunk({ tool_calls: [called] })], cutAfterBytes: 1e6 });
    const tools = [{ type: 'function', name: 'ask', parameters: {} }];
    const { text } = await askStream(app.url, { tools });
    const whole = expectWireLaws(readWire(text)) as JsonObject;
    expect([whole.status, (await send(`${app.url}/responses/${whole.id}`)).body]).toEqual(['failed', whole]);
  });

  it.each([false, true])(
    '[X-08] shows the end of a response that took too long; in the background: %s',
    async (background) => {
      const app = await start({ limits: { turns: { durationMs: 300 } } });
      model.reply({ body: chatChunk({ content: 'Hello' }), stallAfterBytes: 1e6 });
      const { text } = await askStream(app.url, { background });
      const whole = expectWireLaws(readWire(text)) as JsonObject;
      const stored = (await send(`${app.url}/responses/${whole.id}`)).body;
      expect([whole.status, (whole.error as JsonObject).reason, stored]).toEqual([
        'failed',
        'duration_exceeded',
        whole,
      ]);
    },
  );

  it('[X-08] does not outlive its client where nothing may be stored, or as JSON', async () => {
    const app = await start();
    model.reply({ body: [chatChunk({ content: 'Hello' }), textStream(' there')], paceMs: 10_000 });
    const left = model.closed(0);
    const client = new AbortController();
    await readUntil(await ask(app.url, { stream: true, store: false }, { signal: client.signal }), 'Hello', client);
    await left;
    model.reply({ body: textStream('Hello') });
    const { id } = await askJson(app.url);
    const { status, body } = await send(`${app.url}/responses/${id}?stream=true`);
    expect([status, (body.error as JsonObject).code]).toEqual([400, 'unsupported_parameter']);
  });

  it('[X-08] sends heartbeats to a client that follows a silent model', async () => {
    const app = await start({ heartbeat: { intervalMs: 30 } });
    model.reply({ body: [chatChunk({ content: 'Hello' }), textStream(' there')], paceMs: 500 });
    const { heartbeats, done } = await askStream(app.url);
    expect([heartbeats > 2, done]).toEqual([true, true]);
  });

  it('[X-08] can be deleted while it runs', async () => {
    const app = await start();
    model.reply({ body: [chatChunk({ content: 'Hello' }), textStream(' there')], paceMs: 10_000 });
    const left = model.closed(0);
    const client = new AbortController();
    const text = await readUntil(await ask(app.url, { stream: true }, { signal: client.signal }), 'Hello', client);
    expect((await send(`${app.url}/responses/${idIn(text)}`, 'DELETE')).body.deleted).toBe(true);
    await left;
    await pause(10);
    expect((await send(`${app.url}/responses/${idIn(text)}`)).status).toBe(404);
  });
});

describe('options that cannot hold', () => {
  const engine = { name: 'far', takesOver: true, start() {}, submit() {}, release() {}, close() {} } as never;
  const { events: _, ...plain } = memoryStore();

  it.each([
    [
      'an engine without a shared store',
      { background: { engine } },
      /engine 'far' .* store must be one that they share/,
    ],
    ['an engine over memory', { background: { engine }, store: memoryStore() }, /store must be one that they share/],
    [
      'an engine without a key',
      {
        background: { engine },
        store: { ...memoryStore(), events: { ...memoryStore().events, isShared: true } } as never,
      },
      /secret must be set/,
    ],
    [
      'durable without an event log',
      { background: { durable: true }, store: plain },
      /background: durable needs a store with an event log/,
    ],
    [
      'another key',
      { background: { engines: [] } as never },
      /background: unknown option 'engines'; known are engine, durable/,
    ],
    [
      'durable that is no boolean',
      { background: { durable: 'yes' as never } },
      /durable must be true or false, got 'yes'/,
    ],
    [
      'an engine that is none',
      { background: { engine: {} as never } },
      /background: engine must be an object with start, submit/,
    ],
  ])('[X-08] %s throws a TypeError that reports what is needed', async (_name, options: RouterOptions, message) => {
    await expect(start({ background: { durable: false }, ...options })).rejects.toThrow(message);
  });
});
