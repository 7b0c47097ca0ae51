/** Approvals and terms of a request where middlewares have offered the tools. */

import express from 'express';
import {
  chatCompletionsUpstream,
  injectTools,
  memoryStore,
  type RouterOptions,
  responsesRouter,
  runTools,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { mailer } from '../engine/tools/approvals-support.ts';
import { entry, fakeRemote, URL_A } from '../engine/tools/remote-support.ts';
import { listening } from '../support/listening.ts';

/** Runs with an app of `injectTools` in front of a router, or of a proxy that records what it is sent. */
async function behindMiddleware(
  given: RouterOptions,
  run: (
    ask: (body: JsonObject, proxied?: boolean) => Promise<JsonObject>,
    fake: Awaited<ReturnType<typeof startFakeUpstream>>,
  ) => Promise<void>,
): Promise<void> {
  const fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
  const options = { upstream, store: memoryStore(), ...given };
  const app = express()
    .use('/v1', injectTools(options), responsesRouter(options))
    .post('/proxy/responses', injectTools(options), (req, res) => res.json(req.body));
  const { url, close } = await listening(app);
  try {
    await run(async (body, proxied = false) => {
      const answer = await fetch(`${url}/${proxied ? 'proxy' : 'v1'}/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', input: 'Go.', ...body }),
      });
      return (await answer.json()) as JsonObject;
    }, fake);
  } finally {
    await Promise.all([close(), upstream.close?.(), fake.close()]);
  }
}

function typesIn({ output }: JsonObject): readonly unknown[] {
  return (output as readonly JsonObject[]).map(({ type, name }) => [type, name].filter(Boolean).join(' '));
}

const SEND = { body: toolCallStream([{ id: 'call_a', name: 'send', arguments: '{}' }]) };
const MAIL = entry('mail', undefined, { allowed_tools: ['send'], require_approval: 'always' });

it('[T-09] injectTools narrows the host’s tools, and a proxy sees no entry that was served', async () => {
  const { provider } = mailer();
  const { remoteMcp, opened } = fakeRemote();
  await behindMiddleware({ tools: provider, remoteMcp }, async (ask) => {
    const remote = entry('a', URL_A);
    const { tools } = await ask({ tools: [MAIL, remote] }, true);
    expect((tools as readonly JsonObject[]).map(({ type, name }) => name ?? type)).toEqual(['mcp', 'send']);
    expect((tools as readonly JsonObject[])[0]).toEqual(remote);
    expect(opened).toEqual([]);
  });
});

it('[T-09] a router behind injectTools holds to the request’s terms, also where they are inherited', async () => {
  const { provider, ran } = mailer();
  await behindMiddleware({ tools: provider }, async (ask, fake) => {
    fake.reply({ body: textStream('Hi.') }, SEND);
    const { id } = await ask({ tools: [MAIL] });
    const next = await ask({ previous_response_id: id });
    expect([typesIn(next), ran]).toEqual([['mcp_list_tools', 'mcp_approval_request send'], []]);
    // The cast: what this app sends upstream is a chat request.
    const [, requested] = fake.requests.map(({ body }) => body as { readonly tools: readonly JsonObject[] });
    expect(requested?.tools).toHaveLength(1);
  });
});

it('[T-09] a router behind injectTools holds to the host’s policy', async () => {
  const { provider, ran } = mailer();
  await behindMiddleware({ tools: provider, approval: () => true }, async (ask, fake) => {
    fake.reply(SEND);
    expect([typesIn(await ask({})), ran]).toEqual([['mcp_list_tools', 'mcp_approval_request send'], []]);
  });
});

it('[T-09] runTools offers no tool that needs approval', async () => {
  const { provider } = mailer();
  let body: JsonObject = {};
  const handler = (req: { body: JsonObject }, res: { json(value: unknown): void }) => {
    body = req.body;
    res.json({ choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }] });
  };
  const app = express()
    .use(express.json())
    .post(
      '/chat/completions',
      runTools({ tools: provider, approval: ({ name }) => name === 'send', handler: handler as never }),
    );
  const { url, close } = await listening(app);
  try {
    await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Go.' }] }),
    });
    const tools = body.tools as readonly { readonly function: JsonObject }[];
    expect(tools.map((tool) => tool.function.name)).toEqual(['read']);
  } finally {
    await close();
  }
});
