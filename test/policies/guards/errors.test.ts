/** The texts of errors: of the model server, of tools, and of a handler behind the middleware. */

import { guardError } from '../../../src/engine/guarding/answers/guarded-error.ts';
import { functionTools, type GuardOptions, guard, memoryStore, type ResponseStore } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { ApiError, type ErrorCode } from '../../../src/protocol/errors.ts';
import { textStream, toolCallStream } from '../../../src/testing/index.ts';
import { ask as askChat, startChatApp } from '../../apis/chat-completions/chat-app.ts';
import { ask as askMessages, startMessages } from '../../apis/messages/messages-app.ts';
import { CHAT, REQUESTED, type Step, withHost } from '../../hosts/middleware/host.ts';
import { startSocketApp } from '../../hosts/websocket/support.ts';
import { post } from '../../support/responses-client.ts';
import { requestGuards } from './support.ts';

const SECRET = 'No, bob@example.com: x\\nbob@example.com';
const guards = { output: [pii()] };
const REFUSAL = JSON.stringify({
  error: { message: SECRET, type: 'x bob@example.com', code: 'y bob@example.com', param: SECRET },
});
const STREAM = `${textStream(['Hello ']).split('data: [DONE]')[0]}data: ${REFUSAL}\n\ndata: [DONE]\n\n`;
const FAULTS = [
  { name: 'a refusal', reply: { status: 400, body: REFUSAL, headers: { 'content-type': 'application/json' } } },
  { name: 'a refusal as text', reply: { status: 400, body: SECRET, headers: { 'content-type': 'text/plain' } } },
  { name: 'an error in a stream', reply: { body: STREAM } },
] as const;

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function expectGuarded(text: string): void {
  expect([text.includes('bob@'), text.length > 20]).toEqual([false, true]);
}

describe.each(FAULTS)('$name of the model server', ({ reply }) => {
  it.each([true, false])('[G-06] is guarded in the Responses API, with stream %s', async (stream) => {
    const app = await startSocketApp({ guards, logger: false });
    closers.push(() => app.close());
    app.fake.reply(reply);
    expectGuarded((await post(app.url, { stream })).text);
    app.fake.reply(reply);
    const talk = await app.connect();
    expectGuarded(JSON.stringify(await talk.ask()));
  });

  it('[G-06] is guarded in a response in the background, and in what is stored of it', async () => {
    const memory = memoryStore();
    const puts: unknown[] = [];
    const put: ResponseStore['put'] = (stored) => {
      puts.push(stored);
      return memory.put(stored);
    };
    const store: ResponseStore = { ...memory, put };
    const app = await startSocketApp({ guards, store, logger: false });
    closers.push(() => app.close());
    app.fake.reply(reply);
    const begun = await post(app.url, { background: true });
    let { text } = begun;
    while (/"status":"(queued|in_progress)"/.test(text))
      text = await (await fetch(`${app.url}/responses/${JSON.parse(begun.text).id}`)).text();
    expectGuarded(text);
    expectGuarded(JSON.stringify(puts));
    expect(text).toContain('"failed"');
  });

  it.each([true, false])('[G-06] is guarded in Chat Completions, with stream %s', async (stream) => {
    const app = await startChatApp({ guards, logger: false });
    closers.push(() => app.close());
    app.fake.reply(reply);
    expectGuarded(await (await askChat(app.url, { stream })).text());
  });

  it.each([true, false])('[G-06] is guarded in the Messages API, with stream %s', async (stream) => {
    const app = await startMessages({ guards, logger: false });
    closers.push(() => app.close());
    app.fake.reply(reply);
    expectGuarded(await (await askMessages(app.url, { stream })).text());
  });
});

it('[G-06] every text of an error is guarded, its field too', async () => {
  const { guards: own } = requestGuards({ output: [pii()] });
  // The cast: what a model server sends as its code is passed on.
  const error = new ApiError('upstream_error bob@example.com' as ErrorCode, SECRET, {
    type: 'x bob@example.com',
    param: SECRET,
  });
  const shown = (await guardError(error, own)) as ApiError;
  expectGuarded(JSON.stringify([shown.message, shown.code, shown.type, shown.param, shown.body]));
});

describe('an error of a tool', () => {
  const tools = functionTools({
    look: {
      parameters: { type: 'object' },
      execute: () => Promise.reject(new Error(SECRET)),
    },
  });
  const called = toolCallStream([{ id: 'c', name: 'look', arguments: '{}' }]);

  it.each<[string, GuardOptions]>([
    ['output', { output: [pii()] }],
    ['tools', { tools: [pii()] }],
  ])('[G-06] is guarded by the guards of %s', async (_, chosen) => {
    const app = await startSocketApp({ tools, guards: chosen, logger: false });
    closers.push(() => app.close());
    app.fake.reply({ body: called }, { body: textStream('Done.') });
    expectGuarded((await post(app.url, {})).text);
    app.fake.reply({ body: called }, { body: textStream('Done.') });
    expectGuarded((await post(app.url, { stream: true })).text);
  });
});

describe('an error of the handler behind the middleware', () => {
  const answers = [
    { status: 500, type: 'application/json', body: REFUSAL },
    { status: 404, type: 'text/plain', body: SECRET },
    { status: 502, type: 'text/html; charset=utf-8', body: `<p>${SECRET}</p>` },
    { status: 400, type: '', body: SECRET },
    { status: 200, type: 'text/event-stream', body: `event: error\ndata: ${REFUSAL}\n\n` },
    { status: 200, type: 'text/event-stream', body: `data: {"type":"error",${REFUSAL.slice(1)}\n\n` },
    { status: 200, type: 'text/event-stream', body: `data: ${SECRET}\n\n` },
  ];

  it.each(answers)('[G-06] is guarded: $status $type', async ({ status, type, body }) => {
    const failing: Step = (_req, res) => void res.writeHead(status, type ? { 'content-type': type } : {}).end(body);
    await withHost([guard({ guards }) as Step, failing], async ({ post: send }) => {
      for (const [asked, path] of [
        [CHAT, '/v1/chat/completions'],
        [REQUESTED, '/v1/responses'],
        [CHAT, '/v1/messages'],
      ] as const) {
        const answer = await send(asked, { path });
        expect(answer.status).toBe(status);
        expectGuarded(await answer.text());
      }
    });
  });

  it('[G-06] in a form that no guard reads does not pass', async () => {
    const failing: Step = (_req, res) => void res.writeHead(500, { 'content-type': 'application/x-odd' }).end(SECRET);
    await withHost([guard({ guards, logger: false }) as Step, failing], async ({ post: send }) => {
      const text = await send(CHAT)
        .then((answer) => answer.text())
        .catch(() => '');
      expect(text).not.toContain('bob@');
    });
  });
});
