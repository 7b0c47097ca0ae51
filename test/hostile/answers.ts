/** A hostile model server: answers with thousands of parts of any kind take linear work and end in one clean outcome, for any client. */

import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  responsesRouter,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { listening } from '../support/listening.ts';
import { tally } from './tally.ts';

type Attack = (index: number) => JsonObject;

const MOST = 4000;
/** A smaller count, for clients that hardly differ from the others. */
const MANY = 1600;

const call = (entry: JsonObject) => ({ tool_calls: [entry] });
const whole = (index: number, id = `call_${index}`) => ({
  index,
  id,
  type: 'function',
  function: { name: 'f', arguments: '{"a":1}' },
});
const bare = (index: number) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name: 'f', arguments: '' },
});
const owned = (index: number) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name: 'ours', arguments: '{}' },
});

/** The content of one delta, by its number. */
const DELTAS: Readonly<Record<string, Attack>> = {
  'whole calls': (index) => call(whole(index)),
  'calls without arguments': (index) => call(bare(index)),
  'calls without arguments or a number': (index) => call({ ...bare(index), index: undefined }),
  'calls without a number or an id': () => call({ ...whole(0), index: undefined, id: undefined }),
  'calls of one id': (index) => call(whole(index, 'call_same')),
  'calls of one number': (index) => call({ ...whole(0), id: `call_${index}` }),
  'calls without a name': (index) => call({ index, id: `call_${index}`, function: { arguments: '{' } }),
  'calls of our tool': (index) => call(owned(index)),
  'calls of our tool and of theirs in turn': (index) => call(index % 2 ? owned(index) : whole(index)),
  'calls, and words between them': (index) => (index % 2 ? { content: 'a' } : call(bare(index))),
  'arguments of a hundred calls in turn': (index) =>
    call(index < 100 ? bare(index) : { index: index % 100, function: { arguments: ' ' } }),
  'arguments under the name again and again': (index) =>
    call({
      index: 0,
      id: 'call_0',
      function: { name: 'f', arguments: index === 0 ? `{"a":"${'x'.repeat(200_000)}` : '}' },
    }),
  'legacy calls': () => ({ function_call: { name: 'f', arguments: '{}' } }),
  'thoughts and words in turn': (index) => (index % 2 ? { content: 'a' } : { reasoning_content: 'a' }),
  'words and refusals in turn': (index) => (index % 2 ? { content: 'a' } : { refusal: 'a' }),
  citations: (index) => ({
    content: index === 0 ? 'a' : '',
    annotations: [{ type: 'url_citation', url: 'https://a', title: '' }],
  }),
  nothing: () => ({}),
  'empty words': () => ({ content: '', reasoning_content: '', refusal: '', tool_calls: [] }),
  'the beginning of a thought tag': (index) => ({ content: index === 0 ? '<think>' : '<' }),
  blanks: () => ({ content: ' ' }),
  'a role': () => ({ role: 'assistant' }),
  'parts of content': () => ({
    content: [
      { type: 'text', text: 'a' },
      { type: 'thinking', thinking: [{ text: 'b' }] },
    ],
  }),
};

/** The whole chunk, for attacks that need more than a delta. */
const CHUNKS: Readonly<Record<string, (index: number) => string>> = {
  'chunks without choices': () => chatChunk({}, { choices: [] }),
  'chunks of nothing': () => 'data: {}\n\n',
  'chunks of other choices': (index) => chatChunk({}, { choices: [{ index: index + 1, delta: { content: 'a' } }] }),
  'usage in every chunk': (index) =>
    chatChunk({ content: 'a' }, { usage: { prompt_tokens: index, completion_tokens: 1, total_tokens: 1 } }),
  'a finish in every chunk': () => chatChunk({ content: 'a' }, { finish_reason: 'stop' }),
  'other ids in every chunk': (index) => chatChunk({ content: 'a' }, { id: `chatcmpl-${index}`, model: `m${index}` }),
  'ids of 2,000 characters': (index) =>
    chatChunk(call(whole(index, `${index}${'x'.repeat(2000)}`)), { id: 'y'.repeat(200) }),
  'comments and empty data': () => ': a comment\n\ndata:\n\n',
  'log probabilities': (index) =>
    chatChunk(
      {},
      {
        choices: [
          {
            index: 0,
            delta: { content: 'a' },
            logprobs: { content: [{ token: `t${index}`, logprob: -1, bytes: null, top_logprobs: [] }] },
          },
        ],
      },
    ),
};

const FRAMES: Readonly<Record<string, (index: number) => string>> = {
  ...Object.fromEntries(
    Object.entries(DELTAS).map(([what, delta]) => [what, (index: number) => chatChunk(delta(index))]),
  ),
  ...CHUNKS,
};

/** The requests of the clients: the router, the mode, and server tools with or without approval. */
const CLIENTS: Readonly<Record<string, readonly [path: string, body: JsonObject]>> = {
  'a Responses answer': ['/plain/responses', { model: 'm', input: 'Hi' }],
  'a Responses stream over our tools': ['/tools/responses', { model: 'm', input: 'Hi', stream: true }],
  'a Responses stream over tools that need approval': ['/gated/responses', { model: 'm', input: 'Hi', stream: true }],
  'a Responses stream that allows another tool': [
    '/plain/responses',
    {
      model: 'm',
      input: 'Hi',
      stream: true,
      tools: [
        { type: 'function', name: 'g' },
        { type: 'function', name: 'f' },
      ],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
    },
  ],
  'a Responses stream in a dialect': ['/dialect/responses', { model: 'm', input: 'Hi', stream: true }],
  'a chat stream over our tools': [
    '/tools/chat/completions',
    { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true },
  ],
  'a chat answer over our tools': [
    '/tools/chat/completions',
    { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  ],
};

interface Servers {
  readonly fake: FakeUpstream;
  readonly host: Awaited<ReturnType<typeof listening>>;
}

async function startServers(): Promise<Servers> {
  const fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key', retries: 0 });
  const tools = functionTools({ ours: { parameters: { type: 'object' }, execute: () => 'done' } });
  const options = { upstream, store: memoryStore({ maxResponses: 1 }) };
  const app = express();
  app.use('/plain', responsesRouter(options), chatCompletionsRouter(options));
  app.use('/tools', responsesRouter({ ...options, tools }), chatCompletionsRouter({ ...options, tools }));
  app.use('/gated', responsesRouter({ ...options, tools, approval: () => true }));
  app.use('/dialect', responsesRouter({ ...options, dialect: 'open-responses-server' }));
  return { fake, host: await listening(app) };
}

/** One answer of so many frames; throws unless it ends properly. */
async function answer(
  { fake, host }: Servers,
  [path, body]: readonly [path: string, body: JsonObject],
  frame: (index: number) => string,
  count: number,
): Promise<void> {
  const written = Array.from({ length: count }, (_, index) => frame(index)).join('');
  const end = chatChunk({}, { finish_reason: 'stop' });
  let rounds = 0;
  const first = { body: `${written}${end}data: [DONE]\n\n` };
  fake.reply(() => (rounds++ === 0 ? first : { body: chatChunk({ content: 'Hi' }) + end }));
  const response = await fetch(host.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(rounds).toBeGreaterThan(0);
  expectEnded(response, text);
}

function expectEnded({ status, headers }: Response, text: string): void {
  const isStream = headers.get('content-type') === 'text/event-stream';
  // An error is the last event.
  if (isStream && text.endsWith('\n\n') && !text.slice(-4096).includes('"server_error","param"')) return;
  const { error } = JSON.parse(isStream ? '{}' : text);
  if (status === 200 || error.code === 'output_too_large') return;
  throw new Error(`Answered ${status}: ${text.slice(0, 300)} … ${text.slice(-300)}`);
}

/** Registers the attacks on these clients. Clients that hardly differ from others get only attacks with calls, and fewer of them. */
export function answerSuite(subject: string, clients: readonly string[], size: 'all' | 'calls'): void {
  const { tried } = tally(subject);
  const count = size === 'all' ? MOST : MANY;
  const frames = Object.entries(FRAMES).filter(([what]) => size === 'all' || what.includes('call'));
  let servers: Servers;

  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => Promise.all([servers.host.close(), servers.fake.close()]));

  it.each(clients.flatMap((client) => frames.map(([what, frame]) => [what, client, frame] as const)))(
    '[F-14] takes linear work: %s, for %s',
    async (_, client, frame) => {
      const requested = CLIENTS[client];
      if (!requested) throw new Error(`There is no client '${client}'.`);
      await expectLinearWork(count, (size) => answer(servers, requested, frame, size));
      tried(`things in one answer, for ${client}`, count);
    },
    60_000,
  );
}
