/** Clients that leave: the model server and the tools are left at once, whatever the turn is at, and its place is free. */

import type { Response as ExpressResponse, NextFunction, Request } from 'express';
import express from 'express';
import { createChatCompletion } from '../../../src/apis/chat-completions/create.ts';
import { activity } from '../../../src/engine/request/activity.ts';
import { chatCompletionsRouter, chatCompletionsUpstream, functionTools, type Upstream } from '../../../src/index.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { coreSettings } from '../../../src/server/options/core-settings.ts';
import { chatChunk, type FakeReply, startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import { type Gate, gate } from '../../support/gate.ts';
import { listening } from '../../support/listening.ts';
import { ask, askJson, type ChatApp, QUESTION, startChatApp } from './chat-app.ts';
import { calling, says } from './script.ts';

const WRITTEN = chatChunk({ role: 'assistant', content: 'Hello' });
const CALL = chatChunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'ours', arguments: '{"a":' } }] });

/** The requests that only see whether the server is free. */
const LATER = 'later';

let app: ChatApp;
let running: Gate;
let aborted: Gate<string>;
/** The requests that were reported to the host, but for those. */
let reported: string[];

beforeEach(async () => {
  [running, aborted, reported] = [gate(), gate<string>(), []];
  const execute = (_args: JsonObject, { signal }: { readonly signal: AbortSignal }) => {
    running.open();
    signal.addEventListener('abort', () => aborted.open((signal.reason as Error).message));
    return new Promise(() => {});
  };
  const note = (_told: unknown, { requestId }: { requestId: string }) =>
    void (requestId !== LATER && reported.push(requestId));
  const hooks = { onError: note, onResponse: (info: { requestId: string }) => note(info, info) };
  const tools = functionTools({ ours: { execute }, quick: { execute: () => 'ok' } });
  app = await startChatApp({ tools, hooks, limits: { turns: { concurrentTurns: 1 } } });
});
afterEach(() => app.close());

/** A client that can leave, and whose leaving is no failure of the test. */
function client(body: JsonObject) {
  const leaving = new AbortController();
  const answer = ask(app.url, body, { signal: leaving.signal });
  answer.catch(() => {});
  return { answer, leave: () => leaving.abort() };
}

/** Whether the one place of this server is free again: a turn ends a moment after its model server was left. */
async function isFree(): Promise<boolean> {
  app.fake.reply({ body: textStream('Hi') });
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const answer = await ask(app.url, { stream: true }, { headers: { 'x-request-id': LATER } });
    await answer.text();
    if (answer.status === 200) return true;
  }
  return false;
}

const FORMS = [
  ['a stream', { stream: true }],
  ['JSON', {}],
] as const;

describe.each(FORMS)('a client that leaves %s', (_form, body) => {
  it.each<readonly [moment: string, reply: FakeReply]>([
    ['before the model server answers', { hang: true }],
    ['before its first byte', { body: WRITTEN, stallAfterBytes: 0 }],
    ['in the middle of its text', { body: WRITTEN, stallAfterBytes: WRITTEN.length }],
    ['in the middle of a call', { body: CALL, stallAfterBytes: CALL.length }],
    ['while it writes on and on', { body: WRITTEN, endless: true, paceMs: 1 }],
  ])('[P-10] leaves the model server, %s', async (_moment, reply) => {
    app.fake.reply(reply);
    const requested = app.fake.nextRequest();
    const { leave } = client(body);
    await requested;
    leave();
    await app.fake.closed(0);
    expect({ free: await isFree(), reported }).toEqual({ free: true, reported: [] });
  });

  it('[P-10] [T-05] aborts a tool that runs, and the model is not asked again', async () => {
    app.fake.reply(says({ calls: [calling('ours')] }));
    const { leave } = client(body);
    await running.opened;
    leave();
    expect(await aborted.opened).toBe('The client left.');
    expect({ requested: app.fake.requests.length, free: await isFree() }).toEqual({ requested: 1, free: true });
  });

  it('[P-10] leaves the model server in a later round', async () => {
    app.fake.reply(says({ calls: [calling('quick')] }), { body: WRITTEN, stallAfterBytes: WRITTEN.length });
    const { leave } = client(body);
    await app.fake.nextRequest();
    await app.fake.nextRequest();
    leave();
    await app.fake.closed(1);
    expect(await isFree()).toBe(true);
  });
});

it('[P-10] a client that leaves once it has read something leaves the model server', async () => {
  app.fake.reply({ body: WRITTEN, stallAfterBytes: WRITTEN.length });
  const { answer, leave } = client({ stream: true });
  await (await answer).body?.getReader().read();
  leave();
  await app.fake.closed(0);
  expect({ free: await isFree(), reported }).toEqual({ free: true, reported: [] });
});

it('[P-10] a host that answers in our place frees the model server and the turn', async () => {
  const fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
  const go = gate();
  fake.reply(async () => {
    await go.opened;
    return { body: WRITTEN, stallAfterBytes: WRITTEN.length };
  });
  const answerAtOnce = (_req: Request, res: ExpressResponse, next: NextFunction) => {
    void fake.nextRequest().then(() => res.status(503).end('Too late.', () => go.open()));
    next();
  };
  const router = chatCompletionsRouter({ upstream, limits: { turns: { concurrentTurns: 1 } } });
  const { url, close } = await listening(express().use('/early', answerAtOnce).use(['/early', '/v1'], router));
  expect((await ask(`${url}/early`, { stream: true })).status).toBe(503);
  await fake.closed(0);
  fake.reply({ body: textStream('Hi') });
  expect((await ask(`${url}/v1`, { stream: true })).status).toBe(200);
  await Promise.all([close(), upstream.close?.(), fake.close()]);
});

it('[P-10] [P-14] no more turns run at once than the host allows', async () => {
  app.fake.reply({ body: WRITTEN, stallAfterBytes: WRITTEN.length });
  await ask(app.url, { stream: true });
  const { status, body } = await askJson(app.url);
  expect([status, body.error]).toEqual([429, expect.objectContaining({ code: 'too_many_streams' })]);
});

it('[P-10] a host that shuts down ends running answers with an error, and their tools', async () => {
  app.fake.reply(says({ text: 'Wait. ', calls: [calling('ours')] }));
  const answer = await ask(app.url, { stream: true });
  await running.opened;
  await app.router.drain({ timeoutMs: 1 });
  const text = await answer.text();
  expect(await aborted.opened).toBe('This server is shutting down; try again.');
  expect(text).toMatch(/"Wait\. ".*"code":"server_draining"\}\}\n\ndata: \[DONE\]\n\n$/s);
  expect((await askJson(app.url)).status).toBe(503);
});

it('[P-10] a client that reads slowly holds the model server back', async () => {
  let written = 0;
  async function* chat() {
    for (;;) {
      written += 1;
      yield { whole: false, data: [`{"id":"a","n":${written}}`] };
    }
  }
  const upstream: Upstream = { name: 'endless', stream: () => ({ async *[Symbol.asyncIterator]() {} }), chat };
  const settings = { ...coreSettings('test', { upstream }), upstream: { ...upstream, chat } };
  const call = { body: { ...QUESTION, stream: true }, params: {}, query: {}, headers: new Headers() };
  const leaving = new AbortController();
  const whole = { ...call, scope: '', requestId: 'r', signal: leaving.signal };
  const reply = await createChatCompletion(whole, settings, activity(DEFAULT_LIMITS));
  const frames = (reply.body as AsyncIterable<string>)[Symbol.asyncIterator]();
  for (let read = 0; read < 5; read += 1) await frames.next();
  await new Promise(setImmediate);
  // One ahead, for the heartbeats.
  expect(written).toBeLessThanOrEqual(6);
  await frames.return?.();
  await new Promise(setImmediate);
  expect(written).toBeLessThanOrEqual(7);
});
