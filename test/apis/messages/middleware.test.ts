/** The middlewares in front of handlers of Anthropic's API: the host's own, and ours. */

import express, { type RequestHandler } from 'express';
import { demoSearch } from 'express-open-responses/testing';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { webSearch } from 'express-open-responses/web-search';
import fc from 'fast-check';
import { repairTurns } from '../../../src/apis/messages/repair.ts';
import { checkContent, type MessagesBody } from '../../../src/apis/messages/request/schema.ts';
import {
  chatCompletionsUpstream,
  functionTools,
  heartbeat,
  injectTools,
  memoryStore,
  messagesRouter,
  type NodeMiddleware,
  type Repair,
  responsesRouter,
  validateMessages,
} from '../../../src/index.ts';
import type { RemoteServers } from '../../../src/ports/remote-servers.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { messagesStream, textBlock } from '../../upstreams/messages-bytes.ts';
import { ask, askJson, eventsIn, lastBody, USER } from './messages-app.ts';

const weather = functionTools({ weather: { execute: () => 'Sunny.' } });
const use = (id: string, name = 'look') => ({ type: 'tool_use', id, name, input: {} });
const result = (id: string, content = 'Seen.') => ({ type: 'tool_result', tool_use_id: id, content });
const asUser = (...content: readonly JsonObject[]) => ({ role: 'user', content });
const spoke = (...content: readonly JsonObject[]) => ({ role: 'assistant', content });

let closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.map((close) => close()));
  closing = [];
});

/** An app with these middlewares before a handler. */
async function serve(...handlers: readonly (NodeMiddleware | RequestHandler)[]): Promise<string> {
  const app = express().use('/v1', express.json({ limit: '10mb' }), ...(handlers as RequestHandler[]));
  const { url, close } = await listening(app);
  closing.push(close);
  return `${url}/v1`;
}

const echo: RequestHandler = (req, res) => void res.json(req.body);

describe('validateMessages', () => {
  const repaired = async (messages: readonly unknown[]) => {
    const seen: string[] = [];
    const onRepair = (repairs: readonly Repair[]) => seen.push(...repairs.map(({ code, index }) => `${code} ${index}`));
    const url = await serve(validateMessages({ onRepair }), echo);
    const { body } = await askJson(url, { messages });
    return { messages: body.messages as readonly JsonObject[], seen };
  };

  it.each([
    ['nothing', [USER, spoke(use('a')), asUser(result('a'), { type: 'text', text: 'And?' })], undefined, []],
    [
      'a result that is missing',
      [USER, spoke(use('a'), use('b')), asUser(result('b'))],
      [USER.role, spoke(use('a'), use('b')), asUser(result('a', '(no output was recorded)'), result('b'))],
      ['missing_output 1'],
    ],
    [
      'all of them at the end',
      [USER, spoke(use('a'))],
      [USER.role, spoke(use('a')), asUser(result('a', '(no output was recorded)'))],
      ['missing_output 1'],
    ],
    [
      'a result without call',
      [USER, spoke({ type: 'text', text: 'Hi.' }), asUser(result('x'), { type: 'text', text: 'And?' })],
      [USER.role, spoke({ type: 'text', text: 'Hi.' }), asUser({ type: 'text', text: 'And?' })],
      ['orphan_output 2'],
    ],
    [
      'a result before its call',
      [asUser({ type: 'text', text: 'Go.' }, result('a', 'Early.')), spoke(use('a')), asUser(result('a'))],
      [asUser({ type: 'text', text: 'Go.' }), spoke(use('a')), asUser(result('a'))],
      ['orphan_output 0'],
    ],
    [
      'two calls with one id',
      [USER, spoke(use('a'), use('a')), asUser(result('a', 'One.'), result('a', 'Two.'))],
      [
        USER.role,
        spoke(use('a'), use('toolu_1_again_1')),
        asUser(result('a', 'One.'), result('toolu_1_again_1', 'Two.')),
      ],
      ['missing_id 1'],
    ],
    [
      'a result that comes late',
      [
        USER,
        spoke(use('a')),
        asUser({ type: 'text', text: 'Wait.' }),
        spoke({ type: 'text', text: 'Yes.' }),
        asUser(result('a')),
      ],
      [
        USER.role,
        spoke(use('a')),
        asUser(result('a'), { type: 'text', text: 'Wait.' }),
        spoke({ type: 'text', text: 'Yes.' }),
      ],
      ['misplaced_output 4', 'empty_message 4'],
    ],
    [
      'messages of one role',
      [USER, spoke({ type: 'text', text: 'A' }), spoke(use('a')), asUser(result('a'))],
      [USER.role, spoke({ type: 'text', text: 'A' }, use('a')), asUser(result('a'))],
      ['split_message 2'],
    ],
    [
      'a call without name, id or input',
      [USER, spoke({ ...use(''), input: '{}' }, use('b', '')), asUser()],
      [USER.role, spoke(use('toolu_1_0')), asUser(result('toolu_1_0', '(no output was recorded)'))],
      ['missing_id 1', 'bad_arguments 1', 'empty_name 1', 'missing_output 1'],
    ],
    ['what is no message', [4, USER], [USER.role], ['not_a_message 0']],
    [
      'a result behind a message of the system',
      [
        USER,
        spoke(use('a')),
        { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
        asUser(result('a'), { type: 'text', text: 'And?' }),
      ],
      [
        USER.role,
        spoke(use('a')),
        asUser(result('a')),
        { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
        asUser({ type: 'text', text: 'And?' }),
      ],
      ['misplaced_output 3'],
    ],
    [
      'a result that is missing before a message of the system',
      [USER, spoke(use('a')), { role: 'system', content: 'Be brief.' }],
      [
        USER.role,
        spoke(use('a')),
        asUser(result('a', '(no output was recorded)')),
        { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      ],
      ['missing_output 1'],
    ],
  ])('[X-12] [X-02] repairs %s', async (_name, given, expected, codes) => {
    const { messages, seen } = await repaired(given);
    const wanted = expected?.map((each) => (typeof each === 'string' ? asUser({ type: 'text', text: 'Go.' }) : each));
    expect({ messages, seen }).toEqual({ messages: wanted ?? given, seen: codes });
  });

  it('[X-12] [X-02] leaves results alone whose calls are in the thread that the request continues', async () => {
    const url = await serve(validateMessages(), echo);
    const thread = { type: 'continue', previous_message_id: 'msg_1' };
    const messages = [asUser(result('of the thread')), spoke(use('a')), asUser(result('a'), result('unheard of'))];
    const { body } = await askJson(url, { thread, messages });
    expect(body.messages).toEqual([...messages.slice(0, 2), asUser(result('a'))]);
  });

  it("[X-12] [X-02] rejects in Anthropic's envelope", async () => {
    const url = await serve(validateMessages({ mode: 'reject' }), echo);
    const { status, body } = await askJson(url, { messages: [USER, spoke(use('a'))] });
    expect([status, body]).toMatchObject([400, { type: 'error', error: { type: 'invalid_request_error' } }]);
  });

  it('[X-12] makes any conversation one that the router takes', () => {
    const id = fc.constantFrom('a', 'b', '');
    const block = fc.oneof(
      fc.constantFrom({ type: 'text', text: 'Hi.' }, { type: 'text', text: '' }),
      id.map((each) => use(each)),
      id.map((each) => use(each, '')),
    );
    const answer = fc.oneof(
      fc.constant({ type: 'text', text: 'Hi.' }),
      fc.constantFrom('a', 'b').map((each) => result(each)),
    );
    const message = fc.oneof(
      fc.constant({ role: 'system', content: [{ type: 'text', text: 'Be brief.' }] }),
      fc.array(block, { maxLength: 4 }).map((content) => spoke(...content)),
      fc.array(answer, { maxLength: 4 }).map((content) => asUser(...content)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
        const { list } = repairTurns([USER, ...messages]);
        // The cast: what is wrong with it is what is asked.
        checkContent({ model: 'm', messages: list } as MessagesBody);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('injectTools', () => {
  it("[X-12] [X-02] adds the server's tools to a body for another handler", async () => {
    const url = await serve(injectTools({ tools: weather }), echo);
    const own = { name: 'look', input_schema: { type: 'object' } };
    const { body } = await askJson(url, { tools: [own] });
    expect(body.tools).toEqual([own, expect.objectContaining({ name: 'weather', input_schema: expect.any(Object) })]);
  });

  it('[X-12] leaves the calls to the router behind it, which adds none twice', async () => {
    const fake = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
    closing.push(fake.close, async () => upstream.close?.());
    fake.reply(
      { body: toolCallStream([{ id: 'c', name: 'weather', arguments: '{}' }]) },
      { body: textStream('Sunny.') },
    );
    const url = await serve(injectTools({ tools: weather }), messagesRouter({ upstream, tools: weather }));
    const { body } = await askJson(url);
    expect(body.content).toEqual([{ type: 'text', text: 'Sunny.' }]);
    expect(lastBody({ fake }).tools).toHaveLength(1);
  });

  it('[X-12] [X-02] leaves to the next handler what the server does not run', async () => {
    const url = await serve(injectTools({ tools: weather }), echo);
    const tools = [
      { type: 'mcp_toolset', mcp_server_name: 'theirs' },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ];
    const mcp_servers = [{ type: 'url', name: 'theirs', url: 'https://example.com/mcp' }];
    const { body } = await askJson(url, { tools, mcp_servers });
    expect([body.tools, body.mcp_servers]).toEqual([
      [...tools, expect.objectContaining({ name: 'weather' })],
      mcp_servers,
    ]);
  });

  const notes: string[] = [];
  const hooks = { onNote: ({ message }: { readonly message: string }) => void notes.push(message) };

  it.each([
    ['alike', () => true],
    ['only the router', undefined],
  ])('[X-12] [X-02] offers no tool that needs approval where both say so (%s)', async (_name, approval) => {
    const fake = await startFakeUpstream({
      reply: { body: messagesStream([textBlock(0, 'Hi.')]), headers: { 'content-type': 'text/event-stream' } },
    });
    const upstream = anthropicUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
    closing.push(fake.close, async () => upstream.close?.());
    const url = await serve(
      injectTools({ tools: weather, hooks, approval }),
      messagesRouter({ upstream, tools: weather, hooks, approval: () => true }),
    );
    await (await ask(url, { stream: true })).text();
    expect(JSON.stringify(lastBody({ fake }))).not.toContain('weather');
    expect(notes.splice(0)).toEqual([expect.stringContaining("'weather' needs approval")]);
  });

  it("[X-12] [X-02] leaves Anthropic's names of tools to be chosen by", async () => {
    const fake = await startFakeUpstream({ reply: { body: textStream('Hi.') } });
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
    closing.push(fake.close, async () => upstream.close?.());
    const tools = webSearch({ engine: demoSearch(), pages: true });
    const url = await serve(injectTools({ tools }), messagesRouter({ upstream, tools }));
    const { status } = await askJson(url, {
      tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }],
      tool_choice: { type: 'tool', name: 'web_fetch' },
    });
    const { tool_choice: choice } = lastBody({ fake });
    expect([status, choice]).toEqual([200, { type: 'function', function: { name: 'open_page' } }]);
  });

  it.each([
    ['with tools of its own', weather],
    ['without', []],
  ])('[T-09] [X-02] leaves servers that a request names to the router behind it, %s', async (_name, tools) => {
    const fake = await startFakeUpstream({ reply: { body: textStream('Hi.') } });
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
    closing.push(fake.close, async () => upstream.close?.());
    const opened: string[] = [];
    const remoteMcp: RemoteServers = {
      async open({ label }) {
        opened.push(label);
        const far = { server: label, name: 'far', description: 'Far away.' };
        return { name: label, list: async () => [far], call: async () => ({ content: [] }) };
      },
      close: async () => {},
    };
    const options = { upstream, tools, remoteMcp, hooks, store: memoryStore() };
    const url = await serve(injectTools(options), messagesRouter(options), responsesRouter(options));
    const server_url = 'https://example.com/mcp';
    const message = await askJson(url, {
      mcp_servers: [{ type: 'url', name: 'theirs', url: server_url }],
      tools: [{ type: 'mcp_toolset', mcp_server_name: 'theirs' }],
    });
    const offered = () => JSON.stringify(lastBody({ fake }).tools).match(/weather|far/g);
    const inMessages = offered();
    const entry = { type: 'mcp', server_label: 'theirs', server_url, require_approval: 'never' };
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'm', input: 'Go.', tools: [entry] });
    const response = await fetch(`${url}/responses`, { method: 'POST', headers, body });
    await response.text();
    const all = tools === weather ? ['weather', 'far'] : ['far'];
    expect([message.status, inMessages, response.status, offered()]).toEqual([200, all, 200, all]);
    expect([opened, notes.splice(0)]).toEqual([['theirs', 'theirs'], []]);
  });
});

describe('heartbeat', () => {
  const silent: RequestHandler = (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    setTimeout(() => res.end('event: message_stop\ndata: {"type":"message_stop"}\n\n'), 250);
  };

  it.each([
    ["another handler's stream", () => serve(heartbeat({ intervalMs: 40 }), silent)],
    [
      "the router's",
      async () => {
        const fake = await startFakeUpstream({ reply: { body: textStream('Hi.'), firstByteDelayMs: 1500 } });
        const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
        closing.push(fake.close, async () => upstream.close?.());
        return serve(heartbeat({ intervalMs: 40 }), messagesRouter({ upstream }));
      },
    ],
  ])('[X-12] [X-02] pings in %s', async (_name, start) => {
    const events = eventsIn(await (await ask(await start(), { stream: true })).text());
    expect(events.filter(({ type }) => type === 'ping').length).toBeGreaterThan(2);
    expect(events.at(-1)?.type).toBe('message_stop');
  });
});
