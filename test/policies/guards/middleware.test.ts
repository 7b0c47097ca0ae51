/** `guard` alone in front of a handler, and in front of this package's routers. */

import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { requestIn, requestText } from '../../../src/apis/background/stored-request.ts';
import { stateSealer } from '../../../src/apis/endpoint/provider-state.ts';
import type { Guard, GuardOptions } from '../../../src/index.ts';
import {
  chatCompletionsUpstream,
  guard,
  loadHistory,
  memoryStore,
  recordTurn,
  responsesRouter,
} from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatCompletion, startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import {
  CHAT,
  type HostRequest,
  REQUESTED,
  responseOf,
  responseStream,
  type Step,
  watchedStore,
  withHost,
} from '../../hosts/middleware/host.ts';
import { gate } from '../../support/gate.ts';
import { listening } from '../../support/listening.ts';
import { messagesStream, textBlock, thinkingBlock, toolBlock } from '../../upstreams/messages-bytes.ts';

const SECRET = 'Write to bob@example.com now.';
const SAFE = 'Write to [EMAIL] now.';
const SSE = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };

const MESSAGES = { model: 'm', max_tokens: 64, messages: [{ role: 'user', content: 'Go.' }] };

const noPoison: Guard = {
  name: 'no-poison',
  inspect: ({ text }) =>
    text.includes('poison') ? { action: 'block', reason: 'It is about poison.' } : { action: 'pass' },
};

const ANSWERS = [
  { name: 'a chat completion as JSON', body: CHAT, type: JSON_TYPE, answer: (text: string) => chatCompletion(text) },
  {
    name: 'a chat completion as a stream',
    body: { ...CHAT, stream: true },
    type: SSE,
    answer: (text: string) => textStream([...text]),
  },
  {
    name: 'a response as JSON',
    body: REQUESTED,
    type: JSON_TYPE,
    answer: (text: string) => JSON.stringify(responseOf(text)),
  },
  { name: 'a response as a stream', body: { ...REQUESTED, stream: true }, type: SSE, answer: responseStream },
  { name: 'a message as JSON', path: '/v1/messages', body: MESSAGES, type: JSON_TYPE, answer: messageOf },
  {
    name: 'a message as a stream',
    path: '/v1/messages',
    body: { ...MESSAGES, stream: true },
    type: SSE,
    answer: (text: string) => messagesStream([textBlock(0, ...text)]),
  },
] as const;

function messageOf(text: string): string {
  return JSON.stringify({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
  });
}

interface Answer {
  readonly path?: string;
  readonly type: Readonly<Record<string, string>>;
  readonly text: string;
  readonly size: number;
}

/** Writes the answer in pieces, and keeps the request. */
function handler({ type, text, size }: Answer, requests: unknown[] = []): Step {
  const bytes = Buffer.from(text);
  return (req: HostRequest, res: ServerResponse) => {
    requests.push(req.body);
    res.writeHead(200, { ...type, 'content-length': String(bytes.length) });
    for (let at = 0; at < bytes.length; at += size) res.write(bytes.subarray(at, at + size));
    res.end();
  };
}

function answered(guards: GuardOptions, { path, ...answer }: Answer, body: object, requests: unknown[] = []) {
  return withHost([guard({ guards }) as Step, handler(answer, requests)], async ({ post }) => {
    const response = await post(body as Record<string, unknown>, path === undefined ? {} : { path });
    return { status: response.status, text: await response.text().catch(() => 'broken off') };
  });
}

describe.each(ANSWERS)('guard in front of a handler that answers $name', ({ body, type, answer, ...more }) => {
  const path = 'path' in more ? { path: more.path } : {};

  it.each([1, 7, 100_000])('redacts it in pieces of %d bytes', async (size) => {
    const { status, text } = await answered({ output: [pii()] }, { ...path, type, text: answer(SECRET), size }, body);
    const shown = text.replaceAll(/"\},"(logprobs|finish_reason).*\n\n.*?"content":"/g, '');
    expect([status, text.includes('bob@'), text.includes('example.com')]).toEqual([200, false, false]);
    expect(shown.length > 0 && (text.includes(SAFE) || text.includes('[EMAIL]'))).toBe(true);
  });

  it('leaves another answer as it was', async () => {
    const plain = answer('Nothing to see.');
    const { text } = await answered({ output: [pii()] }, { ...path, type, text: plain, size: 50 }, body);
    expect(text.includes('see.') && text.includes('[DONE]') === plain.includes('[DONE]')).toBe(true);
  });

  it('ends a blocked one', async () => {
    const { text } = await answered(
      { output: [noPoison] },
      { ...path, type, text: answer('Take poison.'), size: 9 },
      body,
    );
    expect([text.includes('poison'), /content_filter|"stop_reason":"refusal"/.test(text)]).toEqual([false, true]);
  });

  it('gives the values of placeholders back', async () => {
    const requests: unknown[] = [];
    const asked = JSON.parse(JSON.stringify(body).replaceAll('"Go."', '"Ask bob@example.com"'));
    const { text } = await answered(
      { input: [pii({ restore: true })] },
      { ...path, type, text: answer('To [EMAIL_1]!'), size: 5 },
      'messages' in asked
        ? { ...asked, messages: [{ role: 'user', content: 'Ask bob@example.com' }] }
        : { ...asked, input: 'Ask bob@example.com' },
      requests,
    );
    expect([JSON.stringify(requests).includes('bob@'), JSON.stringify(requests).includes('[EMAIL_1]')]).toEqual([
      false,
      true,
    ]);
    expect([text.includes('bob@example.com'), text.includes('EMAIL_1')]).toEqual([true, false]);
  });
});

describe("guard in front of a handler of Anthropic's API", () => {
  const asked = (type: Answer['type'], text: string, guards: GuardOptions, body: object = MESSAGES) =>
    answered(guards, { path: '/v1/messages', type, text, size: 11 }, body);

  it("redacts thoughts and a tool's input, and names every event", async () => {
    const frames = [thinkingBlock(0, SECRET, 'c2ln'), toolBlock(1, 'toolu_1', 'send', '{"to":"bob@example.com"}')];
    const { text } = await asked(SSE, messagesStream(frames), { output: [pii()] });
    const events = text
      .trim()
      .split('\n\n')
      .map((frame) => frame.split('\n'));
    expect(
      events.every(
        ([name, data = '']) => JSON.parse(data.slice('data: '.length)).type === name?.slice('event: '.length),
      ),
    ).toBe(true);
    expect([text.includes('bob@'), text.includes('signature_delta'), text.includes('message_stop')]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('ends the block and the message that are blocked', async () => {
    const { text } = await asked(SSE, messagesStream([textBlock(0, 'Fine. ', 'Take poison. ', 'More.')]), {
      output: [noPoison],
    });
    const types = [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
    expect(types.slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop']);
    expect(types.filter((type) => type === 'content_block_stop')).toHaveLength(1);
  });

  it("sees every field of a tool's input, its results, and documents of text", async () => {
    const seen: unknown[] = [];
    const source = { type: 'text', media_type: 'text/plain', data: SECRET };
    const content = [
      { type: 'tool_result', tool_use_id: 'toolu_1', content: SECRET },
      { type: 'document', source },
    ];
    const use = { type: 'tool_use', id: 'toolu_1', name: 'send', input: { name: SECRET, data: { id: SECRET } } };
    const messages = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [use] },
      { role: 'user', content },
    ];
    const answer = { path: '/v1/messages', type: JSON_TYPE, text: messageOf('Hi.'), size: 999 };
    await answered({ input: [pii()] }, answer, { ...MESSAGES, system: SECRET, messages }, seen);
    const [body] = seen as { readonly messages: readonly { readonly content: readonly object[] }[] }[];
    expect([JSON.stringify(seen).includes('bob@'), body?.messages[1]?.content[0]]).toEqual([
      false,
      { ...use, input: { name: SAFE, data: { id: SAFE } } },
    ]);
  });

  it('[G-05] leaves the names of tools alone, and reads those of who speaks whatever their type is', async () => {
    const guards = { input: [pii()] };
    const answer = { type: JSON_TYPE, text: chatCompletion('Hi.'), size: 999 };
    const name = 'bob@example.com';
    const speakers = [
      { role: 'user', name, content: 'Go.' },
      { role: 'user', type: 'recall', name, content: 'Go.' },
      { role: 'user', type: 'function_call', name, content: 'Go.' },
      { role: 'assistant', type: 'tool_use', name, content: 'Go.' },
      { role: 'toolsmith', name, content: 'Go.' },
      { type: 'recall', name },
    ];
    const tools = [
      { role: 'tool', name, content: 'Go.' },
      { role: 'function', name, content: 'Go.' },
      ...['function_call', 'custom_tool_call', 'mcp_call', 'mcp_approval_request'].map((type) => ({ type, name })),
      ...['function_call_output', 'custom_tool_call_output'].map((type) => ({ type, name })),
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', name },
          { type: 'server_tool_use', name },
        ],
      },
      { role: 'assistant', content: [{ type: 'mcp_tool_use', name }] },
    ];
    const seen: unknown[] = [];
    await answered(guards, answer, { ...CHAT, messages: [...speakers, ...tools] }, seen);
    const read = speakers.map((message) => ({ ...message, name: '[EMAIL]' }));
    expect(seen).toMatchObject([{ messages: [...read, ...tools] }]);
  });

  it("refuses a request in Anthropic's words", async () => {
    const steps = [guard({ guards: { input: [noPoison] } }) as Step, handler({ type: JSON_TYPE, text: '{}', size: 9 })];
    await withHost(steps, async ({ post }) => {
      const refused = await post({ ...MESSAGES, system: 'poison' }, { path: '/v1/messages' });
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { type: 'error', error: { type: 'invalid_request_error' } },
      ]);
    });
  });
});

describe('guard', () => {
  it('refuses a request, and leaves requests of other APIs alone where the host names their paths', async () => {
    const steps = [
      guard({ guards: { input: [noPoison] }, unguardedPaths: ['/v1/embeddings'] }) as Step,
      handler({ type: JSON_TYPE, text: '{}', size: 9 }),
    ];
    await withHost(steps, async ({ post }) => {
      const refused = await post({ model: 'm', messages: [{ role: 'user', content: 'poison' }] });
      const other = await post({ input: 'poison' }, { path: '/v1/embeddings' });
      const { error } = (await refused.json()) as { error: { code: string } };
      expect([refused.status, error.code, other.status]).toEqual([400, 'content_filter', 200]);
    });
  });

  it('does not offer the handler to compress', async () => {
    const seen: unknown[] = [];
    const watching: Step = (req, res) => {
      seen.push(req.headers['accept-encoding']);
      res.writeHead(200, JSON_TYPE).end(chatCompletion('Hi.'));
    };
    await withHost([guard({ guards: { output: [pii()] } }) as Step, watching], async ({ post }) =>
      (await post(CHAT)).text(),
    );
    expect(seen).toEqual([undefined]);
  });

  it('does not look again at history that was loaded in front of it', async () => {
    const store = memoryStore();
    const places: string[] = [];
    const hooks = { onGuard: ({ place }: { place: string }) => void places.push(place) };
    const text = chatCompletion('Ask alice@example.com', { id: 'chat-1' });
    const answering = handler({ type: JSON_TYPE, text, size: 999 });
    const steps = [
      loadHistory({ store }),
      recordTurn({ store }),
      guard({ guards: { input: [pii()] }, hooks }) as Step,
      answering,
    ];
    await withHost(steps, async ({ post }) => {
      const content = SECRET;
      await (await post({ ...CHAT, messages: [{ role: 'user', content }] })).text();
      await (await post({ ...CHAT, messages: [{ role: 'user', content }], previous_response_id: 'chat-1' })).text();
    });
    expect(places).toEqual(['messages[0].content', 'messages[2].content']);
  });

  it('sees the items of a conversation', async () => {
    const requests: unknown[] = [];
    const steps = [
      guard({ guards: { input: [pii()] } }) as Step,
      handler({ type: JSON_TYPE, text: '{}', size: 9 }, requests),
    ];
    await withHost(steps, async ({ post }) => {
      for (const path of ['/v1/conversations', '/v1/conversations/conv_1/items'])
        await post({ items: [{ role: 'user', content: SECRET }] }, { path });
    });
    expect(requests).toEqual([
      { items: [{ role: 'user', content: SAFE }] },
      { items: [{ role: 'user', content: SAFE }] },
    ]);
  });

  const stored = [
    { path: '/v1/responses/resp_theirs', type: JSON_TYPE, text: JSON.stringify(responseOf(SECRET)) },
    { path: '/v1/responses/resp_theirs?stream=true', type: SSE, text: responseStream(SECRET) },
    {
      path: '/v1/responses/resp_theirs/input_items',
      type: JSON_TYPE,
      text: JSON.stringify({ object: 'list', data: responseOf(SECRET).output }),
    },
    {
      path: '/v1/conversations/conv_1/items',
      type: JSON_TYPE,
      text: JSON.stringify({ object: 'list', data: responseOf(SECRET).output }),
    },
    { path: '/v1/chat/completions/chat_1', type: JSON_TYPE, text: chatCompletion(SECRET) },
    {
      path: '/v1/chat/completions/chat_1/messages',
      type: JSON_TYPE,
      text: JSON.stringify({ object: 'list', data: [{ role: 'assistant', content: SECRET }] }),
    },
  ];

  it.each(stored)(
    'guards what the handler has stored as the model wrote it: GET $path',
    async ({ path, ...answer }) => {
      const steps = [guard({ guards: { output: [pii()] } }) as Step, handler({ ...answer, size: 99 })];
      await withHost(steps, async ({ url }) => {
        const text = await (await fetch(`${url}${path}`)).text();
        expect([text.includes('bob@'), text.includes(SAFE)]).toEqual([false, true]);
      });
    },
  );

  it.each([
    '/v1/responses/resp_theirs/.',
    '/v1/responses/resp_theirs/%2E',
    '/v1/responses/resp_theirs/x/..',
    '/v1/responses/resp_theirs/x/%2e%2e/',
    '/v1/x/../responses/./resp_theirs',
    '//v1//responses//resp_theirs;x=1//',
  ])('[G-02] guards what a handler reads as the path of a stored answer: GET %s', async (path) => {
    const answer = { type: JSON_TYPE, text: JSON.stringify(responseOf(SECRET)), size: 99 };
    await withHost([guard({ guards: { output: [pii()] } }) as Step, handler(answer)], async ({ url }) => {
      // Not by fetch, which writes paths without dots.
      const got = await new Promise<IncomingMessage>((resolve) => get({ port: new URL(url).port, path }, resolve));
      const text = (await got.toArray()).join('');
      expect([text.includes('bob@'), text.includes(SAFE)]).toEqual([false, true]);
    });
  });

  it.each([
    ['/v1/responses/resp_1', 'GET, HEAD'],
    ['/v1/chat/completions', 'POST'],
  ])('[G-02] lets a framework say which methods %s has', async (path, methods) => {
    const app = express().use(guard({ guards: { output: [pii()] } }) as express.RequestHandler);
    app.get('/v1/responses/:id', (_req, res) => void res.json({}));
    app.post('/v1/chat/completions', (_req, res) => void res.json({}));
    const { url, close } = await listening(app);
    const answer = await fetch(url + path, { method: 'OPTIONS' });
    const text = await answer.text();
    await close();
    expect([answer.status, text]).toEqual([200, methods]);
  });

  it('[G-02] lets no other text pass that answers OPTIONS', async () => {
    const steps = [
      guard({ guards: { output: [pii()] } }) as Step,
      handler({ type: { 'content-type': 'text/plain' }, text: SECRET, size: 99 }),
    ];
    await withHost(steps, async ({ url }) => {
      const text = fetch(`${url}/v1/responses/resp_1`, { method: 'OPTIONS' }).then((answer) => answer.text());
      expect(await text.catch(() => 'broken off')).toBe('broken off');
    });
  });

  it('keeps JSON that the request wants valid, in the words of every API', async () => {
    const json = '{"card":4111111111111111}';
    const format = { type: 'json_schema', name: 'x', schema: {} };
    const wanted = [
      { body: { ...CHAT, response_format: { type: 'json_object' } }, answer: chatCompletion(json) },
      { body: { ...REQUESTED, text: { format } }, answer: JSON.stringify(responseOf(json)) },
      { path: '/v1/messages', body: { ...MESSAGES, output_config: { format } }, answer: messageOf(json) },
      { path: '/v1/messages', body: { ...MESSAGES, output_format: format }, answer: messageOf(json) },
    ];
    for (const { body, answer, ...more } of wanted) {
      const { text } = await answered({ output: [pii()] }, { ...more, type: JSON_TYPE, text: answer, size: 99 }, body);
      expect(text).toContain(JSON.stringify('{"card":"[CARD]"}'));
    }
  });

  it('writes as fast as the client reads, and lets the handler know', async () => {
    const size = 64 * 1024;
    let paused = 0;
    const long: Step = async (_req, res) => {
      res.writeHead(200, SSE);
      for (let at = 0; at < 24; at += 1) {
        const chunk = {
          id: 'x',
          choices: [{ index: 0, delta: { content: 'x '.repeat(size / 2) }, finish_reason: null }],
        };
        if (res.write(`data: ${JSON.stringify(chunk)}\n\n`)) continue;
        paused += 1;
        await new Promise((resolve) => res.once('drain', resolve));
      }
      res.end('data: [DONE]\n\n');
    };
    const text = await withHost([guard({ guards: { output: [pii()] } }) as Step, long], async ({ post }) =>
      (await post(CHAT)).text(),
    );
    expect([paused > 2, text.length > 24 * size, text.endsWith('data: [DONE]\n\n')]).toEqual([true, true, true]);
  });

  it('lets a handler go on that waits until JSON has been taken', async () => {
    const text = chatCompletion('x '.repeat(300_000));
    const patient: Step = async (_req, res) => {
      res.writeHead(200, JSON_TYPE);
      for (let at = 0; at < text.length; at += 50_000)
        if (!res.write(text.slice(at, at + 50_000))) await new Promise((resolve) => res.once('drain', resolve));
      res.end();
    };
    const steps = [guard({ guards: { output: [pii()] } }) as Step, patient];
    const shown = await withHost(steps, async ({ post }) => (await post(CHAT)).text());
    expect(shown.length).toBe(text.length);
  });

  it('leaves an answer without a body alone', async () => {
    const empty: Step = (_req, res) => void res.writeHead(204).end();
    const steps = [guard({ guards: { output: [pii()] } }) as Step, empty];
    expect(await withHost(steps, async ({ post }) => (await post(CHAT)).status)).toBe(204);
  });

  it('lets nothing pass that it cannot read', async () => {
    const zipped: Step = (_req, res) =>
      void res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(gzipSync(chatCompletion(SECRET)));
    const text: Step = (_req, res) => void res.writeHead(200, { 'content-type': 'text/plain' }).end(SECRET);
    for (const step of [zipped, text]) {
      const codes: string[] = [];
      const hooks = { onError: ({ code }: { code: string }) => void codes.push(code) };
      const steps = [guard({ guards: { output: [pii()] }, hooks }) as Step, step];
      const shown = await withHost(steps, async ({ post }) => {
        const response = await post(CHAT).catch(() => undefined);
        return (await response?.text().catch(() => '')) ?? '';
      });
      expect([shown, codes]).toEqual(['', ['guard_failed']]);
    }
  });

  it.each([200, 201, 203])('guards an answer with status %d whose head is written with its end', async (status) => {
    const whole: Step = (_req, res) => {
      res.statusCode = status;
      res.setHeader('content-type', 'application/json');
      res.end(chatCompletion(SECRET));
    };
    const shown = await withHost([guard({ guards: { output: [pii()] } }) as Step, whole], async ({ post }) => {
      const answer = await post(CHAT);
      return [answer.status, (await answer.text()).includes(SAFE)];
    });
    expect(shown).toEqual([status, true]);
  });

  it('passes on the last event of a stream that ends without a blank line, but not half of one', async () => {
    const streamed = (text: string) =>
      answered({ output: [pii()] }, { type: SSE, text, size: 50 }, { ...CHAT, stream: true });
    const whole = textStream('Nothing to see.');
    const ended = await streamed(whole.trimEnd());
    const half = await streamed(`${whole.slice(0, whole.indexOf('data: [DONE]'))}data: {"id":`);
    expect([ended.text.endsWith('data: [DONE]\n\n'), half.text.includes('data: {"id":\n')]).toEqual([true, false]);
  });

  it('reads the first event of a stream that begins with a byte order mark', async () => {
    const text = `\ufeff${responseStream(SECRET)}`;
    for (const size of [1, 1000]) {
      const shown = await answered({ output: [pii()] }, { type: SSE, text, size }, { ...REQUESTED, stream: true });
      expect([shown.text.startsWith('event: response.created\n'), shown.text.includes(SAFE)]).toEqual([true, true]);
    }
  });

  it.each([
    ['behind other fields', '{"index":0,"type":"content_block_start","content_block":{"type":"text","text":""}}'],
    ['behind a blank', '{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}'],
  ])('keeps the names of events that it only watches, where their type stands %s', async (_, data) => {
    const text = `event: content_block_start\ndata: ${data}\n\nevent: done\ndata: [DONE]\n\ndata: {"type":"ping"}\n\n`;
    const watching = { output: [pii({ mode: 'monitor' })] };
    const answer = { path: '/v1/messages', type: SSE, text, size: 20 };
    const shown = await answered(watching, answer, { ...MESSAGES, stream: true });
    expect(shown.text).toBe(text);
  });

  it.each([
    ['a stream', SSE],
    ['JSON', JSON_TYPE],
  ])('calls the handler of %s back when the client has left, however long it waits for each write', async (_, type) => {
    const left = gate();
    const ended = gate();
    const writing: Step = async (_req, res) => {
      res.once('close', () => left.open());
      res.writeHead(200, type).flushHeaders();
      await new Promise((resolve) => res.write(' ', resolve));
      await left.opened;
      for (const _ of [1, 2]) await new Promise((resolve) => res.write(' ', resolve));
      ended.open();
    };
    await withHost([guard({ guards: { output: [pii()] } }) as Step, writing], async ({ post }) => {
      const controller = new AbortController();
      await post(CHAT, { signal: controller.signal });
      controller.abort();
      await ended.opened;
    });
  });

  it('guards the answer of a handler whose first head was not valid', async () => {
    const twice: Step = (_req, res) => {
      expect(() => res.writeHead(200, { 'x-note': 'two\nlines' })).toThrow();
      res.writeHead(200, JSON_TYPE).end(chatCompletion(SECRET));
    };
    const shown = await withHost([guard({ guards: { output: [pii()] } }) as Step, twice], async ({ post }) =>
      (await post(CHAT)).text(),
    );
    expect(shown).toContain(SAFE);
  });

  it('lets a recorder in front of it store what is shown', async () => {
    const store = watchedStore();
    const steps = [
      recordTurn({ store }),
      guard({ guards: { output: [pii()] } }) as Step,
      handler({ type: SSE, text: textStream([...SECRET]), size: 20 }),
    ];
    await withHost(steps, async ({ post }) => (await post({ ...CHAT, stream: true })).text());
    expect([JSON.stringify(store.puts).includes(SAFE), JSON.stringify(store.puts).includes('bob@')]).toEqual([
      true,
      false,
    ]);
  });

  it('guards what a router of this package runs in the background, after the request has ended', async () => {
    const fake = await startFakeUpstream();
    fake.reply({ body: textStream([...SECRET]), firstByteDelayMs: 50 });
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL });
    const router = responsesRouter({ upstream, store: memoryStore() });
    const { url, close } = await listening(express().use('/v1', guard({ guards: { output: [pii()] } }), router));
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'm', input: 'Go.', background: true });
    let response = (await (await fetch(`${url}/v1/responses`, { method: 'POST', headers, body })).json()) as JsonObject;
    while (response.status !== 'completed' && response.status !== 'failed')
      response = (await (await fetch(`${url}/v1/responses/${response.id}`)).json()) as JsonObject;
    await Promise.all([close(), upstream.close?.(), fake.close()]);
    expect([response.status, JSON.stringify(response.output).includes(SAFE)]).toEqual(['completed', true]);
  });

  it('is missed where another process goes on: the request cannot be read there', () => {
    const sealer = stateSealer('a key of sixteen bytes');
    const request = { body: {}, params: {}, query: {}, headers: new Headers(), scope: 's', requestId: 'r' };
    const { signal } = new AbortController();
    const id = 'resp_00000000000000000000000000000001';
    const textOf = (context: object) => requestText({ ...request, signal, context }, { id }, sealer);
    expect(requestIn(textOf({}), { scope: 's', id }, sealer).requestId).toBe('r');
    expect(() => requestIn(textOf({ guards: [{}] }), { scope: 's', id }, sealer)).toThrow('guarded by a middleware');
  });

  it('leaves the output to a router of this package, which stores what it shows, and the values of placeholders', async () => {
    const fake = await startFakeUpstream();
    fake.reply({ body: textStream([...'For [EMAIL_1]: alice@example.com']) });
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL });
    const store = watchedStore();
    const guards = guard({ guards: { input: [pii({ restore: true })], output: [pii({ kinds: ['email'] })] } });
    const { url, close } = await listening(
      express().use('/v1', guards, responsesRouter({ upstream, store: { ...memoryStore(), put: store.put } })),
    );
    const answer = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'I am bob@example.com', stream: true }),
    });
    const text = await answer.text();
    await Promise.all([close(), upstream.close?.()]);
    const asked = JSON.stringify(fake.requests.at(-1)?.body);
    await fake.close();
    const [stored] = store.puts;
    expect([text.includes('For bob@example.com: [EMAIL]'), text.includes('alice@')]).toEqual([true, false]);
    expect([asked.includes('bob@'), asked.includes('I am [EMAIL_1]')]).toEqual([false, true]);
    expect(JSON.stringify(stored?.input)).toContain('I am bob@example.com');
    expect(JSON.stringify(stored?.output)).toContain('For bob@example.com: [EMAIL]');
  });
});
