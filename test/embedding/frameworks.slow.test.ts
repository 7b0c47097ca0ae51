/** The middlewares in every framework: the same stages, the same bytes, the same errors. */

import type { ServerResponse } from 'node:http';
import Koa from 'koa';
import {
  heartbeat,
  injectTools,
  loadHistory,
  memoryStore,
  type NodeRequest,
  recordTurn,
  runTools,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatCompletion, type FakeUpstream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { listening } from '../support/listening.ts';
import { cases, EARLIER, weather } from './cases.ts';
import { hosts, koaStage, parsingExpress, type Stage, startHost } from './hosts.ts';
import { bytesRequested, FOREIGN_RESPONSE, outcome, post, sayHello, startModelServer } from './model-server.ts';
import { fetchProxy } from './proxies.ts';

let fake: FakeUpstream;
beforeEach(async () => {
  fake = await startModelServer();
});
afterEach(() => fake.close());

/** Runs with an app of these stages. */
async function inApp<Result>(
  host: (typeof hosts)[number],
  stages: readonly Stage[],
  run: (app: Awaited<ReturnType<typeof startHost>>) => Promise<Result>,
): Promise<Result> {
  const app = await startHost(host, stages);
  try {
    return await run(app);
  } finally {
    await app.close();
  }
}

/** The text of the last request to the model server. */
function lastRequested(): JsonObject {
  return JSON.parse(bytesRequested(fake).at(-1) ?? '{}');
}

describe.each(hosts)('in $name', (host) => {
  const proxied = cases.filter(({ name }) => name !== 'heartbeat');

  it.each(proxied)(
    '[X-01] $name: the handler sees a plain request of either API',
    async ({ stages, chat, responses }) => {
      const requested = await inApp(host, [...stages(), fetchProxy(fake.baseURL)], async ({ url }) => {
        await post(`${url}/v1/chat/completions`, chat.sent);
        await post(`${url}/v1/responses`, responses.sent);
        return bytesRequested(fake).map((text) => JSON.parse(text));
      });
      expect(requested).toEqual([chat.seen, responses.seen]);
    },
  );

  it.each([
    ['chat', false],
    ['chat', true],
    ['responses', false],
    ['responses', true],
  ])('[X-01] recordTurn and loadHistory: a kept turn goes on (%s, streamed: %s)', async (dialect, stream) => {
    const store = memoryStore();
    const stages = [recordTurn({ store }), loadHistory({ store }), fetchProxy(fake.baseURL)];
    const question = (content: string) =>
      dialect === 'chat' ? { messages: [{ role: 'user', content }] } : { input: content };
    const id = dialect === 'chat' ? 'chatcmpl-fake' : FOREIGN_RESPONSE.id;
    await inApp(host, stages, async ({ url }) => {
      await post(`${url}/llm`, { model: 'm', ...question('First.'), stream });
      await post(`${url}/llm`, { model: 'm', ...question('Second.'), stream, previous_response_id: id });
    });
    const { messages, input } = lastRequested();
    expect(((messages ?? input) as readonly JsonObject[]).map(wordsOf)).toEqual([
      'user First.',
      'assistant Hello!',
      'user Second.',
    ]);
  });

  it('[X-01] recordTurn: a handler that never writes its head is kept too, and its framing is its own', async () => {
    const store = memoryStore();
    const handler = (req: NodeRequest, res: ServerResponse) => {
      res.setHeader('content-type', 'application/json');
      res.statusCode = (req.body as JsonObject).model === 'm' ? 200 : 404;
      res.end(chatCompletion('Hello!'));
    };
    const messages = [{ role: 'user', content: 'Hi.' }];
    const answers = await inApp(host, [recordTurn({ store, scope: () => 'all' }), handler], async ({ url }) => [
      await post(url, { model: 'other', messages }),
      await post(url, { model: 'm', messages }),
    ]);
    const kept = await store.get({ scope: 'all', id: 'chatcmpl-fake' });
    const length = String(chatCompletion('Hello!').length);
    expect([answers.map(({ status, headers }) => [status, headers['content-length']]), kept?.output.length]).toEqual([
      [
        [404, length],
        [200, length],
      ],
      1,
    ]);
  });

  it.each([false, true])('[X-01] runTools: the handler is asked once for each round (streamed: %s)', async (stream) => {
    const call = { id: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' };
    const called = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } };
    fake.reply({ body: stream ? toolCallStream([call]) : chatCompletion({ tool_calls: [called] }) }, sayHello);
    const stages = [runTools({ tools: weather, handler: fetchProxy(fake.baseURL) })];
    const messages = [{ role: 'user', content: 'Hi.' }];
    const answer = await inApp(host, stages, ({ url }) => post(`${url}/llm`, { model: 'm', messages, stream }));
    expect([fake.requests.length, lastRequested().messages, answer.status, answer.text.includes('Hello!')]).toEqual([
      2,
      [
        ...messages,
        { role: 'assistant', content: null, tool_calls: [called] },
        { role: 'tool', tool_call_id: 'call_1', content: 'Sunny.' },
      ],
      200,
      true,
    ]);
  });

  it('[P-15] heartbeat: fills the silence between two events of the handler’s', async () => {
    const handler = async (_req: unknown, res: ServerResponse & { received?: Promise<void> }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"n":1}\n\n');
      await received;
      res.end('data: [DONE]\n\n');
    };
    let heartbeatSent = () => {};
    const received = new Promise<void>((resolve) => {
      heartbeatSent = resolve;
    });
    const text = await inApp(host, [heartbeat({ intervalMs: 5 }), handler], async ({ url }) => {
      const answer = await fetch(url, { method: 'POST' });
      let seen = '';
      for await (const bytes of answer.body ?? []) {
        seen += Buffer.from(bytes).toString();
        if (seen.includes(': heartbeat\n\n')) heartbeatSent();
      }
      return seen;
    });
    expect(text.replace(/(: heartbeat\n\n)+/, '(beats)')).toBe('data: {"n":1}\n\n(beats)data: [DONE]\n\n');
  });

  it('[X-01] answers errors of the client’s itself; the host’s own go to the host', async () => {
    const broken = new Error('The directory is down.');
    const failing = (req: NodeRequest) => {
      if (req.headers['x-broken']) throw broken;
      return 'someone';
    };
    const stages = [
      loadHistory({ store: memoryStore(), scope: failing }),
      injectTools({ tools: toolsOrFail, limits: { request: { bodyBytes: 1000 } } }),
      fetchProxy(fake.baseURL),
    ];
    const sent: readonly [JsonObject, Record<string, string>?][] = [
      [{ model: 'm', input: 'Hi.', previous_response_id: EARLIER }],
      [{ model: 'm', messages: [{ role: 'user', content: 'Hi.' }], previous_response_id: EARLIER }],
      [{ model: 'm', input: 'Hi.' }, { 'x-broken': '1' }],
      [{ model: 'm', input: 'no tools' }],
    ];
    const { outcomes, failures } = await inApp(host, stages, async ({ url, failures }) => {
      const outcomes: string[] = [];
      for (const [body, headers] of sent) outcomes.push(outcome(await post(`${url}/llm`, body, headers)));
      return { outcomes, failures };
    });
    expect([outcomes, failures, fake.requests.length]).toEqual([
      ['400 previous_response_not_found', '400 previous_response_not_found', '500 failed', '500 failed'],
      [broken, NO_TOOLS],
      0,
    ]);
  });
});

const NO_TOOLS = new Error('Nobody knows the tools.');

/** Every host hands its own request to the function. */
function toolsOrFail(request: unknown) {
  const { body } = request as { readonly body: JsonObject };
  if (body.input === 'no tools') throw NO_TOOLS;
  return [weather];
}

function wordsOf({ role, content }: JsonObject): string {
  return `${role} ${Array.isArray(content) ? content.map(({ text }: JsonObject) => text).join('') : content}`;
}

describe('where the body has not been read', () => {
  it.each(hosts.filter((host) => host !== parsingExpress))(
    '[P-11] $name: a body that cannot be read is answered in the envelope',
    async (host) => {
      const stages = [injectTools({ limits: { request: { bodyBytes: 100 } } }), fetchProxy(fake.baseURL)];
      const outcomes = await inApp(host, stages, async ({ url, failures }) => [
        outcome(await post(url, '{"model":')),
        outcome(await post(url, { model: 'm', input: 'x'.repeat(200) })),
        outcome(await post(url, '{}', { 'content-encoding': 'compress' })),
        failures.length,
      ]);
      expect([outcomes, fake.requests.length]).toEqual([
        ['400 invalid_json', '413 request_too_large', '415 unsupported_media_type', 0],
        0,
      ]);
    },
  );
});

describe('in front of a handler of Koa’s own', () => {
  it.each([false, true])(
    '[X-03] what it assigns to the body is kept and can be continued (streamed: %s)',
    async (stream) => {
      const store = memoryStore();
      const bodies: unknown[] = [];
      const app = new Koa()
        .use(koaStage(recordTurn({ store })))
        .use(koaStage(loadHistory({ store })))
        .use((ctx) => {
          // The cast: Koa knows the body only where one of its parsers is in its types.
          bodies.push((ctx.request as { body?: unknown }).body);
          ctx.type = stream ? 'text/event-stream' : 'application/json';
          ctx.body = stream ? textStream('Hello!') : chatCompletion('Hello!');
        });
      const { url, close } = await listening(app.callback());
      const messages = [{ role: 'user', content: 'Hi.' }];
      await post(url, { model: 'm', messages, stream });
      await post(url, { model: 'm', messages, stream, previous_response_id: 'chatcmpl-fake' });
      await close();
      expect(bodies.map((body) => (body as { messages: readonly JsonObject[] }).messages.map(wordsOf))).toEqual([
        ['user Hi.'],
        ['user Hi.', 'assistant Hello!', 'user Hi.'],
      ]);
    },
  );
});
