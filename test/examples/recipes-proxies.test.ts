/** The recipes for proxies that a company already has do what their pages say. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import { chatCompletion, type FakeUpstream, startFakeUpstream, textStream } from 'express-open-responses/testing';
import {
  answerOf,
  answerTextIn,
  chat,
  messagesIn,
  post,
  type Recipe,
  startRecipe,
  toolsIn,
  untilReceived,
} from './recipe.ts';

const ECHO = {
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{"message":"ice"}' } }],
};

let fake: FakeUpstream;
let folder: string;
let variables: Readonly<Record<string, string>>;
let recipe: Recipe | undefined;

// One for all: a proxy that two recipes share has its address from the first.
beforeAll(async () => {
  fake = await startFakeUpstream();
  folder = mkdtempSync(join(tmpdir(), 'recipe-'));
  variables = { UPSTREAM_BASE_URL: fake.baseURL, MCP_CONFIG: writeMcpConfig(), HEARTBEAT_MS: '5' };
});
afterEach(() => recipe?.close());
afterAll(async () => {
  await fake.close();
  rmSync(folder, { recursive: true });
});

/** An `mcp.json` with MCP's own server-everything, as every MCP client has it. */
function writeMcpConfig(): string {
  const script = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
  const path = join(folder, 'mcp.json');
  const mcpServers = { everything: { command: process.execPath, args: [script, 'stdio'] } };
  writeFileSync(path, JSON.stringify({ mcpServers }));
  return path;
}

async function start(name: string): Promise<string> {
  recipe = await startRecipe(name, variables);
  return `${recipe.url}/v1/chat/completions`;
}

describe('docs/middlewares.md', () => {
  it('[X-01] [X-02] [S-12] has a chat that goes on, is repaired, and gets the time from a tool', async () => {
    const url = await start('middlewares');
    const time = { tool_calls: [{ ...ECHO.tool_calls[0], function: { name: 'time', arguments: '{}' } }] };
    fake.reply({ body: chatCompletion('Hi.') }, { body: chatCompletion(time) }, { body: chatCompletion('Late.') });
    const { body } = await answerOf(post(url, chat('Hello.')));
    const lost = { role: 'tool', tool_call_id: 'call_0', content: 'lost' };
    const messages = [{ role: 'user', content: 'The time?' }, lost];
    const answer = await answerOf(post(url, { model: 'm', messages, previous_response_id: body.id }));
    expect([answerTextIn(answer.body), messagesIn(fake)]).toEqual([
      'Late.',
      [
        'user: Hello.',
        'assistant: Hi.',
        'user: The time?',
        'assistant: null',
        expect.stringMatching(/^tool: \d{4}-\d\d-\d\dT.*Z$/),
      ],
    ]);
  });
});

describe('the recipe for MCP tools', () => {
  it('[X-02] [T-01] [T-02] runs them behind http-proxy-middleware, and leaves other requests to it', async () => {
    const url = await start('tools-http-proxy');
    fake.reply({ body: chatCompletion(ECHO) }, { body: chatCompletion('It says ice.') });
    const { body } = await answerOf(post(url, chat('Echo "ice".')));
    const models = await answerOf(fetch(`${recipe?.url}/v1/models`));
    expect([answerTextIn(body), messagesIn(fake, -2), toolsIn(fake, -3).includes('echo'), models.status]).toEqual([
      'It says ice.',
      ['user: Echo "ice".', 'assistant: null', 'tool: Echo: ice'],
      true,
      200,
    ]);
  });

  it('[X-02] [T-01] runs them behind a fetch proxy, and the next chat knows the answer', async () => {
    const url = await start('tools-fetch-proxy');
    const answers = [chatCompletion(ECHO), chatCompletion('It says ice.'), chatCompletion('Ice.', { id: 'chat-2' })];
    fake.reply(...answers.map((body) => ({ body })));
    const { body } = await answerOf(post(url, chat('Echo "ice".')));
    await answerOf(post(url, chat('What did it say?', { previous_response_id: body.id })));
    expect([messagesIn(fake, -2), messagesIn(fake)]).toEqual([
      ['user: Echo "ice".', 'assistant: null', 'tool: Echo: ice'],
      ['user: Echo "ice".', 'assistant: It says ice.', 'user: What did it say?'],
    ]);
  });
});

describe('the recipe for history', () => {
  it('[X-02] [S-12] sends the model the whole chat, streamed or not, and refuses an unknown id', async () => {
    const url = await start('history');
    fake.reply({ body: textStream('Hello!') }, { body: chatCompletion('Ada.') });
    const stream = await post(url, chat('My name is Ada.', { stream: true }));
    const { id } = JSON.parse((await untilReceived(stream, '\n\n')).split('\n\n')[0]?.slice('data: '.length) ?? '');
    for await (const _ of stream.body ?? []);
    await answerOf(post(url, chat('What is my name?', { previous_response_id: id })));
    const refused = await answerOf(post(url, chat('Hi.', { previous_response_id: 'chatcmpl-unknown' })));
    expect([messagesIn(fake), fake.requests.at(-1)?.body, refused.status, refused.body.error]).toEqual([
      ['user: My name is Ada.', 'assistant: Hello!', 'user: What is my name?'],
      expect.not.objectContaining({ previous_response_id: expect.anything() }),
      400,
      expect.objectContaining({ code: 'previous_response_not_found' }),
    ]);
  });
});

describe('the recipe for validation', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
  const unanswered = [
    { role: 'user', content: 'The weather?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'user', content: 'Never mind.' },
  ];

  it('[X-02] [P-06] repairs and logs, or refuses and names the message', async () => {
    const url = await start('validation');
    fake.reply({ body: chatCompletion('Fine.') });
    const requested = fake.requests.length;
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => {});
    await answerOf(post(url, { model: 'm', messages: unanswered }, { 'x-request-id': 'req-1' }));
    const logged = warn.mock.calls.flat();
    warn.mockRestore();
    const strict = await answerOf(post(url.replace('/v1/', '/strict/'), { model: 'm', messages: unanswered }));
    expect([messagesIn(fake), logged, fake.requests.length - requested, strict.status, strict.body.error]).toEqual([
      ['user: The weather?', 'assistant: null', 'tool: (no output was recorded)', 'user: Never mind.'],
      ['req-1: messages[1] missing_output'],
      1,
      400,
      expect.objectContaining({ code: 'tool_output_missing', param: 'messages[1]' }),
    ]);
  });
});

describe('the recipe for heartbeats', () => {
  it('[X-02] [P-15] fills the silence of a proxy’s stream, between events', async () => {
    const url = await start('heartbeats');
    const body = textStream(['Well', ' then']);
    const first = body.indexOf('\n\n') + 2;
    fake.reply({ body, stallAfterBytes: first });
    // The stream may be opened, by a comment too, before the server has answered.
    const received = await untilReceived(await post(url, chat('Think.', { stream: true })), '}\n\n: heartbeat\n\n');
    expect(received.replaceAll(': heartbeat\n\n', '')).toBe(body.slice(0, first));
  });
});

describe('the recipe for guards', () => {
  it('[X-02] keeps an address from the model server, and gives it back, streamed or not', async () => {
    const url = await start('guards');
    const info = jest.spyOn(console, 'info').mockImplementation(() => {});
    const answer = 'I wrote to [EMAIL_1] with AKIAIOSFODNN7EXAMPLE.';
    fake.reply({ body: chatCompletion(answer) }, { body: textStream([...answer]) });
    const { body } = await answerOf(post(url, chat('Write to bob@example.com')));
    const asked = messagesIn(fake);
    const stream = await (await post(url, chat('Write to bob@example.com', { stream: true }))).text();
    const logged = info.mock.calls.map((line) => line.slice(0, 3).join(' '));
    info.mockRestore();
    expect([answerTextIn(body), asked, logged[0]]).toEqual([
      'I wrote to bob@example.com with [KEY].',
      ['user: Write to [EMAIL_1]'],
      'EMAIL replaced messages[0].content',
    ]);
    const shown = stream.match(/"content":"[^"]*"/g)?.map((field) => JSON.parse(`{${field}}`).content);
    expect(shown?.join('')).toBe('I wrote to bob@example.com with [KEY].');
  });
});
