/** Tools of clients over another server of the Responses API: what it takes as it is, and what this server keeps for itself. */

import { functionTools, type Guard, type RouterOptions } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeReply, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type ResponsesOptions, responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { ask, askJson } from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';
import { eventStream } from '../support/replay.ts';
import { askForJson, askForStream } from '../support/responses-client.ts';
import { callItem, item, responsesStream, textItem } from './responses-bytes.ts';

let fake: FakeUpstream;
let app: App;
let notes: string[];

async function start(options: RouterOptions = {}, upstream: ResponsesOptions = {}): Promise<void> {
  notes = [];
  fake = await startFakeUpstream();
  app = await startApp({
    options: {
      upstream: responsesUpstream({ baseURL: fake.baseURL, retries: 0, ...upstream }),
      hooks: { onError() {}, onNote: ({ code }) => void notes.push(code) },
      ...options,
    },
  });
}

afterEach(() => Promise.all([app.close(), fake.close()]));

const DONE: FakeReply = eventStream(responsesStream([textItem(0, 'Done.')]));
const answering = (...items: readonly string[]): FakeReply => eventStream(responsesStream(items));
const listOf = (value: unknown) => (Array.isArray(value) ? value : []) as readonly JsonObject[];
const sent = (at = -1) => fake.requests.at(at)?.body as JsonObject;
const outputOf = (response: { readonly output: unknown }) => listOf(response.output);

const GRAMMAR = {
  type: 'custom',
  name: 'math_exp',
  description: 'Makes expressions',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: INT' },
};
const DEFERRED = {
  type: 'function',
  name: 'get_weather',
  description: null,
  parameters: { type: 'object', properties: {} },
  strict: true,
  defer_loading: true,
};
const HOSTED = [
  { type: 'code_interpreter', container: { type: 'auto', file_ids: [] } },
  { type: 'file_search', vector_store_ids: ['vs_1'], max_num_results: 3, filters: { type: 'eq', key: 'a', value: 1 } },
  {
    type: 'mcp',
    server_label: 'dice',
    server_url: 'https://dice.example/mcp',
    require_approval: 'never',
    headers: { a: 'b' },
  },
  { type: 'image_generation', size: '1024x1024' },
  { type: 'shell', environment: { type: 'container_auto' } },
  { type: 'computer_use_preview', display_width: 1, display_height: 2, environment: 'linux' },
  { type: 'web_search', filters: { allowed_domains: ['a.example'] } },
  { type: 'acme:oracle', depth: 3 },
];
const CLIENTS = [GRAMMAR, { type: 'apply_patch' }, { type: 'local_shell' }];

describe('tools of clients', () => {
  it('[V-41] go to the server as they are, where nobody here serves them', async () => {
    await start();
    fake.reply(DONE);
    const tools = [...HOSTED, ...CLIENTS, { type: 'tool_search' }, DEFERRED];
    const response = await askForJson(app.url, {
      tools,
      include: ['code_interpreter_call.outputs', 'file_search_call.results', 'message.input_image.image_url'],
    });
    expect(sent().tools).toEqual(tools);
    expect(sent().include).toEqual([
      'reasoning.encrypted_content',
      'code_interpreter_call.outputs',
      'file_search_call.results',
    ]);
    expect(JSON.stringify(response.tools)).not.toContain('"headers"');
    expect(notes).toEqual([]);
  });

  it('[V-41] stay here where the host serves their type', async () => {
    const search = {
      name: 'own',
      list: () => [{ server: 'own', name: 'run', requestedBy: 'code_interpreter', parameters: {} }],
      call: async () => ({ content: [{ type: 'text' as const, text: 'ran' }] }),
    };
    await start({ tools: [search] });
    fake.reply(answering(callItem(0, 'a', 'run', '{}')), DONE);
    await askForJson(app.url, { tools: [HOSTED[0] as JsonObject, GRAMMAR] });
    expect(listOf(sent(0).tools).map(({ type, name }) => [type, name])).toEqual([
      ['custom', 'math_exp'],
      ['function', 'run'],
    ]);
  });

  it.each<[ResponsesOptions['nativeTools'], readonly unknown[], number]>([
    [false, ['function'], 1],
    [['custom'], ['custom'], 1],
    [['code_interpreter'], ['code_interpreter', 'function'], 0],
  ])('[V-41] go as functions, or are noted, where the host says so: %j', async (nativeTools, types, dropped) => {
    await start({}, { nativeTools });
    fake.reply(DONE);
    await askForJson(app.url, { tools: [HOSTED[0] as JsonObject, GRAMMAR] });
    expect(listOf(sent().tools).map(({ type }) => type)).toEqual(types);
    expect(notes).toEqual(Array(dropped).fill('tool_dropped'));
  });

  it.each<[unknown, unknown, readonly string[]]>([
    [{ type: 'code_interpreter' }, { type: 'code_interpreter' }, ['code_interpreter', 'mcp', 'custom']],
    [
      { type: 'mcp', server_label: 'dice', name: 'roll' },
      { type: 'mcp', server_label: 'dice', name: 'roll' },
      ['code_interpreter', 'mcp', 'custom'],
    ],
    [{ type: 'custom', name: 'math_exp' }, { type: 'custom', name: 'math_exp' }, ['code_interpreter', 'mcp', 'custom']],
    ['required', 'required', ['code_interpreter', 'mcp', 'custom']],
    ['none', 'none', ['custom']],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'custom', name: 'math_exp' }] }, 'auto', ['custom']],
    [
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'code_interpreter' }] },
      { type: 'code_interpreter' },
      ['code_interpreter', 'custom'],
    ],
  ])('[V-41] are chosen as the client chooses: %j', async (tool_choice, choice, types) => {
    await start();
    fake.reply(DONE);
    await askJson(app.url, { tools: [HOSTED[0] as JsonObject, HOSTED[2] as JsonObject, GRAMMAR], tool_choice });
    expect([sent().tool_choice, listOf(sent().tools).map(({ type }) => type)]).toEqual([choice, types]);
  });

  it('[V-41] [O-01] that the server runs do not go out under tool_choice none', async () => {
    await start();
    fake.reply(DONE);
    await askForJson(app.url, { tools: [...HOSTED, GRAMMAR], tool_choice: 'none' });
    expect([listOf(sent().tools).map(({ type }) => type), sent().tool_choice]).toEqual([['custom'], 'none']);
  });

  it('[O-02] of the host’s that search are told so where a tool of the client’s forbids the live web', async () => {
    await start({}, { serverTools: [{ type: 'web_search' }] });
    fake.reply(DONE);
    await askForJson(app.url, { tools: [{ type: 'web_search', external_web_access: false }] });
    expect(sent().tools).toEqual([{ type: 'web_search', external_web_access: false }]);
  });

  it.each<[string, readonly JsonObject[], ResponsesOptions, number | undefined]>([
    ['the client’s', HOSTED.slice(0, 1), {}, 2],
    ['the host’s', [], { serverTools: [{ type: 'web_search' }] }, 2],
    ['none of the server’s', [GRAMMAR], {}, undefined],
  ])('[O-03] count against max_tool_calls at the server that runs them: %s', async (_, tools, upstream, most) => {
    await start({}, upstream);
    fake.reply(DONE);
    await askForJson(app.url, { tools, max_tool_calls: 2 });
    expect(sent().max_tool_calls).toBe(most);
  });

  it('[O-03] that the server has run leave fewer to its next request, whatever it makes of the number', async () => {
    await start({ tools: functionTools({ look: { parameters: {}, execute: () => 'Sun' } }) });
    const code = { type: 'code_interpreter_call', status: 'completed', code: '1', container_id: 'c', outputs: null };
    const ran = (index: number) => item(index, { ...code, id: `ci_${index}` }, { code: '' });
    fake.reply(answering(ran(0), ran(1), callItem(2, 'a', 'look', '{}')), DONE);
    await askForJson(app.url, { tools: [HOSTED[0] as JsonObject], max_tool_calls: 2 });
    expect([sent(0).max_tool_calls, listOf(sent(1).tools).map(({ type }) => type)]).toEqual([2, ['function']]);
  });

  it.each(['mcp_call', 'function_call'] as const)(
    '[O-03] leave fewer to the next request by calls of this server, which are shown as %s',
    async (toolCalls) => {
      await start({
        tools: functionTools({ look: { parameters: {}, execute: () => 'Sun' } }),
        show: { toolCalls },
      });
      fake.reply(answering(callItem(0, 'a', 'look', '{}')), DONE);
      await askForJson(app.url, { tools: [HOSTED[0] as JsonObject], max_tool_calls: 3 });
      expect([sent(0).max_tool_calls, sent(1).max_tool_calls]).toEqual([3, 2]);
    },
  );

  it('[O-03] leave fewer to the next request by calls that the user has approved', async () => {
    await start({ tools: functionTools({ look: { parameters: {}, execute: () => 'Sun' } }), approval: () => true });
    fake.reply(answering(callItem(0, 'a', 'look', '{}')), DONE);
    const tools = [HOSTED[0] as JsonObject];
    const asked = await askForJson(app.url, { tools });
    const request = outputOf(asked).find(({ type }) => type === 'mcp_approval_request');
    const input = [{ type: 'mcp_approval_response', approval_request_id: request?.id, approve: true }];
    await askForJson(app.url, { tools, previous_response_id: asked.id, input, max_tool_calls: 3 });
    expect(sent(1).max_tool_calls).toBe(2);
  });

  it('[V-41] [O-01] that the client runs are not called under tool_choice none, whatever the server says', async () => {
    await start();
    const call = { id: 'sh_1', type: 'shell_call', status: 'completed', call_id: 'c', action: { commands: ['rm'] } };
    const custom = {
      id: 'ctc_1',
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'd',
      name: 'math_exp',
      input: '1',
    };
    fake.reply(answering(item(0, call, {}), item(1, custom, { input: '' })), DONE);
    const response = await askForJson(app.url, { tools: [{ type: 'shell' }, GRAMMAR], tool_choice: 'none' });
    expect(outputOf(response).map(({ type }) => type)).toEqual(['message']);
    expect(notes.filter((code) => code === 'call_dropped')).toHaveLength(2);
  });

  it('[V-41] are functions from then on where the server refuses their types', async () => {
    await start();
    const refusal = { status: 400, body: '{"error":{"message":"\'type\' of tool must be \'function\'","code":400}}' };
    fake.reply(refusal, answering(callItem(0, 'a', 'math_exp', '{"input":"4 + 4"}')), DONE);
    const response = await askForJson(app.url, { tools: [GRAMMAR, HOSTED[0] as JsonObject] });
    expect(outputOf(response)).toMatchObject([{ type: 'custom_tool_call', name: 'math_exp', input: '4 + 4' }]);
    await askForJson(app.url, { tools: [GRAMMAR] });
    expect(fake.requests.map(({ body }) => listOf((body as JsonObject).tools).map(({ type }) => type))).toEqual([
      ['custom', 'code_interpreter'],
      ['function'],
      ['function'],
    ]);
    expect(notes).toEqual(['tool_dropped']);
  });
});

describe('a tool with a grammar', () => {
  it('[V-41] is called with its text as it comes, and answered as the client answers', async () => {
    await start();
    const call = {
      id: 'ctc_1',
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'c1',
      name: 'math_exp',
      input: '4 + "😀"\n',
    };
    const delta = (text: string) => ({ type: 'response.custom_tool_call_input.delta', delta: text });
    fake.reply(answering(item(0, call, { input: '' }, delta('4 + "'), delta('😀'), delta('"\n'))), DONE);
    const { events, response } = await askForStream(app.url, { tools: [GRAMMAR] });
    const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
    expect(deltas.map((event) => 'delta' in event && event.delta)).toEqual(['4 + "', '😀', '"\n']);
    const output = { type: 'custom_tool_call_output', call_id: 'c1', output: '8' };
    await askForJson(app.url, { tools: [GRAMMAR], previous_response_id: response.id, input: [output] });
    const { id: _, status: __, ...whole } = call;
    expect(listOf(sent().input).slice(-2)).toEqual([whole, output]);
  });
});

describe('a deferred tool', () => {
  const found = { ...DEFERRED };
  const search = {
    id: 'tsc_1',
    type: 'tool_search_call',
    status: 'completed',
    call_id: null,
    execution: 'server',
    arguments: { paths: ['get_weather'] },
  };
  const result = {
    id: 'tso_1',
    type: 'tool_search_output',
    status: 'completed',
    call_id: null,
    execution: 'server',
    tools: [found],
  };
  const call = {
    id: 'fc_1',
    type: 'function_call',
    status: 'completed',
    call_id: 'w',
    name: 'get_weather',
    namespace: 'get_weather',
    arguments: '{}',
  };

  it('[V-41] is found by the server, and its calls go back under their namespace', async () => {
    await start();
    fake.reply(answering(item(0, search, {}), item(1, result, {}), item(2, call, { arguments: '' })), DONE);
    const tools = [{ type: 'tool_search' }, DEFERRED];
    const response = await askForJson(app.url, { tools });
    const output = { type: 'function_call_output', call_id: 'w', output: 'sunny' };
    await askForJson(app.url, { tools, input: [{ role: 'user', content: 'Hi' }, ...outputOf(response), output] });
    const { id: _, status: __, ...called } = call;
    expect(outputOf(response)[2]).toMatchObject(called);
    expect(listOf(sent().input).slice(1)).toEqual([search, result, called, output]);
  });

  it('[V-41] of a namespace is called by its own name both ways', async () => {
    await start();
    const tools = [
      { type: 'tool_search' },
      { type: 'namespace', name: 'maps', description: 'Maps', tools: [DEFERRED] },
    ];
    const inMaps = { ...call, namespace: 'maps' };
    fake.reply(answering(item(0, inMaps, { arguments: '' })), DONE);
    const response = await askForJson(app.url, { tools });
    await askForJson(app.url, {
      tools,
      input: [
        { role: 'user', content: 'Hi' },
        ...outputOf(response),
        { type: 'function_call_output', call_id: 'w', output: 'x' },
      ],
    });
    const { id: _, status: __, ...called } = inMaps;
    expect(outputOf(response)).toMatchObject([called]);
    expect([sent().tools, listOf(sent().input)[1]]).toEqual([tools, called]);
  });
});

describe('what the server asks and runs', () => {
  it('[V-41] an approval goes back to the server that asked for it', async () => {
    await start();
    const request = { id: 'mcpr_1', type: 'mcp_approval_request', arguments: '{}', name: 'roll', server_label: 'dice' };
    fake.reply(answering(item(0, request, {})), DONE);
    const tools = [HOSTED[2] as JsonObject];
    const response = await askForJson(app.url, { tools });
    const approval_request_id = outputOf(response)[0]?.id;
    const answer = { type: 'mcp_approval_response', approval_request_id, approve: false, reason: 'No.' };
    await askForJson(app.url, { tools, previous_response_id: response.id, input: [answer] });
    expect(listOf(sent().input).slice(1)).toEqual([request, { ...answer, approval_request_id: 'mcpr_1' }]);
  });

  it('[V-41] a program keeps its calls, and its functions are never called by the model', async () => {
    await start();
    const program = { id: 'cm_1', type: 'program', call_id: 'p', code: 'x', fingerprint: 'AA==' };
    const caller = { type: 'program', caller_id: 'p' };
    const call = {
      id: 'fc_1',
      type: 'function_call',
      status: 'in_progress',
      call_id: 'a',
      name: 'stock',
      arguments: '{}',
      caller,
    };
    fake.reply(answering(item(0, program, { code: '' }), item(1, call, { arguments: '' })), DONE);
    const tools = [
      { type: 'programmatic_tool_calling' },
      { type: 'function', name: 'stock', parameters: {}, strict: null, allowed_callers: ['programmatic'] },
    ];
    const response = await askForJson(app.url, { tools });
    const output = { type: 'function_call_output', call_id: 'a', output: '3', caller };
    await askForJson(app.url, { tools, input: [{ role: 'user', content: 'Hi' }, ...outputOf(response), output] });
    const { id: _, status: __, ...called } = call;
    expect(sent().tools).toEqual(tools);
    expect(listOf(sent().input).slice(1)).toEqual([program, called, output]);
  });

  it('[V-41] an item of its own goes back in the same turn, beside calls that run here', async () => {
    const tools = [functionTools({ look: { parameters: {}, execute: () => 'Sun' } })];
    await start({ tools });
    const run = {
      id: 'ci_1',
      type: 'code_interpreter_call',
      status: 'completed',
      code: '1',
      container_id: 'cntr_1',
      outputs: null,
    };
    fake.reply(answering(item(0, run, { code: '' }), callItem(1, 'a', 'look', '{}')), DONE);
    await askForJson(app.url);
    expect(listOf(sent().input).slice(1)).toEqual([
      run,
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'Sun' },
    ]);
  });

  it('[V-41] items of a client that comes from that server stay as they are, but for what is served here', async () => {
    const run = {
      type: 'code_interpreter_call',
      id: 'ci_68d',
      status: 'completed',
      code: '1',
      container_id: 'cntr_1',
      outputs: [],
    };
    const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' };
    const input = [compaction, { role: 'user', content: 'Hi' }, run];
    await start();
    fake.reply(DONE);
    await askForJson(app.url, { input });
    expect(listOf(sent().input).filter(({ type }) => type !== 'message')).toEqual([compaction, run]);
    const own = await askJson(app.url, { input: [{ ...compaction, encrypted_content: 'cmp1.AAAA' }] });
    expect((own.error as JsonObject).code).toBe('invalid_encrypted_content');
  });

  it('[V-41] ids that cannot be carried, or that repeat, are ids of this server all the same', async () => {
    await start();
    const odd = (id: unknown) => ({ id, type: 'acme:thing', status: 'completed', value: 1 });
    const ids = ['same', 'same', 'a"b\n', 'x'.repeat(1000), 7, null];
    fake.reply(answering(...ids.map((id, at) => item(at, odd(id), {}))), DONE);
    const { response } = await askForStream(app.url);
    const shown = outputOf(response);
    expect(new Set(shown.map(({ id }) => id)).size).toBe(ids.length);
    await askForJson(app.url, { previous_response_id: response.id, input: 'Go on.' });
    const back = listOf(sent().input).filter(({ type }) => type === 'acme:thing');
    expect(back.map(({ id }) => id)).toEqual(['same', 'same', undefined, undefined, undefined, undefined]);
  });

  it('[V-41] a call with the call_id of an item before it gets another', async () => {
    await start();
    const fields = { call_id: 'call_1', status: 'completed' };
    const call = { id: 'fc_1', type: 'function_call', name: 'look', arguments: '{}', ...fields };
    fake.reply(answering(item(0, { id: 'th_1', type: 'acme:call', ...fields }, {}), item(1, call, { arguments: '' })));
    const { response } = await askForStream(app.url, { tools: [{ type: 'function', name: 'look' }] });
    const [thing, called, ...more] = outputOf(response);
    expect(thing).toMatchObject({ type: 'acme:call', call_id: 'call_1' });
    expect(called).toMatchObject({ type: 'function_call', call_id: expect.not.stringMatching(/^call_1$/) });
    expect(more).toEqual([]);
  });

  it('[V-41] an item that its server leaves open ends with the answer', async () => {
    await start();
    const open = {
      id: 'ci_1',
      type: 'code_interpreter_call',
      status: 'in_progress',
      code: '',
      container_id: 'c',
      outputs: null,
    };
    const added = `event: response.output_item.added\ndata: ${JSON.stringify({ type: 'response.output_item.added', output_index: 0, item: open })}\n\n`;
    fake.reply(answering(added));
    const { response } = await askForStream(app.url);
    expect(outputOf(response)).toMatchObject([{ type: 'code_interpreter_call', status: 'completed' }]);
  });

  it.each(['response.a\n\ndata: {"type":"x"}\n\n.b', 'response.a.b\rdata: {}', 'response.: a.b', 'response.a.'])(
    '[V-41] an event of an item that is named %j is not passed on, and the item is',
    async (type) => {
      await start();
      const thing = { id: 'th_1', type: 'acme:thing', status: 'completed' };
      fake.reply(answering(item(0, thing, {}, { type }, { type: 'response.acme:thing.half-done' })));
      const { events, response } = await askForStream(app.url);
      expect(outputOf(response)).toMatchObject([{ type: 'acme:thing' }]);
      const types = events.map((event) => event.type).filter((each) => !/^response\.(output_item\.)?\w+$/.test(each));
      expect(types).toEqual(['response.acme:thing.half-done']);
    },
  );

  it('[V-41] [G-05] guards read items of its own as they read words', async () => {
    const guard: Guard = {
      name: 'no-secrets',
      inspect: ({ text }) => ({ action: 'replace', text: text.replaceAll('SECRET', '***') }),
    };
    await start({ guards: { output: [guard] } });
    const run = {
      id: 'ci_1',
      type: 'code_interpreter_call',
      status: 'completed',
      code: 'SECRET',
      container_id: 'c',
      outputs: [{ type: 'logs', logs: 'SECRET' }],
    };
    const delta = { type: 'response.code_interpreter_call_code.delta', delta: 'SECRET' };
    fake.reply(answering(item(0, run, { code: '' }, { type: 'response.code_interpreter_call.in_progress' }, delta)));
    const text = await (await ask(app.url, { stream: true })).text();
    expect(text).not.toContain('SECRET');
    expect(text).toContain('response.code_interpreter_call.in_progress');
  });
});
