/** The code interpreter behind everything else that takes tools: chat completions, middlewares, WebSocket, other model servers and dialects. */

import express from 'express';
import { chatCompletionsUpstream, injectTools, memoryStore, responsesRouter, runTools } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { ask, QUESTION, startChatApp } from '../../apis/chat-completions/chat-app.ts';
import { ask as askIn, NAMES, withDialect } from '../../apis/dialects/support.ts';
import { chatBody, says, withTools } from '../../engine/tools/support.ts';
import { CHAT, type Step, withHost } from '../../hosts/middleware/host.ts';
import { startSocketApp } from '../../hosts/websocket/support.ts';
import { listening } from '../../support/listening.ts';
import { post } from '../../support/responses-client.ts';
import { startMessagesApp, streamOf } from '../../upstreams/messages-app.ts';
import { messagesStream, textBlock, toolBlock } from '../../upstreams/messages-bytes.ts';
import { ASKING, interpreter, runs } from './interpreter.ts';

const CODE = { type: 'code_interpreter' };
const OWN = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } };

describe('chat completions', () => {
  it.each([true, false])(
    '[T-11] run code where the body asks for it, which the model server never sees; stream: %s',
    async (stream) => {
      const { tools, ran } = interpreter();
      const app = await startChatApp({ tools });
      try {
        app.fake.reply(runs('x = 41'), runs('x + 1'), says('It is 42.'));
        const answer = await ask(app.url, { tools: [OWN, CODE], stream });
        expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('It is 42.')]);
        const requested = app.fake.requests.map(chatBody);
        expect(requested.map((body) => body.tools?.map((tool) => tool.function.name))).toEqual(
          Array(3).fill(['look', 'code_interpreter']),
        );
        const reported = requested.at(-1)?.messages.filter(({ role }) => role === 'tool');
        expect(reported?.map(({ content }) => content)).toEqual(['41', '42']);
        expect(ran.begun()).toBe(1);
      } finally {
        await app.close();
      }
    },
  );

  it('[T-11] are offered nothing where the body does not ask', async () => {
    const app = await startChatApp({ tools: interpreter().tools });
    try {
      app.fake.reply(says('Hi'));
      await (await ask(app.url)).text();
      expect(app.fake.requests.map(({ body }) => body)).toEqual([QUESTION]);
    } finally {
      await app.close();
    }
  });

  it('[T-11] pass the tool on where no code is run here', async () => {
    const app = await startChatApp();
    try {
      app.fake.reply(says('Hi'));
      await (await ask(app.url, { tools: [CODE] })).text();
      expect(app.fake.requests.map(({ body }) => body)).toEqual([{ ...QUESTION, tools: [CODE] }]);
    } finally {
      await app.close();
    }
  });
});

describe('middlewares', () => {
  it('[T-11] put the function in the place of the tool, and a router behind them runs the code', async () => {
    const { tools } = interpreter();
    const fake = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
    const seen: unknown[] = [];
    const look: express.RequestHandler = (req, _res, next) => {
      seen.push(req.body.tools);
      next();
    };
    const router = responsesRouter({ upstream, store: memoryStore() });
    const app = await listening(express().use('/v1', injectTools({ tools }), look, router));
    try {
      fake.reply(runs('6 * 7'), says('42.'));
      const { text } = await post(`${app.url}/v1`, ASKING);
      expect([seen, JSON.parse(text)]).toMatchObject([
        [[{ type: 'function', name: 'code_interpreter' }]],
        { tools: ASKING.tools, output: [{ outputs: [{ logs: '42' }] }, { type: 'message' }] },
      ]);
    } finally {
      await Promise.all([app.close(), upstream.close?.(), fake.close()]);
    }
  });

  it('[T-11] run the code behind somebody else’s handler', async () => {
    const requested: JsonObject[] = [];
    const answers = [runs('6 * 7'), says('It is 42.')].map(({ body }) => String(body));
    const handler: Step = (req, res) => {
      // The cast: a middleware has read it.
      requested.push(req.body as JsonObject);
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(answers[requested.length - 1]);
    };
    await withHost([runTools({ tools: interpreter().tools, handler })], async ({ post }) => {
      const text = await (await post({ ...CHAT, stream: true, tools: [CODE] })).text();
      expect([text, requested[1]?.messages]).toMatchObject([
        expect.stringContaining('It is 42.'),
        [{}, {}, { role: 'tool', content: '42' }],
      ]);
    });
  });
});

describe('WebSocket', () => {
  it('[T-11] keeps the container for the connection, also where nothing is stored', async () => {
    const app = await startSocketApp({ tools: interpreter().tools });
    try {
      app.fake.reply(runs('x = 41'), says('Set.'), runs('x + 1'), says('42.'));
      const talk = await app.connect();
      const first = (await talk.ask({ ...ASKING, store: false })).at(-1)?.response as JsonObject;
      const second = (await talk.ask({ ...ASKING, store: false, previous_response_id: first.id })).at(-1)?.response;
      expect(second).toMatchObject({ output: [{ outputs: [{ logs: '42' }] }, {}] });
    } finally {
      await app.close();
    }
  });
});

describe('anthropicUpstream', () => {
  it('[T-11] sends its model the runs, in the same response and in the next', async () => {
    const app = await startMessagesApp({}, { tools: interpreter().tools, scope: () => 'everyone' });
    const run = (id: string, code: string) =>
      streamOf(messagesStream([toolBlock(0, id, 'code_interpreter', JSON.stringify({ code }))], { stop: 'tool_use' }));
    const answer = (text: string) => streamOf(messagesStream([textBlock(0, text)]));
    try {
      app.fake.reply(run('toolu_1', 'x = 41'), answer('Set.'), run('toolu_2', 'x + 1'), answer('42.'));
      const first = JSON.parse((await post(app.url, ASKING)).text);
      const second = JSON.parse((await post(app.url, { ...ASKING, previous_response_id: first.id })).text);
      const last = JSON.stringify(app.fake.requests.at(-1)?.body);
      expect([second.output[0].outputs, last.match(/"tool_result"/g)?.length]).toEqual([
        [{ type: 'logs', logs: '42' }],
        2,
      ]);
      expect(last).toContain('"name":"code_interpreter","input":{"code":"x = 41"}');
    } finally {
      await app.close();
    }
  });
});

describe('dialects', () => {
  it.each(NAMES)('[T-11] %s shows the run as OpenAI does', (name) =>
    withDialect(
      name,
      async ({ url, fake }) => {
        fake.reply(runs('6 * 7'), says('42.'));
        const { text } = await askIn(url, { body: { ...ASKING, stream: true } });
        const types = [...text.matchAll(/^data: \{"type":"response\.(code_interpreter[^"]*)"/gm)].map(
          ([, type]) => type,
        );
        expect(types).toEqual([
          'code_interpreter_call.in_progress',
          'code_interpreter_call_code.delta',
          'code_interpreter_call_code.done',
          'code_interpreter_call.interpreting',
          'code_interpreter_call.completed',
        ]);
      },
      { tools: interpreter().tools },
    ),
  );
});

describe('hooks.onToolCall', () => {
  it('[T-11] is called for each run', () =>
    withTools({ tools: interpreter().tools }, async ({ url, fake, toolCalls }) => {
      fake.reply(runs('1'), runs('die()'), says('Done.'));
      await post(url, ASKING);
      expect(toolCalls).toMatchObject([
        { server: 'code_interpreter', name: 'code_interpreter', error: undefined },
        { server: 'code_interpreter', name: 'code_interpreter', error: expect.stringContaining('memory') },
      ]);
    }));
});
