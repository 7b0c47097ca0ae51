/** What a model is asked is the same, byte for byte, whether our routers ask or our middlewares in front of a proxy. */

import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  injectTools,
  loadHistory,
  type ResponseStore,
  type RouterOptions,
  responsesRouter,
  runTools,
  type Upstream,
  validateMessages,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatCompletion,
  type FakeAnswer,
  type FakeRequest,
  type FakeUpstream,
  startFakeUpstream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { EARLIER, seededStore } from './cases.ts';
import { bareExpress, parsingExpress, type Stage, startHost } from './hosts.ts';
import { bytesRequested, post, sayHello } from './model-server.ts';
import { fetchProxy } from './proxies.ts';

const SCOPE = 'everyone';
const tools = functionTools({
  weather: { description: 'The weather.', parameters: { type: 'object', properties: {} }, execute: () => 'Sunny.' },
  clock: { execute: () => ({ hour: 12 }) },
});
const user = { role: 'user', content: 'Hi.' };
const clientTool = { type: 'function', function: { name: 'own', parameters: { type: 'object', properties: {} } } };
const clientFunction = { type: 'function', name: 'own', parameters: { type: 'object', properties: {} } };

type Call = readonly [id: string, name: string];
type Responder = (request: FakeRequest) => FakeAnswer;

/** A model that asks for the calls, streamed where it is asked to, and whatever comes after. */
function calling(...calls: readonly Call[]): Responder {
  const wanted = calls.map(([id, name]) => ({ id, name, arguments: '{}' }));
  const called = wanted.map(({ id, ...rest }) => ({ id, type: 'function', function: rest }));
  return ({ body }) => ({
    body: (body as JsonObject).stream ? toolCallStream(wanted) : chatCompletion({ tool_calls: called }),
  });
}

/** One conversation: what the model answers with and what the client sends, in turn. */
interface Talk {
  readonly name: string;
  readonly script: readonly Responder[];
  readonly sent: readonly JsonObject[];
  readonly tools?: typeof tools;
  /** Requests that the model server gets of it. */
  readonly requested: number;
}

let script: Responder[] = [];
let fake: FakeUpstream;
let upstream: Upstream;
beforeEach(async () => {
  fake = await startFakeUpstream({ reply: (request) => (script.shift() ?? sayHello)(request) });
  upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
});
afterEach(() => Promise.all([upstream.close?.(), fake.close()]));

/** Plays the talk on an app: what the model was asked, and what the client saw. */
async function played(stages: readonly Stage[], { script: wanted, sent }: Talk, stream: boolean) {
  const app = await startHost(bareExpress, stages);
  const before = fake.requests.length;
  script = [...wanted];
  const answers: string[] = [];
  for (const body of sent)
    answers.push(
      (await post(`${app.url}/v1${body.messages ? '/chat/completions' : '/responses'}`, { ...body, stream })).text,
    );
  await app.close();
  return { requested: bytesRequested(fake, before), answers };
}

const ownCall = { id: 'call_own', type: 'function', function: { name: 'own', arguments: '{}' } };

const chatTalks: readonly Talk[] = [
  { name: 'no tools at all', script: [], sent: [{ model: 'm', messages: [user], temperature: 0.5 }], requested: 1 },
  {
    name: 'the client’s tools only',
    script: [calling(['call_own', 'own'])],
    sent: [{ model: 'm', messages: [user], tools: [clientTool] }],
    requested: 1,
  },
  { name: 'the server’s tools, unused', script: [], sent: [{ model: 'm', messages: [user] }], tools, requested: 1 },
  {
    name: 'two rounds of the server’s tools',
    script: [calling(['call_1', 'weather'], ['call_2', 'clock']), calling(['call_3', 'weather'])],
    sent: [{ model: 'm', messages: [user], tools: [clientTool] }],
    tools,
    requested: 3,
  },
  {
    name: 'calls of both sides at once, and then the client’s results',
    script: [calling(['call_1', 'weather'], ['call_own', 'own'])],
    sent: [
      { model: 'm', messages: [user], tools: [clientTool] },
      {
        model: 'm',
        messages: [
          user,
          { role: 'assistant', content: null, tool_calls: [ownCall] },
          { role: 'tool', tool_call_id: 'call_own', content: 'Mine.' },
        ],
        tools: [clientTool],
      },
    ],
    tools,
    requested: 2,
  },
  {
    name: 'a turn that goes on',
    script: [calling(['call_1', 'weather'])],
    sent: [{ model: 'm', messages: [user], previous_response_id: EARLIER }],
    tools,
    requested: 2,
  },
  {
    name: 'legacy functions',
    script: [],
    sent: [{ model: 'm', messages: [user], functions: [clientTool.function] }],
    tools,
    requested: 1,
  },
];

const responsesTalks: readonly Talk[] = [
  { name: 'no tools at all', script: [], sent: [{ model: 'm', input: 'Hi.', instructions: 'Be kind.' }], requested: 1 },
  {
    name: 'the client’s tools only',
    script: [],
    sent: [{ model: 'm', input: 'Hi.', tools: [clientFunction] }],
    requested: 1,
  },
  {
    name: 'the tools of both sides',
    script: [],
    sent: [{ model: 'm', input: [user], tools: [clientFunction] }],
    tools,
    requested: 1,
  },
  {
    name: 'a turn that goes on',
    script: [],
    sent: [{ model: 'm', input: 'Hi.', previous_response_id: EARLIER }],
    tools,
    requested: 1,
  },
  {
    name: 'a tool’s result',
    script: [],
    sent: [
      {
        model: 'm',
        input: [
          user,
          { type: 'function_call', call_id: 'call_own', name: 'own', arguments: '{}' },
          { type: 'function_call_output', call_id: 'call_own', output: 'Mine.' },
        ],
        tools: [clientFunction],
        previous_response_id: EARLIER,
      },
    ],
    tools,
    requested: 1,
  },
];

describe.each([false, true])('streamed: %s', (stream) => {
  it.each(chatTalks)(
    '[X-02] Chat Completions, $name: the router and runTools ask and answer the same',
    async (talk) => {
      const shared = () => ({ tools: talk.tools, scope: () => SCOPE, store: seededStore(SCOPE) });
      const options = shared();
      const handler = fetchProxy(fake.baseURL);
      const stages = [loadHistory(options), injectTools(options), runTools({ ...options, handler })];
      const proxied = await played(stages, talk, stream);
      const routed = await played([mounted(chatCompletionsRouter, shared())], talk, stream);
      expect([proxied, routed.requested.length]).toEqual([routed, talk.requested]);
    },
  );

  it.each(chatTalks)('[X-02] Chat Completions, $name: runTools alone does the same', async (talk) => {
    const needsHistory = talk.sent.some(({ previous_response_id: id }) => id);
    const shared = () => ({ tools: talk.tools, scope: () => SCOPE, store: seededStore(SCOPE) });
    const history = needsHistory ? [loadHistory(shared())] : [];
    const proxied = await played(
      [...history, runTools({ ...shared(), handler: fetchProxy(fake.baseURL) })],
      talk,
      stream,
    );
    const routed = await played([mounted(chatCompletionsRouter, shared())], talk, stream);
    expect([proxied, routed.requested.length]).toEqual([routed, talk.requested]);
  });

  it.each(responsesTalks)(
    '[X-02] Responses, $name: the router and the stack in front of a proxy ask the same',
    async (talk) => {
      const options = (store: ResponseStore) => ({ tools: talk.tools, scope: () => SCOPE, store });
      const target = await startHost(parsingExpress, [mounted(responsesRouter, {})]);
      const before = options(seededStore(SCOPE));
      const stages = [loadHistory(before), injectTools(before), validateMessages(), fetchProxy(`${target.url}/v1`)];
      const proxied = await played(stages, talk, stream);
      await target.close();
      const routed = await played([mounted(responsesRouter, options(seededStore(SCOPE)))], talk, stream);
      expect([proxied.requested, proxied.requested.length]).toEqual([routed.requested, talk.requested]);
    },
  );
});

/** A router of ours at `/v1`, over the model server of the test. */
function mounted(router: typeof responsesRouter, options: RouterOptions): Stage {
  return express().use('/v1', router({ ...options, upstream }));
}
