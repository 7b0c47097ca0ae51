/** The ends of responses in the background and of batches, as webhooks, and as the inspector shows them. */
import { createServer } from 'node:http';
import { chatCompletionsUpstream, memoryStore, type RouterOptions } from '../../../src/index.ts';
import { createInspector } from '../../../src/observe/inspector/index.ts';
import { defaultScope } from '../../../src/ports/scope.ts';
import { chatChunk, type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import type { Webhooks } from '../../../src/webhooks.ts';
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
});

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
