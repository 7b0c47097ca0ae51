/** Our routers, and our middlewares around a foreign proxy, among the neighbours that they have in real apps. */

import type { Express } from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  type Hooks,
  heartbeat,
  injectTools,
  loadHistory,
  memoryStore,
  recordTurn,
  responsesRouter,
  runTools,
  type Upstream,
  validateMessages,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatCompletion, type FakeUpstream, toolCallStream } from '../../src/testing/index.ts';
import { outcome, post, type Seen, startModelServer } from './model-server.ts';
import { byUser, type NeighboursApp, startNeighboursApp } from './neighbours-app.ts';
import { fetchProxy } from './proxies.ts';

let fake: FakeUpstream;
let upstream: Upstream;
let app: NeighboursApp;

beforeEach(async () => {
  fake = await startModelServer();
  upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
});
afterEach(() => Promise.all([app.close(), upstream.close?.(), fake.close()]));

/** Both APIs by our own routers. */
function routers(host: Express, hooks: Hooks): void {
  const options = { ...byUser, store: memoryStore(), upstream, hooks };
  host.use('/v1', responsesRouter(options), chatCompletionsRouter(options));
}

/** Both APIs by a proxy of the host's, with everything of ours around it. */
function middlewares(host: Express, hooks: Hooks): void {
  const options = { ...byUser, store: memoryStore(), hooks };
  const stack = [recordTurn, loadHistory, injectTools, validateMessages].map((factory) => factory(options));
  const tools = runTools({ ...options, handler: fetchProxy(fake.baseURL) });
  for (const path of ['/v1/responses', '/v1/chat/completions']) host.post(path, heartbeat(), ...stack, tools);
}

const ANNA = { authorization: 'Bearer anna' };
const BERTA = { authorization: 'Bearer berta' };
const messages = [{ role: 'user', content: 'Hi.' }];

function ask(body: JsonObject, headers: Readonly<Record<string, string>> = ANNA): Promise<Seen> {
  return post(`${app.url}/v1/${body.messages ? 'chat/completions' : 'responses'}`, { model: 'm', ...body }, headers);
}

describe.each([
  ['routers', routers],
  ['middlewares around a proxy', middlewares],
])('%s', (_kind, mount) => {
  it('[X-01] the user whom passport found decides scope and tools, and is known to the tool', async () => {
    app = await startNeighboursApp(mount);
    fake.reply({ body: toolCallStream([{ id: 'call_1', name: 'look', arguments: '{}' }]) });
    fake.reply({
      body: 'data: {"choices":[{"index":0,"delta":{"content":"Seen."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    });
    await ask({ messages, stream: true });
    await ask({ messages, stream: true }, BERTA);
    const requested = fake.requests.map(
      ({ body }) => body as JsonObject & { messages: readonly JsonObject[]; tools?: readonly JsonObject[] },
    );
    expect(requested.map(({ tools = [], messages }) => [tools.length, messages.at(-1)?.content])).toEqual([
      [1, 'Hi.'],
      [1, 'anna looks, in the scope anna.'],
      [0, 'Hi.'],
    ]);
  });

  it('[P-13] two users never see each other’s history', async () => {
    app = await startNeighboursApp(mount);
    const { id } = JSON.parse((await ask({ input: 'A secret.' })).text);
    const [hers, others] = [
      await ask({ input: 'On.', previous_response_id: id }),
      await ask({ input: 'On.', previous_response_id: id }, BERTA),
    ];
    const secrets = fake.requests.map(({ body }) => JSON.stringify(body).includes('A secret.'));
    expect([outcome(hers), outcome(others), secrets]).toEqual([
      expect.stringMatching(/^200/),
      '400 previous_response_not_found',
      [true, true],
    ]);
  });

  it('[X-01] what the neighbours answer is theirs: 401, 429 and preflights', async () => {
    app = await startNeighboursApp(mount, 1);
    const anonymous = await ask({ input: 'Hi.' }, {});
    const first = await ask({ input: 'Hi.' });
    const second = await ask({ input: 'Hi.' });
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const preflight = await fetch(`${app.url}/v1/responses`, { method: 'OPTIONS', headers });
    expect([
      [anonymous.status, anonymous.text],
      first.status,
      [second.status, second.text],
      [preflight.status, preflight.headers.get('access-control-allow-origin')],
      [fake.requests.length, app.failures],
    ]).toEqual([[401, 'Unauthorized'], 200, [429, '{"host":"says slow down"}'], [204, '*'], [1, []]]);
  });

  it('[X-01] every answer has the neighbours’ headers, one line in the log and one finish', async () => {
    app = await startNeighboursApp(mount);
    const answers = [
      await ask({ input: 'Hi.' }),
      await ask({ input: 'Hi.', stream: true }),
      await ask({ messages, stream: true }),
      await ask({ messages }),
      await ask({ input: 'Hi.', previous_response_id: 'resp_none' }),
    ];
    const seen = answers.map(({ status, headers }) => [
      status,
      headers['x-content-type-options'],
      headers['access-control-allow-origin'],
    ]);
    const [responses, chat] = ['POST /v1/responses', 'POST /v1/chat/completions'];
    expect([seen, app.log, [...app.finishes], app.failures]).toEqual([
      [200, 200, 200, 200, 400].map((status) => [status, 'nosniff', '*']),
      [
        `${responses} 200 request completed`,
        `${responses} 200 request completed`,
        `${chat} 200 request completed`,
        `${chat} 200 request completed`,
        `${responses} 400 request completed`,
      ],
      [
        [responses, 3],
        [chat, 2],
      ],
      [],
    ]);
  });

  it('[X-01] the host’s error handler gets what is the host’s own fault, and no error of ours', async () => {
    app = await startNeighboursApp(mount);
    const outcomes = [
      outcome(await ask({ input: 'Hi.' }, { ...ANNA, 'x-break': 'scope' })),
      outcome(await ask({ messages }, { ...ANNA, 'x-break': 'tools' })),
      outcome(await ask({ input: 'Hi.', previous_response_id: 'resp_none' })),
    ];
    expect([outcomes, app.failures, app.errors, fake.requests.length]).toEqual([
      ['500 failed', '500 failed', '400 previous_response_not_found'],
      ['The scope failed.', 'The tools failed.'],
      ['previous_response_not_found'],
      0,
    ]);
  });

  it('[X-01] the client’s request id is the log’s, the answer’s and the model’s', async () => {
    app = await startNeighboursApp(mount);
    const { headers } = await ask(
      { input: 'Hi.', previous_response_id: 'resp_none' },
      { ...ANNA, 'x-request-id': 'trace-1' },
    );
    expect([headers['x-request-id'], app.requestIds]).toEqual(['trace-1', ['trace-1']]);
  });

  it('[S-12] a turn goes on behind compression, whether its answer was compressed or not', async () => {
    app = await startNeighboursApp(mount);
    const long = 'x'.repeat(5000);
    fake.reply(({ body, path }) => {
      const isResponses = path.endsWith('/responses');
      if (!isResponses) return { body: (body as JsonObject).stream ? longStream(long) : chatCompletion(long) };
      const written = {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        content: [{ type: 'output_text', text: long }],
      };
      return { body: JSON.stringify({ id: 'resp_long', object: 'response', status: 'completed', output: [written] }) };
    });
    const first = await ask({ input: 'Hi.' });
    const { id } = JSON.parse(first.text);
    const next = await ask({ input: 'On.', previous_response_id: id });
    const requested = JSON.stringify(fake.requests.at(-1)?.body);
    expect([first.headers['content-encoding'], next.status, requested.includes(long)]).toEqual(['gzip', 200, true]);
  });
});

it('[X-01] the host’s error handler gets what its proxy throws, once', async () => {
  app = await startNeighboursApp(middlewares);
  await fake.close();
  const outcomes = [
    outcome(await ask({ messages })),
    outcome(await ask({ messages }, BERTA)),
    outcome(await ask({ input: 'Hi.' })),
  ];
  const lines = app.log.map((line) => line.replace(/^\S+ \S+ /, ''));
  expect([outcomes, app.failures, lines]).toEqual([
    ['500 failed', '500 failed', '500 failed'],
    ['fetch failed', 'fetch failed', 'fetch failed'],
    ['500 request errored', '500 request errored', '500 request errored'],
  ]);
});

function longStream(content: string): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
}
