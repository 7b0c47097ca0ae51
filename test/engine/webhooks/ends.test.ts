/** The ends of responses in the background and of batches, as webhooks, and as the inspector shows them. */
import { createServer } from 'node:http';
import express from 'express';
import {
  chatCompletionsUpstream,
  memoryStore,
  openResponses,
  type ResponseStore,
  type RouterOptions,
} from '../../../src/index.ts';
import { createInspector } from '../../../src/observe/inspector/index.ts';
import { defaultScope } from '../../../src/ports/scope.ts';
import { chatChunk, type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { createWebhooks, type Webhooks } from '../../../src/webhooks.ts';
import { type BatchesApp, create, ended, line, startBatchesApp } from '../../apis/batches/batches-app.ts';
import { type App, startApp } from '../../support/app.ts';
import { listening } from '../../support/listening.ts';
import { Receiver, startWebhooks, until, unwrap } from './webhooks-world.ts';

let receiver: Receiver;
let model: FakeUpstream;
let app: App | undefined;
let batches: BatchesApp | undefined;
let world: { readonly webhooks: Webhooks; readonly secret: string; readonly errors: string[] };
const scope = defaultScope(new Headers({ authorization: 'Bearer alice' }));

beforeEach(async () => {
  receiver = await Receiver.start();
  model = await startFakeUpstream();
  world = await startWebhooks(receiver, { tenants: [scope] });
});
afterEach(async () => {
  await app?.close();
  await batches?.close();
  [app, batches] = [undefined, undefined];
  await world.webhooks.close();
  await Promise.all([receiver.close(), model.close()]);
});

async function start(options: RouterOptions = {}): Promise<string> {
  const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'key', retries: 0 });
  const { webhooks } = world;
  app = await startApp({ options: { upstream, store: memoryStore(), logger: false, webhooks, ...options } });
  return app.url;
}

async function post(url: string, body?: object): Promise<{ readonly id: string; readonly status: string }> {
  const headers = { authorization: 'Bearer alice', 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body ?? {}) });
  // The cast: as the API answers.
  return (await response.json()) as { readonly id: string; readonly status: string };
}

const QUESTION = { model: 'fake-model', input: 'Hi.', background: true };

describe('a response in the background', () => {
  it('[E-11] is told of when it is completed, incomplete, failed or cancelled; one in the foreground is not', async () => {
    const url = await start();
    await post(`${url}/responses`, { ...QUESTION, background: false });
    const ids = [(await post(`${url}/responses`, QUESTION)).id];
    await until(() => receiver.events.length === 1);
    model.reply({
      body: [chatChunk({ content: 'cut' }), chatChunk({}, { finish_reason: 'length' } as never), 'data: [DONE]\n\n'],
    });
    ids.push((await post(`${url}/responses`, QUESTION)).id);
    await until(() => receiver.events.length === 2);
    model.reply({
      status: 400,
      body: '{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":null}}',
    });
    ids.push((await post(`${url}/responses`, QUESTION)).id);
    await until(() => receiver.events.length === 3);
    model.reply({ hang: true });
    const { id } = await post(`${url}/responses`, QUESTION);
    await post(`${url}/responses/${id}/cancel`);
    await until(() => receiver.events.length === 4);
    const events = await Promise.all(receiver.events.map((each) => unwrap(each, world.secret)));
    expect(events.map(({ type, data }) => [type, (data as { id: string }).id])).toEqual([
      ['response.completed', ids[0]],
      ['response.incomplete', ids[1]],
      ['response.failed', ids[2]],
      ['response.cancelled', id],
    ]);
    expect(world.errors).toEqual([]);
  });

  it('[E-11] is told of when it is cancelled, also where the store takes longer than its run', async () => {
    const url = await start({ store: slowStore() });
    model.reply({ hang: true });
    const asked = model.nextRequest();
    const { id } = await post(`${url}/responses`, QUESTION);
    await asked;
    expect((await post(`${url}/responses/${id}/cancel`)).status).toBe('cancelled');
    await until(() => receiver.events.length === 1);
    expect(receiver.events.map(({ event }) => [event.type, event.data.id])).toEqual([['response.cancelled', id]]);
  });

  it('[E-11] is told of before everything is closed, although the host takes its time to find the endpoints', async () => {
    const order: string[] = [];
    let isAsked = false;
    let isClosing = false;
    const endpoints = async () => {
      isAsked = true;
      // All the turns of the event loop that an end which does not wait could need.
      for (let turns = 0; !isClosing || turns < 200; turns += isClosing ? 1 : 0)
        await new Promise((resolve) => setImmediate(resolve));
      order.push('found');
      return [];
    };
    const slow = createWebhooks({ endpoints, logger: false });
    const webhooks = { ...slow, close: () => slow.close().then(() => void order.push('closed')) };
    const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'key', retries: 0 });
    const api = openResponses({ upstream, store: memoryStore(), logger: false, webhooks });
    const server = await listening(express().use('/v1', api.router));
    await post(`${server.url}/v1/responses`, QUESTION);
    await until(() => isAsked);
    isClosing = true;
    await api.close();
    expect(order).toEqual(['found', 'closed']);
    await server.close();
  });

  it('[E-11] is told of once the host finds the endpoints again, also where nothing but its process knows of it', async () => {
    let calls = 0;
    const endpoints = () => {
      calls += 1;
      if (calls <= 6) throw new Error('The database is down.');
      return [];
    };
    const webhooks = createWebhooks({ endpoints, logger: false, hooks: { onError() {} } });
    const url = await start({ webhooks });
    await post(`${url}/responses`, QUESTION);
    await until(() => calls === 7);
    await webhooks.close();
  });

  it('[E-11] holds up neither its webhooks nor their end where the host never finds the endpoints', async () => {
    const errors: unknown[] = [];
    const onError = ({ cause }: Error) => void errors.push(String(cause));
    const webhooks = createWebhooks({
      ...{ endpoints: () => new Promise<never>(() => {}), timeoutMs: 20, logger: false },
      hooks: { onError },
    });
    await expect(webhooks.publish({ scope, subject: 'resp_1', type: 'response.completed' })).rejects.toThrow(
      'endpoints: no answer within 20 ms.',
    );
    await webhooks.close();
  });
});

/** Whose answers come later than anything in this process. */
function slowStore(): ResponseStore {
  const store = memoryStore();
  const later = async <Value>(value: Value) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return value;
  };
  return {
    ...{ name: store.name, conversations: store.conversations, events: store.events },
    get: async (key) => later(await store.get(key)),
    chain: async (...args) => later(await store.chain?.(...args)),
    put: async (response) => later(await store.put(response)),
    delete: async (key) => later(await store.delete(key)),
    // Before it is written: that is when others still see it run.
    replace: async (...args) => store.replace?.(...(await later(args))) ?? false,
  };
}

describe('a batch', () => {
  it('[E-11] is told of when it is completed, failed, expired or cancelled', async () => {
    const { webhooks } = world;
    batches = await startBatchesApp({ model, batches: { webhooks, quota: { windowMs: 2000, parallelLines: 4 } } });
    const client = batches.client('alice');
    const ids = [await create(client, [line('1')]), await create(client, ['bad'])].map(({ id }) => id);
    await until(() => receiver.events.length === 2);
    model.reply({ hang: true });
    const cancelled = await create(client, [line('2')]);
    await client.batches.cancel(cancelled.id);
    const expired = await create(client, [line('3')]);
    await ended(client, expired);
    await until(() => receiver.events.length === 4);
    const told = receiver.events.map(({ event }) => `${event.type} ${event.data.id}`);
    expect(told.toSorted()).toEqual(
      [
        `batch.completed ${ids[0]}`,
        `batch.failed ${ids[1]}`,
        `batch.cancelled ${cancelled.id}`,
        `batch.expired ${expired.id}`,
      ].toSorted(),
    );
  });
});

describe('the inspector', () => {
  it('[E-11] shows the last deliveries of one tenant, and no others', async () => {
    const { webhooks } = world;
    await webhooks.publish({ scope, subject: 'resp_1', type: 'response.completed' });
    await until(async () => (await webhooks.deliveries(scope)).length === 1);
    const page = await listening(createServer(createInspector({ webhooks }).router));
    const read = async (query: string) => {
      const response = await fetch(`${page.url}/api/webhooks${query}`);
      return [response.status, await response.json()];
    };
    expect(await read(`?tenant=${scope}`)).toEqual([200, { deliveries: await webhooks.deliveries(scope) }]);
    expect(await read('?tenant=bob')).toEqual([200, { deliveries: [] }]);
    expect((await read(''))[0]).toBe(400);
    await page.close();
    const bare = await listening(createServer(createInspector().router));
    expect((await fetch(`${bare.url}/api/webhooks?tenant=x`)).status).toBe(404);
    await bare.close();
  });
});
