/** Requests that wait for a place: fair between tenants, given up by clients that leave, and ended by a shutdown. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Item, RouterOptions, Upstream } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { ask as askChat, startChatApp } from '../apis/chat-completions/chat-app.ts';
import { type App, startApp } from '../support/app.ts';
import { type Gate, gate } from '../support/gate.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { ask, errorIn, parsed, parseStream, send, typesOf } from './client.ts';

/** The calls of the model, in their order: what was asked, and what lets it answer. */
let calls: { readonly input: string; readonly answer: Gate }[];
const apps: App[] = [];

const model: Upstream = {
  name: 'held',
  async *stream({ items }) {
    const answer = gate();
    calls.push({ input: textIn(items.at(-1)), answer });
    yield [];
    await answer.opened;
    yield [
      { type: 'text-delta', text: 'Hi' },
      { type: 'finish', reason: 'stop' },
    ];
  },
};

function textIn(item: Item | undefined): string {
  return /"text":"(\w+)"/.exec(JSON.stringify(item))?.[1] ?? '';
}

const ONE_AT_A_TIME = { turns: { concurrentTurns: 1, queuedTurns: 10 } };

async function start(limits: RouterOptions['limits'] = ONE_AT_A_TIME, options: RouterOptions = {}): Promise<App> {
  const app = await startApp({ options: { upstream: model, limits, ...options } });
  apps.push(app);
  return app;
}

beforeEach(() => {
  calls = [];
});

afterEach(async () => {
  for (const { answer } of calls) answer.open();
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

/** A request of this tenant; resolves with what it is answered. */
async function asked(app: App, tenant: string, input: string, body: JsonObject = {}, signal?: AbortSignal) {
  const headers = { authorization: `Bearer ${tenant}` };
  const response = await ask(app.url, { input, ...body }, { headers, ...(signal ? { signal } : {}) });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Waits until it holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const began = Date.now(); !(await holds()); await sleep(2)) {
    if (Date.now() - began > PATIENCE_MS) throw new Error(`It never holds: ${holds}`);
  }
}

const waiting = async (app: App, count: number) =>
  until(async () => (await app.router.status()).responses.waiting === count);
const called = (count: number) => until(() => calls.length >= count);

/** Begins requests one after the other, so that they wait in this order behind the first. */
async function inOrder(app: App, requests: readonly (readonly [tenant: string, input: string, body?: JsonObject])[]) {
  const answers = [];
  for (const [index, [tenant, input, body]] of requests.entries()) {
    answers.push(asked(app, tenant, input, body));
    await (index === 0 ? called(1) : waiting(app, index));
  }
  return answers;
}

/** Lets the model answer each call as it comes, and returns what was asked in that order. */
async function orderOfCalls(count: number): Promise<readonly string[]> {
  for (let index = 0; index < count; index += 1) {
    await called(index + 1);
    calls[index]?.answer.open();
  }
  return calls.map(({ input }) => input);
}

it('[P-10] places go round between the tenants that wait, streamed or not', async () => {
  const app = await start();
  const answers = await inOrder(app, [
    ['a', 'first'],
    ['a', 'a1', { stream: true }],
    ['a', 'a2'],
    ['a', 'a3'],
    ['b', 'b1', { stream: true }],
  ]);
  const { responses } = await app.router.status();
  expect(await orderOfCalls(5)).toEqual(['first', 'a1', 'b1', 'a2', 'a3']);
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect([responses, statuses]).toEqual([{ inFlight: 1, background: 0, waiting: 4 }, [200, 200, 200, 200, 200]]);
});

it('[P-10] a tenant has places of its own, past which it waits while others are served', async () => {
  const app = await start({ turns: { concurrentTurnsPerTenant: 1, queuedTurns: 10 } });
  const answers = await inOrder(app, [
    ['a', 'a1'],
    ['a', 'a2'],
  ]);
  const other = asked(app, 'b', 'b1');
  await called(2);
  expect(await orderOfCalls(3)).toEqual(['a1', 'b1', 'a2']);
  const all = await Promise.all([...answers, other]);
  expect(all.map(({ status }) => status)).toEqual([200, 200, 200]);
});

it.each([false, true])('[P-11] who waits too long gets 429 and the time to wait, with stream: %s', async (stream) => {
  const app = await start({ turns: { ...ONE_AT_A_TIME.turns, queueTimeoutMs: 20 } });
  const first = asked(app, 'a', 'a1');
  await called(1);
  const { status, headers, text } = await asked(app, 'b', 'b1', { stream });
  const { code } = errorIn(parsed(text));
  expect([status, code, headers.get('retry-after'), calls.length]).toEqual([429, 'too_many_streams', '1', 1]);
  calls[0]?.answer.open();
  await first;
});

it('[P-10] a client that leaves while it waits gives its place in the queue up', async () => {
  const app = await start({ turns: { concurrentTurns: 1, queuedTurns: 1 } });
  const first = asked(app, 'a', 'a1');
  await called(1);
  const client = new AbortController();
  const left = asked(app, 'b', 'b1', {}, client.signal).catch(() => 'left');
  await waiting(app, 1);
  const refused = await asked(app, 'c', 'c1');
  client.abort();
  await waiting(app, 0);
  const next = asked(app, 'c', 'c2');
  await waiting(app, 1);
  expect(await orderOfCalls(2)).toEqual(['a1', 'c2']);
  const { status } = await next;
  expect([await left, refused.status, (await first).status, status]).toEqual(['left', 429, 200, 200]);
});

it('[P-10] a shutdown refuses those that wait, and lets the others end', async () => {
  const app = await start();
  const [first, second] = await inOrder(app, [
    ['a', 'a1'],
    ['b', 'b1'],
  ]);
  const drained = app.router.drain();
  const refused = await second;
  calls[0]?.answer.open();
  await drained;
  const { code } = errorIn(parsed(refused?.text ?? '{}'));
  expect([refused?.status, code, (await first)?.status]).toEqual([503, 'server_draining', 200]);
});

it('[P-10] chat completions wait too', async () => {
  const upstream: Upstream = {
    ...model,
    async *chat() {
      const answer = gate();
      calls.push({ input: 'chat', answer });
      await answer.opened;
      yield { whole: true, data: ['{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"}}]}'] };
    },
  };
  const app = await startChatApp({ upstream, limits: ONE_AT_A_TIME });
  const first = askChat(app.url);
  await called(1);
  const second = askChat(app.url);
  await until(async () => (await app.router.status()).responses.waiting === 1);
  await orderOfCalls(2);
  const statuses = [(await first).status, (await second).status];
  await app.close();
  expect(statuses).toEqual([200, 200]);
});

describe('[S-18] a response in the background', () => {
  const responseIn = (text: string) => parsed(text) as JsonObject & { readonly id: string };
  const key = { authorization: 'Bearer b' };

  it('is answered at once, and waits for its place then', async () => {
    const app = await start({ turns: { ...ONE_AT_A_TIME.turns, queueTimeoutMs: 5 } });
    const first = asked(app, 'a', 'a1');
    await called(1);
    const created = responseIn((await asked(app, 'b', 'b1', { background: true })).text);
    await waiting(app, 1);
    await sleep(20);
    const before = (await send(`${app.url}/responses/${created.id}`, 'GET', key)).body.status;
    expect(await orderOfCalls(2)).toEqual(['a1', 'b1']);
    await first;
    await until(async () => (await app.router.status()).responses.background === 0);
    const after = (await send(`${app.url}/responses/${created.id}`, 'GET', key)).body.status;
    expect([created.status, before, after]).toEqual(['queued', 'in_progress', 'completed']);
  });

  it('shows in its stream that it has begun, and goes on when it has its place', async () => {
    const app = await start(ONE_AT_A_TIME, { heartbeat: { intervalMs: 5, style: 'keepalive' } });
    const first = asked(app, 'a', 'a1');
    await called(1);
    const second = asked(app, 'b', 'b1', { background: true, stream: true });
    await waiting(app, 1);
    await sleep(20);
    await orderOfCalls(2);
    await first;
    const types = typesOf(parseStream((await second).text).events);
    expect([types.slice(0, 4), types.at(-1)]).toEqual([['created', 'queued', 'in_progress', 'keepalive'], 'completed']);
  });

  it('can be cancelled while it waits', async () => {
    const app = await start();
    const first = asked(app, 'a', 'a1');
    await called(1);
    const { id } = responseIn((await asked(app, 'b', 'b1', { background: true })).text);
    await waiting(app, 1);
    const { body } = await send(`${app.url}/responses/${id}/cancel`, 'POST', key);
    await waiting(app, 0);
    await orderOfCalls(1);
    await first;
    expect([body.status, calls.length]).toEqual(['cancelled', 1]);
  });

  it('fails when the server shuts down while it waits', async () => {
    const app = await start();
    const first = asked(app, 'a', 'a1');
    await called(1);
    const { id } = responseIn((await asked(app, 'b', 'b1', { background: true })).text);
    await waiting(app, 1);
    const drained = app.router.drain();
    calls[0]?.answer.open();
    await Promise.all([first, drained]);
    const { body } = await send(`${app.url}/responses/${id}`, 'GET', key);
    expect([body.status, (body.error as JsonObject).code]).toEqual(['failed', 'server_error']);
  });

  it('that a stream outlives waits only while its client does', async () => {
    const app = await start(ONE_AT_A_TIME, { background: { durable: true } });
    const first = asked(app, 'a', 'a1');
    await called(1);
    const client = new AbortController();
    const left = asked(app, 'b', 'b1', { stream: true }, client.signal).catch(() => 'left');
    await waiting(app, 1);
    client.abort();
    await waiting(app, 0);
    await orderOfCalls(1);
    await first;
    expect([await left, calls.length]).toEqual(['left', 1]);
  });
});
