/** The gateway of a host in a few lines: by model, with failover, balanced and with an alias, behind every API. */
import express from 'express';
import { balanced, routedUpstream, withFailover } from 'express-open-responses/routing';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { chatCompletionsRouter, memoryStore, messagesRouter, responsesRouter } from '../../../src/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { messagesStream, textBlock } from '../messages-bytes.ts';
import { chatAt, closeAll, counts, refuses, startServers } from './servers.ts';

afterEach(closeAll);

const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL } = process.env;
const before = { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL };

afterAll(() => {
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

/** The host's servers, and its upstream over them. */
async function gateway(claude: FakeUpstream) {
  Object.assign(process.env, { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: claude.baseURL });
  const servers = await startServers(5);
  const upstreams = servers.map((server) => chatAt(server, { retries: 0 }));
  // The cast: there are five.
  const [openai, azure, vllm1, vllm2, vllm3] = upstreams as [Up, Up, Up, Up, Up];
  const upstream = routedUpstream({
    routes: {
      'claude-*': anthropicUpstream(),
      'gpt-*': withFailover([openai, azure], { breaker: { failures: 5, resetMs: 30_000 } }),
      '*': balanced([vllm1, vllm2, vllm3], { by: 'least-busy' }),
    },
    aliases: { fast: 'qwen3-8b' },
  });
  return { servers, upstream };
}

type Up = ReturnType<typeof chatAt>;

it('[X-11] serves every API from the server of each model, and leaves a dead one alone', async () => {
  const claude = await startFakeUpstream({ reply: { body: messagesStream([textBlock(0, 'from claude')]) } });
  const { servers, upstream } = await gateway(claude);
  servers[0]?.reply(refuses(500));
  const options = { upstream, store: memoryStore(), hooks: { onError: () => {} } };
  const app = express().use('/v1', responsesRouter(options), chatCompletionsRouter(options), messagesRouter(options));
  const { url, close } = await listening(app);
  const ask = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return answer.text();
  };
  const messages = [{ role: 'user', content: 'Hi' }];
  const apis = (model: string) => [
    ask('/responses', { model, input: 'Hi', stream: true }),
    ask('/chat/completions', { model, messages, stream: true }),
    ask('/messages', { model, messages, max_tokens: 9, stream: true }),
  ];
  const [ofClaude, , messagesOfClaude] = await Promise.all(apis('claude-opus'));
  // Two rounds are six failures in a row: the last of them finds the circuit open.
  const ofGpt = [...(await Promise.all(apis('gpt-5'))), ...(await Promise.all(apis('gpt-5')))];
  const ofFast = await Promise.all(apis('fast'));
  const late = await ask('/responses', { model: 'gpt-5', input: 'Hi' });
  const states = upstream.servers?.().map(({ name, state }) => [name, state]);
  await Promise.all([close(), claude.close(), upstream.close?.()]);

  expect([ofClaude, messagesOfClaude].map((text) => text?.includes('from claude'))).toEqual([true, true]);
  expect([...ofGpt, late].filter((text) => text.includes('error_') || !/"b"/.test(text))).toEqual([]);
  expect(counts(servers).slice(0, 2)).toEqual([6, 7]);
  expect(states?.slice(1, 3)).toEqual([
    ['gpt-*', 'closed'],
    [`gpt-*/${new URL(servers[0]?.baseURL ?? '').host}`, 'open'],
  ]);
  expect([counts(servers).slice(2), ofFast.length]).toEqual([[1, 1, 1], 3]);
  const models = servers.slice(2).flatMap(({ requests }) => requests.map(({ body }) => body));
  expect(models).toEqual(Array.from({ length: 3 }, () => expect.objectContaining({ model: 'qwen3-8b' })));
});
