/** The middlewares in front of our own routers: what they have done is not done again, and nothing is kept twice. */

import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  heartbeat,
  injectTools,
  loadHistory,
  memoryStore,
  type NodeRequest,
  type ResponseStore,
  recordTurn,
  responsesRouter,
  runTools,
  type StoredResponse,
  type ToolProvider,
  type Upstream,
  validateMessages,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { parsingExpress, startHost } from './hosts.ts';
import { bytesRequested, outcome, post } from './model-server.ts';

let fake: FakeUpstream;
let upstream: Upstream;
beforeEach(async () => {
  fake = await startFakeUpstream();
  upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
});
afterEach(() => Promise.all([upstream.close?.(), fake.close()]));

/** A memory store that counts its reads and keeps what was put. */
function countingStore() {
  const { chain, ...inner } = memoryStore();
  const puts: StoredResponse[] = [];
  let reads = 0;
  const store: ResponseStore = {
    ...inner,
    get(key) {
      reads += 1;
      return inner.get(key);
    },
    ...(chain && {
      chain(key, limit) {
        reads += 1;
        return chain(key, limit);
      },
    }),
    put(turn) {
      puts.push(turn);
      return inner.put(turn);
    },
  };
  return { store, puts, reads: () => reads };
}

/** A provider that counts how often it is asked for its tools. */
function countingTools() {
  const inner = functionTools({ weather: { execute: () => 'Sunny.' } });
  let lists = 0;
  const tools: ToolProvider = {
    ...inner,
    list(signal) {
      lists += 1;
      return inner.list(signal);
    },
  };
  return { tools, lists: () => lists };
}

const byUser = (req: NodeRequest) => String(req.headers['x-user']);
const user = { role: 'user', content: 'Hi.' };

/** Ten turns of one conversation. */
async function tenTurns(url: string): Promise<readonly JsonObject[]> {
  const answers: JsonObject[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    const id = answers.at(-1)?.id;
    const body = { model: 'm', input: `Question ${turn}`, ...(id ? { previous_response_id: id } : {}) };
    answers.push(JSON.parse((await post(`${url}/v1/responses`, body)).text));
  }
  return answers;
}

describe('in front of responsesRouter', () => {
  it('[X-01] the work is done once, and each turn is kept with its own input alone', async () => {
    const alone = { ...countingStore(), ...countingTools() };
    const behind = { ...countingStore(), ...countingTools() };
    const router = (options: typeof alone) =>
      express().use('/v1', responsesRouter({ upstream, store: options.store, tools: options.tools }));
    const { store, tools } = behind;
    const stack = [loadHistory, injectTools, validateMessages, recordTurn].map((factory) => factory({ store, tools }));

    const reported: unknown[] = [];
    for (const [stages, counted] of [
      [[router(alone)], alone],
      [[...stack, router(behind)], behind],
    ] as const) {
      const app = await startHost(parsingExpress, stages);
      const before = fake.requests.length;
      const answers = await tenTurns(app.url);
      await app.close();
      reported.push({
        requested: bytesRequested(fake, before),
        reads: counted.reads(),
        lists: counted.lists(),
        inputs: counted.puts.map(({ input }) => input.map(({ content }) => content)),
        linked: counted.puts.map(({ previousId }) => answers.findIndex(({ id }) => id === previousId)),
        echoed: answers.map(({ previous_response_id: id }) => answers.findIndex((answer) => answer.id === id)),
        tools: answers.map(({ tools }) => tools),
      });
    }
    const [routed, stacked] = reported as [JsonObject & { inputs: unknown[] }, JsonObject];
    const links = [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    expect(stacked).toEqual({ ...routed, lists: 10, linked: links, echoed: links });
    expect(routed.inputs).toEqual(links.map((_, turn) => [[{ type: 'input_text', text: `Question ${turn}` }]]));
  });

  it('[X-01] a router without a scope takes the middleware’s, and another user’s turn is missing', async () => {
    const store = memoryStore();
    const stages = [loadHistory({ store, scope: byUser }), express().use('/v1', responsesRouter({ upstream, store }))];
    const app = await startHost(parsingExpress, stages);
    const ask = (name: string, more: JsonObject) =>
      post(`${app.url}/v1/responses`, { model: 'm', input: 'Hi.', ...more }, { 'x-user': name });
    const { id } = JSON.parse((await ask('anna', {})).text);
    const outcomes = [
      outcome(await ask('anna', { previous_response_id: id })),
      outcome(await ask('berta', { previous_response_id: id })),
      (await store.get({ scope: 'anna', id }))?.scope,
    ];
    await app.close();
    expect(outcomes).toEqual(['200', '400 previous_response_not_found', 'anna']);
  });

  it('[P-15] the heartbeat’s options are the router’s, which numbers its own', async () => {
    fake.reply({ body: textStream('Hello!'), stallAfterBytes: 300 });
    const stages = [
      heartbeat({ intervalMs: 5, style: 'keepalive' }),
      express().use(responsesRouter({ upstream, store: memoryStore() })),
    ];
    const app = await startHost(parsingExpress, stages);
    const answer = await fetch(`${app.url}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":"m","input":"Hi.","stream":true}',
    });
    let text = '';
    for await (const bytes of answer.body ?? []) {
      text += Buffer.from(bytes).toString();
      if (text.includes('event: keepalive')) break;
    }
    await app.close();
    const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
    expect([numbers, text.includes(': heartbeat')]).toEqual([numbers.map((_, index) => index), false]);
  });
});

describe('in front of chatCompletionsRouter', () => {
  it.each([false, true])(
    '[X-01] the tools are listed once and the handler’s answer is kept once (streamed: %s)',
    async (stream) => {
      const counted = { ...countingStore(), ...countingTools() };
      const { store, tools } = counted;
      const options = { store, tools, upstream };
      const router = express().use('/v1', chatCompletionsRouter(options));
      const app = await startHost(parsingExpress, [
        recordTurn(options),
        loadHistory(options),
        injectTools(options),
        router,
      ]);
      const path = `${app.url}/v1/chat/completions`;
      const first = await post(path, { model: 'm', messages: [user], stream });
      const [, id] = /"id":"([^"]+)"/.exec(first.text) ?? [];
      await post(path, { model: 'm', messages: [{ role: 'user', content: 'On.' }], stream, previous_response_id: id });
      await app.close();
      const { messages, tools: offered } = JSON.parse(bytesRequested(fake).at(-1) ?? '{}');
      expect([
        first.status,
        counted.lists(),
        counted.puts.map(({ input }) => input.length),
        messages,
        offered.length,
      ]).toEqual([
        200,
        2,
        [1, 1],
        [user, { role: 'assistant', content: 'Hello!' }, { role: 'user', content: 'On.' }],
        1,
      ]);
    },
  );

  it('[X-02] runTools over the router as its handler: nothing runs twice', async () => {
    const runs: unknown[] = [];
    const tools = functionTools({ weather: { execute: () => runs.push(1) && 'Sunny.' } });
    fake.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'weather', arguments: '{}' }]) },
      { body: textStream('Hello!') },
    );
    const handler = chatCompletionsRouter({ upstream, tools });
    const app = await startHost(parsingExpress, [express().use('/v1', runTools({ tools, handler }))]);
    const answer = await post(`${app.url}/v1/chat/completions`, { model: 'm', messages: [user], stream: true });
    await app.close();
    expect([answer.status, runs.length, fake.requests.length]).toEqual([200, 1, 2]);
  });
});
