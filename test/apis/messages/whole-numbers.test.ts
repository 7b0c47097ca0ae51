/** Whole numbers above 2^53 in the inputs of tools, in answers of the Messages API and in what clients send back. */
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { chatCompletionsUpstream, messagesRouter, responsesRouter } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatStream, type FakeUpstream, startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import { anthropicUpstream } from '../../../src/upstreams/anthropic/anthropic-upstream.ts';
import { type Listening, listening } from '../../support/listening.ts';

const ID = '2512292042121000001';
const INPUT = `{"id":${ID},"in":[-${ID}]}`;
const TOOLS = '[{"name":"look","input_schema":{"type":"object","properties":{"id":{"type":"integer"}}}}]';
const HISTORY = `[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"look","input":${INPUT}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1 row"}]}]`;
const BODY = `{"model":"fake-model","max_tokens":100,"tools":${TOOLS},"messages":`;

let fake: FakeUpstream;
let app: Listening;
let anthropic: Listening;
/** What Anthropic's server received last. */
let sent = '';
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  fake = await startFakeUpstream();
  const chat = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
  anthropic = await listening(async (req, res) => {
    sent = await text(req);
    const block = `{"type":"tool_use","id":"toolu_1","name":"look","input":${INPUT}}`;
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end(claudeStream(block));
  });
  const claude = anthropicUpstream({ baseURL: anthropic.url, apiKey: 'key', retries: 0 });
  const host = express();
  host.use('/chat', messagesRouter({ upstream: chat }));
  host.use('/text', express.text({ type: '*/*' }), messagesRouter({ upstream: chat }));
  host.use('/claude', messagesRouter({ upstream: claude }));
  host.use('/claude', responsesRouter({ upstream: claude }));
  app = await listening(host);
  closers.push(
    app.close,
    () => chat.close?.(),
    () => claude.close?.(),
    fake.close,
    anthropic.close,
  );
});
afterAll(() => Promise.all(closers.map((close) => close())));

async function ask(path: string, body: string | Buffer, headers = {}): Promise<string> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
  const answer = await fetch(app.url + path, init);
  const received = await answer.text();
  expect([answer.status, received]).toEqual([200, received]);
  return received;
}

it('[V-25] are exact in JSON and in streams', async () => {
  fake.reply({
    body: chatStream({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'look', arguments: INPUT } }] }),
  });
  const body = `${BODY}[{"role":"user","content":"Go."}]`;
  expect(await ask('/chat/messages', `${body}}`)).toContain(`"input":${INPUT}`);
  const streamed = await ask('/chat/messages', `${body},"stream":true}`);
  expect(streamed).toContain(JSON.stringify(INPUT).slice(1, -1));
});

it('[V-25] are exact where the model server sends the arguments as an object', async () => {
  const stream = chatStream({
    tool_calls: [{ index: 0, id: 'call_1', function: { name: 'look', arguments: { id: 1 } } }],
  });
  fake.reply({ body: stream.replace('"arguments":{"id":1}', `"arguments":${INPUT}`) });
  expect(await ask('/chat/messages', `${BODY}[{"role":"user","content":"Go."}]}`)).toContain(`"input":${INPUT}`);
});

it.each<readonly [string, string, (body: string) => string | Buffer, object]>([
  ['as it is', '/chat', (body) => body, {}],
  ['compressed', '/chat', (body) => gzipSync(body), { 'content-encoding': 'gzip' }],
  ['read by the host', '/text', (body) => body, {}],
])('[V-25] reach the model again as it wrote them, from a body %s', async (_, base, encoded, headers) => {
  fake.reply({ body: textStream('Done.') });
  await ask(`${base}/messages`, encoded(`${BODY}${HISTORY}}`), headers);
  expect(JSON.stringify(fake.requests.at(-1)?.body)).toContain(JSON.stringify(INPUT));
});

it('[V-25] are passed on to Anthropic, and sent back to it from a response', async () => {
  await ask('/claude/messages', `${BODY}${HISTORY},"stream":true}`);
  expect(sent).toContain(`"input":${INPUT}`);
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
  const first = JSON.parse(await ask('/claude/responses', JSON.stringify({ model: 'm', input: 'Go.', tools })));
  const [call] = first.output as readonly JsonObject[];
  expect(call?.arguments).toBe(INPUT);
  const output = [{ type: 'function_call_output', call_id: call?.call_id, output: '1 row' }];
  await ask('/claude/responses', JSON.stringify({ model: 'm', previous_response_id: first.id, input: output, tools }));
  expect(sent).toContain(`"input":${INPUT}`);
});

function claudeStream(block: string): string {
  const usage = '"usage":{"input_tokens":1,"output_tokens":1}';
  return [
    `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],${usage}}}`,
    `{"type":"content_block_start","index":0,"content_block":${block}}`,
    '{"type":"content_block_stop","index":0}',
    `{"type":"message_delta","delta":{"stop_reason":"tool_use"},${usage}}`,
    '{"type":"message_stop"}',
  ]
    .map((data) => `data: ${data}\n\n`)
    .join('');
}
