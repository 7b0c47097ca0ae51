/** Tools that the server runs: hidden where they are the host's, shown where the client named them, lost nowhere. */

import { codeInterpreter } from 'express-open-responses/code-interpreter';
import { demoSearch } from 'express-open-responses/testing';
import { webSearch } from 'express-open-responses/web-search';
import { functionTools, type RouterOptions, type ToolProvider } from '../../../src/index.ts';
import type { RemoteServer, RemoteServers } from '../../../src/ports/remote-servers.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { codeScript, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { fakeRuntime } from '../../tools/code-interpreter/fake-runtime.ts';
import { messageOf } from './accumulate.ts';
import { askEvents, askJson, type Block, lastBody, type MessagesApp, startMessages, USER } from './messages-app.ts';

const OURS: JsonObject = { name: 'theirs', input_schema: { type: 'object' } };
const notes: string[] = [];
const hooks = { onNote: ({ message }: { readonly message: string }) => void notes.push(message) };

let app: MessagesApp;
afterEach(async () => {
  notes.length = 0;
  await app.close();
});

const weather = functionTools({
  weather: { description: 'The weather.', execute: ({ at }: JsonObject) => `Sunny in ${at}.` },
});
const call = (name: string, args: JsonObject, id = `call_${name}`) => ({ id, name, arguments: JSON.stringify(args) });
const calls = (...list: readonly ReturnType<typeof call>[]) => ({ body: toolCallStream(list) });
const says = (text: string) => ({ body: textStream(text) });

async function start(options: RouterOptions): Promise<void> {
  app = await startMessages({ hooks, ...options });
}

/** The message as JSON and as a stream, which are the same but for ids. */
async function both(replies: readonly { readonly body: string }[], body: JsonObject) {
  app.fake.reply(...replies);
  const { body: json } = await askJson(app.url, body);
  app.fake.reply(...replies);
  const streamed = messageOf(await askEvents(app.url, body));
  const plain = (message: unknown) =>
    JSON.stringify(message)
      .replace(/(_)[0-9a-f]{32}/g, '$1')
      .replace(/pst1\.[\w-]+/g, 'pst1.');
  expect(plain(streamed)).toBe(plain(json));
  return json;
}

describe("the host's own tools", () => {
  it('[X-12] [T-02] run hidden, and the answer is as if there were none', async () => {
    await start({ tools: weather });
    const message = await both([calls(call('weather', { at: 'Bonn' })), says('Sunny.')], {});
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'Sunny.' }], stop_reason: 'end_turn' });
    expect(message.usage).toMatchObject({ input_tokens: 18, output_tokens: 24 });
    expect(lastBody(app).messages.at(-1)).toMatchObject({ role: 'tool', content: 'Sunny in Bonn.' });
  });

  it('[X-12] are shown where the host wants it', async () => {
    await start({ tools: weather, show: { toolCallsInMessages: true } });
    const { content } = await both([calls(call('weather', { at: 'Bonn' })), says('Sunny.')], {});
    expect(content).toMatchObject([
      { type: 'mcp_tool_use', name: 'weather', input: { at: 'Bonn' } },
      { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: 'Sunny in Bonn.' }] },
      { type: 'text', text: 'Sunny.' },
    ]);
  });

  it('[X-12] [S-11] are shown as failed where the model was cut off in the middle of their arguments', async () => {
    await start({ tools: weather, show: { toolCallsInMessages: true } });
    const { body } = calls({ ...call('weather', {}), arguments: '{"at":' });
    const cut = { body: body.replace('"finish_reason":"tool_calls"', '"finish_reason":"length"') };
    const { content, stop_reason } = await both([cut], {});
    expect([stop_reason, content]).toMatchObject([
      'max_tokens',
      [{ type: 'mcp_tool_use' }, { type: 'mcp_tool_result', is_error: true }],
    ]);
  });

  it('[X-12] [T-04] that ran beside a tool of the client are there when it answers', async () => {
    await start({ tools: weather });
    const mixed = calls(call('weather', { at: 'Bonn' }), call('theirs', { b: 2 }));
    const { content, stop_reason } = await both([mixed], { tools: [OURS] });
    expect(stop_reason).toBe('tool_use');
    expect(content).toEqual([
      { type: 'tool_use', id: 'call_theirs', name: 'theirs', input: { b: 2 } },
      { type: 'redacted_thinking', data: expect.stringMatching(/^pst1\./) },
    ]);
    await answerWith(content);
    expect(lastBody(app).messages).toEqual([
      USER,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          chatCall('call_weather', 'weather', { at: 'Bonn' }),
          chatCall('call_theirs', 'theirs', { b: 2 }),
        ].map((each) => expect.objectContaining({ function: each.function })),
      },
      { role: 'tool', tool_call_id: expect.any(String), content: 'Sunny in Bonn.' },
      { role: 'tool', tool_call_id: 'call_theirs', content: 'Theirs.' },
    ]);
  });

  it.each([
    ['weather', 'theirs', 'theirs_2'],
    ['theirs', 'weather', 'theirs_2'],
    ['theirs', 'theirs_2', 'weather'],
    ['weather', 'theirs', 'weather_2', 'theirs_2'],
  ])('[X-12] [T-04] stay one answer with all calls of the client beside them: %s, %s, %s', async (...ids) => {
    await start({ tools: weather });
    const named = ids.map((id) => call(id.replace('_2', ''), { of: id }, id));
    const { content } = await both([calls(...named)], { tools: [OURS] });
    const theirs = ids.filter((id) => id.startsWith('theirs'));
    await answerWith(content, {}, theirs);
    const [, written, ...results] = lastBody(app).messages;
    const made = written?.tool_calls as readonly ReturnType<typeof chatCall>[];
    expect([made.map((each) => JSON.parse(each.function.arguments).of), results.length]).toEqual([ids, ids.length]);
  });

  it('[X-12] [T-04] that ran in an earlier round of the same turn are there, too', async () => {
    await start({ tools: weather });
    const { content } = await both([calls(call('weather', { at: 'Bonn' })), calls(call('theirs', {}))], {
      tools: [OURS],
    });
    expect(content.map(({ type }) => type)).toEqual(['tool_use', 'redacted_thinking']);
    await answerWith(content);
    const sentToModel = lastBody(app).messages.filter(({ role }) => role === 'tool');
    expect(sentToModel.map((each) => each.content)).toEqual(['Sunny in Bonn.', 'Theirs.']);
  });

  it('[X-12] are of the tenant: what was sealed for another is left out', async () => {
    await start({ tools: weather });
    const mixed = calls(call('weather', { at: 'Bonn' }), call('theirs', {}));
    app.fake.reply(mixed);
    const { body } = await askJson(app.url, { tools: [OURS] }, { headers: { 'x-api-key': 'one' } });
    await answerWith(body.content, { 'x-api-key': 'two' });
    expect(JSON.stringify(lastBody(app))).not.toContain('Sunny');
    await answerWith(body.content, { 'x-api-key': 'one' });
    expect(JSON.stringify(lastBody(app))).toContain('Sunny in Bonn.');
  });

  it('[X-12] that need approval are not offered', async () => {
    await start({ tools: weather, approval: () => true });
    app.fake.reply(says('Hi.'));
    await askJson(app.url);
    expect(lastBody(app).tools).toBeUndefined();
    expect(notes).toEqual([expect.stringContaining("'weather' needs approval")]);
  });

  it('[X-12] [T-04] leave calls of the client to be answered where the limit of calls is reached beside them', async () => {
    await start({ tools: weather, limits: { tools: { calls: 1 } } });
    const mixed = calls(call('weather', { at: 'Bonn' }), call('weather', { at: 'Rome' }, 'again'), call('theirs', {}));
    const { content, stop_reason } = await both([mixed], { tools: [OURS] });
    expect([stop_reason, content.map(({ type }) => type)]).toEqual(['tool_use', ['tool_use', 'redacted_thinking']]);
    await answerWith(content);
    const toModel = lastBody(app).messages.filter(({ role }) => role === 'tool');
    const notRun = expect.stringContaining('Not run');
    expect(toModel.map((each) => each.content)).toEqual(['Sunny in Bonn.', notRun, 'Theirs.']);
  });

  it('[X-12] end a turn that goes round and round with a pause', async () => {
    await start({ tools: weather, limits: { tools: { iterations: 2, repeatedCalls: 9 } } });
    app.fake.reply(calls(call('weather', { at: 'Bonn' })));
    const { body } = await askJson(app.url);
    expect([body.stop_reason, body.content.map(({ type }) => type)]).toEqual(['pause_turn', ['redacted_thinking']]);
    app.fake.reply(says('Sunny.'));
    const { body: more } = await askJson(app.url, { messages: [USER, { role: 'assistant', content: body.content }] });
    expect([more.stop_reason, more.content]).toEqual(['end_turn', [{ type: 'text', text: 'Sunny.' }]]);
    const toModel = lastBody(app).messages.filter(({ role }) => role === 'tool');
    const notRun = expect.stringContaining('Not run');
    expect(toModel.map((each) => each.content)).toEqual(['Sunny in Bonn.', 'Sunny in Bonn.', notRun]);
  });
});

const chatCall = (id: string, name: string, args: JsonObject) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

/** The next request, in which the client's tool has run. */
async function answerWith(
  content: readonly Block[],
  headers: Readonly<Record<string, string>> = {},
  ids: readonly string[] = ['call_theirs'],
) {
  app.fake.reply(says('Done.'));
  const results = ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'Theirs.' }));
  const messages = [USER, { role: 'assistant', content }, { role: 'user', content: results }];
  const { status } = await askJson(app.url, { tools: [OURS], messages }, { headers });
  expect(status).toBe(200);
}

describe('hosted tools that the client asks for', () => {
  it('[X-12] [B-41] search the web, are shown, and go back', async () => {
    await start({ tools: webSearch({ engine: demoSearch() }) });
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }];
    const { content } = await both([calls(call('web_search', { query: 'tea' })), says('Tea.')], { tools });
    expect(content).toMatchObject([
      { type: 'server_tool_use', id: expect.stringMatching(/^srvtoolu_/), name: 'web_search', input: { query: 'tea' } },
      {
        type: 'web_search_tool_result',
        content: [{ type: 'web_search_result', url: 'https://example.com/tea/1' }, {}, {}],
      },
      { type: 'text', text: 'Tea.' },
    ]);
    app.fake.reply(says('Done.'));
    await askJson(app.url, { tools, messages: [USER, { role: 'assistant', content }, USER] });
    const [, asked, sentToModel] = lastBody(app).messages;
    expect(asked).toMatchObject({ tool_calls: [{ function: { name: 'web_search', arguments: '{"query":"tea"}' } }] });
    expect(sentToModel?.content).toContain('What the page 1 of the demo says of tea.');
  });

  it('[X-12] [B-41] search as often as each may, on the sites that each may use', async () => {
    const engine = demoSearch();
    const asked: JsonObject[] = [];
    const search: typeof engine.search = (query) => {
      asked.push({ query: query.query, allowed: query.allowedDomains });
      return engine.search(query);
    };
    await start({ tools: webSearch({ engine: { ...engine, search }, pages: true }) });
    const tools = [
      { type: 'web_search_20250305', name: 'web_search', max_uses: 1, allowed_domains: ['example.com'] },
      { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 5 },
    ];
    const searches = [call('web_search', { query: 'tea' }, 'call_1'), call('web_search', { query: 'owls' }, 'call_2')];
    app.fake.reply(calls(...searches), says('Tea.'));
    const { content, usage } = (await askJson(app.url, { tools })).body;
    expect(asked).toEqual([{ query: 'tea', allowed: ['example.com'] }]);
    expect(content.filter(({ type }) => type === 'web_search_tool_result')).toMatchObject([
      { content: [{ url: 'https://example.com/tea/1' }, {}, {}] },
      { content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' } },
    ]);
    expect(usage.server_tool_use).toEqual({ web_search_requests: 2, web_fetch_requests: 0 });
    app.fake.reply(says('Done.'));
    await askJson(app.url, { tools, messages: [USER, { role: 'assistant', content }, USER] });
    const toModel = lastBody(app).messages.filter(({ role }) => role === 'tool');
    expect(toModel.at(-1)?.content).toBe('The call failed: max_uses_exceeded');
  });

  it('[X-12] open pages without searching, where the client asks for no more', async () => {
    await start({ tools: webSearch({ engine: demoSearch(), pages: true }) });
    app.fake.reply(says('Hi.'));
    const offered = async (...tools: readonly JsonObject[]) => {
      await askJson(app.url, { tools });
      return (lastBody(app).tools as { function: JsonObject }[]).map((each) => each.function.name);
    };
    const [search, fetches] = ['web_search_20250305', 'web_fetch_20250910'];
    expect(await offered({ type: fetches, name: 'web_fetch' })).toEqual(['open_page']);
    expect(await offered({ type: search, name: 'web_search' })).toEqual(['web_search', 'open_page']);
  });

  it('[X-12] run code, are shown, and go back', async () => {
    const runtime = fakeRuntime();
    await start({ tools: codeInterpreter({ runtime }) });
    const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }];
    const { content } = await both([calls(call('code_interpreter', { code: codeScript.value })), says('42.')], {
      tools,
    });
    expect(content).toMatchObject([
      { type: 'server_tool_use', name: 'code_execution', input: { code: codeScript.value } },
      { type: 'code_execution_tool_result', content: { stdout: '42', return_code: 0 } },
      { type: 'text', text: '42.' },
    ]);
    app.fake.reply(says('Done.'));
    await askJson(app.url, { tools, messages: [USER, { role: 'assistant', content }, USER] });
    expect(lastBody(app).messages.slice(1, 3)).toMatchObject([
      { tool_calls: [{ function: { name: 'code_interpreter' } }] },
      { role: 'tool', content: '42' },
    ]);
  });

  it('[X-12] are left out, with a note, where the host has none', async () => {
    await start({});
    app.fake.reply(says('Hi.'));
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    expect((await askJson(app.url, { tools })).status).toBe(200);
    expect(notes).toEqual([expect.stringContaining("'web_search'")]);
  });
});

describe('MCP servers that the client names', () => {
  const opened: RemoteServer[] = [];
  const docs: ToolProvider = {
    name: 'docs',
    list: async () =>
      ['read', 'write'].map((name) => ({ server: 'docs', name, parameters: { type: 'object', properties: {} } })),
    call: async ({ name }) => {
      if (name === 'write') throw new Error('Read only.');
      return { content: 'Read.' };
    },
    close: async () => {},
  };
  const remoteMcp: RemoteServers = {
    async open(server) {
      opened.push(server);
      return docs;
    },
    close: async () => {},
  };
  const server = { type: 'url', name: 'docs', url: 'https://docs.example/mcp', authorization_token: 'secret' };

  it('[X-12] [T-09] are opened, their calls are shown, and go back', async () => {
    await start({ remoteMcp, tools: weather });
    const replies = [calls(call('read', {}), call('write', {}), call('weather', { at: 'Bonn' })), says('Done.')];
    const { content } = await both(replies, { mcp_servers: [server] });
    expect(opened.at(-1)).toMatchObject({
      label: 'docs',
      url: server.url,
      headers: { authorization: 'Bearer secret' },
    });
    expect(content).toMatchObject([
      { type: 'mcp_tool_use', name: 'read', server_name: 'docs', input: {} },
      { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: 'Read.' }] },
      { type: 'mcp_tool_use', name: 'write' },
      { type: 'mcp_tool_result', is_error: true, content: [{ type: 'text', text: 'Read only.' }] },
      { type: 'text', text: 'Done.' },
    ]);
    expect(JSON.stringify(content)).not.toContain('Sunny');
    app.fake.reply(says('Done.'));
    await askJson(app.url, { mcp_servers: [server], messages: [USER, { role: 'assistant', content }, USER] });
    const sentToModel = lastBody(app).messages.filter(({ role }) => role === 'tool');
    expect(sentToModel.map((each) => each.content)).toEqual(['Read.', 'Read only.']);
  });

  it.each([
    ['the older way', { tool_configuration: { allowed_tools: ['read'] } }, []],
    [
      'by a toolset',
      {},
      [
        {
          type: 'mcp_toolset',
          mcp_server_name: 'docs',
          default_config: { enabled: false },
          configs: { read: { enabled: true } },
        },
      ],
    ],
    [
      'as they were listed before',
      {},
      [
        {
          type: 'mcp_toolset',
          mcp_server_name: 'docs',
          tools: ['read', 'write'].map((name) => ({ name, input_schema: { type: 'object' } })),
          configs: { write: { enabled: false } },
        },
      ],
    ],
  ])('[X-12] offer the tools that are enabled, %s', async (_name, fields, tools) => {
    await start({ remoteMcp });
    app.fake.reply(says('Hi.'));
    await askJson(app.url, { mcp_servers: [{ ...server, ...fields }], tools });
    expect((lastBody(app).tools as { function: JsonObject }[]).map((each) => each.function.name)).toEqual(['read']);
  });

  it('[X-12] are never offered with a tool that the client disabled', async () => {
    await start({ remoteMcp });
    const tools = [{ type: 'mcp_toolset', mcp_server_name: 'docs', configs: { write: { enabled: false } } }];
    const { status, body } = await askJson(app.url, { mcp_servers: [server], tools });
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('cannot be disabled here')]);
  });

  it('[X-12] are left out, with a note, where the host has not turned them on', async () => {
    await start({});
    app.fake.reply(says('Hi.'));
    expect((await askJson(app.url, { mcp_servers: [server] })).status).toBe(200);
    expect(notes).toEqual([expect.stringContaining("'mcp'")]);
    expect(JSON.stringify(notes)).not.toContain('secret');
  });
});

it.each([
  ['web_search', 'web_search'],
  ['web_fetch', 'open_page'],
])('[X-12] [S-05] forces that of the two web tools which the client names: %s', async (name, forced) => {
  await start({ tools: webSearch({ engine: demoSearch(), pages: true }) });
  app.fake.reply(says('Hi.'));
  const tools = [
    { type: 'web_search_20250305', name: 'web_search' },
    { type: 'web_fetch_20250910', name: 'web_fetch' },
  ];
  await askJson(app.url, { tools, tool_choice: { type: 'tool', name } });
  expect(lastBody(app).tool_choice).toEqual({ type: 'function', function: { name: forced } });
});
