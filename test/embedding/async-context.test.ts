/** The host's async context, where models answer several users at the same time. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  responsesRouter,
} from '../../src/index.ts';
import { listening } from '../support/listening.ts';

const USERS = ['anna', 'bert', 'cleo'];
const CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'whoami', arguments: '{}' } };

function stream(delta: object, finish: string): string {
  const chunks = [
    { delta, finish_reason: null },
    { delta: {}, finish_reason: finish },
  ];
  return chunks.map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`).join('');
}

const CALLS = stream({ tool_calls: [CALL] }, 'tool_calls');
const ANSWERS = stream({ content: 'Well.' }, 'stop');

/** A model that answers all users in one turn of its event loop, once all have asked. */
function startModel() {
  let waiting: (() => void)[] = [];
  const answer = (res: ServerResponse, text: string) => {
    waiting.push(() => res.end(`${text}data: [DONE]\n\n`));
    if (waiting.length < USERS.length) return;
    for (const each of waiting) each();
    waiting = [];
  };
  const app = express().use(async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString();
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    answer(res, body.includes('"role":"tool"') ? ANSWERS : CALLS);
  });
  return listening(app);
}

const APIS = [
  ['responses', responsesRouter, '/responses', { input: 'Hi' }],
  ['chat completions', chatCompletionsRouter, '/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
] as const;

it.each(APIS)(
  '[P-10] tools and hooks run in the async context of their own request: %s',
  async (_, router, path, body) => {
    const model = await startModel();
    const upstream = chatCompletionsUpstream({ baseURL: `${model.url}/v1`, retries: 0 });
    const user = new AsyncLocalStorage<string>();
    const seen: string[] = [];
    const note = (what: string, scope: string) => void seen.push(`${what} of ${scope}: ${user.getStore()}`);
    const options = {
      ...{ upstream, store: memoryStore(), scope: () => user.getStore() ?? 'nobody' },
      tools: functionTools({
        whoami: {
          parameters: {},
          execute: (_given, { scope }) => {
            note('tool', scope);
            return 'x';
          },
        },
      }),
      hooks: { onResponse: ({ scope }: { readonly scope: string }) => note('end', scope) },
    };
    const app = express();
    app.use((req, _res, next) => user.run(req.header('x-user') ?? '', next));
    app.use(router(options));
    const { url, close } = await listening(app);

    const ask = async (name: string) => {
      const headers = { 'content-type': 'application/json', 'x-user': name };
      const answer = await fetch(url + path, {
        ...{ method: 'POST', headers },
        body: JSON.stringify({ model: 'm', stream: true, ...body }),
      });
      return answer.text();
    };
    // The second time, connections are used again that another user's request opened.
    await Promise.all(USERS.map(ask));
    await Promise.all(USERS.toReversed().map(ask));
    await close();
    await upstream.close?.();
    await model.close();

    const expected = USERS.flatMap((name) => ['tool', 'end'].map((what) => `${what} of ${name}: ${name}`));
    expect(seen.toSorted()).toEqual([...expected, ...expected].toSorted());
  },
);
