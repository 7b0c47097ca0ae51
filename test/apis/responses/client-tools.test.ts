/** Tools that models do not know as such (free text, namespaces, tools sent as items), over HTTP and back. */

import { functionTools } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeToolCall, toolCallStream } from '../../../src/testing/index.ts';
import { type RequestApp, type Resource, requestAppPerTest } from '../../support/request-app.ts';
import {
  askForJson,
  askForStream,
  askOpenai,
  outputOfDeltas,
  reported as reportedOf,
  withoutIdentity,
} from '../../support/responses-client.ts';
import type { WireItem } from '../../support/wire-schemas.ts';

let app: RequestApp;
const restart = requestAppPerTest((started) => {
  app = started;
});

const LARK = 'start: "*** Begin Patch" LF\n';
const PATCH = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: LARK },
};
const SEND = { type: 'function', name: 'send', description: 'Sends.', parameters: { type: 'object' }, strict: false };
const SCRIPT = { type: 'custom', name: 'run' };
const MAIL = { type: 'namespace', name: 'mail', description: 'Mail.', tools: [SEND, SCRIPT] };
const ADD = { type: 'function', name: 'add', parameters: { type: 'object' } };
const QUESTION = { role: 'user', content: 'Go.' };
const TEXT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

const called = (name: string, args: string): FakeToolCall => ({
  id: `call_${name}`.slice(0, 40),
  name,
  arguments: args,
});

/** The tools of the last request to the model. */
function offered(): readonly JsonObject[] {
  const { tools = [] } = app.requested();
  return (tools as readonly { readonly function: JsonObject }[]).map(({ function: tool }) => tool);
}

function namesOffered(): readonly unknown[] {
  return offered().map(({ name }) => name);
}

/** The calls and answers in the last request to the model. */
function replayed(): readonly unknown[] {
  return app.requested().messages.flatMap(({ role, content, tool_calls: calls = [] }) => {
    if (role === 'tool') return [content];
    return (calls as readonly { readonly function: JsonObject }[]).map(({ function: made }) => [
      made.name,
      made.arguments,
    ]);
  });
}

/** The response in which the model makes the calls. */
async function calling(body: JsonObject, ...calls: readonly FakeToolCall[]): Promise<Resource> {
  app.upstream.reply({ body: toolCallStream(calls) }, { body: toolCallStream([]) });
  const { status, body: response } = await app.create({ input: [QUESTION], ...body });
  if (status !== 200) throw new Error(`refused with ${status}: ${JSON.stringify(response)}`);
  return response;
}

describe('what the model is offered', () => {
  it('[S-06] of a custom tool is a function of one text, with the grammar in its description', async () => {
    await app.create({ input: 'Go.', tools: [PATCH, SCRIPT] });
    expect([offered(), app.notes]).toEqual([
      [
        {
          name: 'apply_patch',
          description: `Edits files.\n\nThe input must follow this lark grammar:\n${LARK}`,
          parameters: TEXT,
        },
        { name: 'run', parameters: TEXT },
      ],
      [],
    ]);
  });

  it('[S-06] of a namespace is each of its tools, under a name with the namespace before it', async () => {
    await app.create({ input: 'Go.', tools: [MAIL, ADD] });
    expect(offered()).toEqual([
      { name: 'mail__send', description: 'Sends.', parameters: { type: 'object', properties: {} }, strict: false },
      { name: 'mail__run', parameters: TEXT },
      { name: 'add', parameters: { type: 'object', properties: {} } },
    ]);
  });

  it('[S-06] has names that servers take, and that stay apart', async () => {
    const long = 'n'.repeat(60);
    const tools = ['a', 'b'].map((end) => ({ type: 'function', name: `send ${end}`, parameters: {} }));
    await app.create({
      input: 'Go.',
      tools: [
        { type: 'namespace', name: long, tools },
        { type: 'custom', name: 'my patch' },
      ],
    });
    const names = namesOffered();
    expect([names.every((name) => /^[\w-]{1,64}$/.test(String(name))), new Set(names).size, names[2]]).toEqual([
      true,
      3,
      'my_patch',
    ]);
  });

  it.each(['web_search', 'tool_search', 'image_generation', 'acme_thing'])(
    '[S-06] [S-03] holds no tool of type %s, which is noted',
    async (type) => {
      const { status } = await app.create({ input: 'Go.', tools: [{ type }, ADD] });
      expect([
        status,
        namesOffered(),
        app.notes.map(({ code, message }) => [code, message.includes(`'${type}'`)]),
      ]).toEqual([200, ['add'], [['tool_dropped', true]]]);
    },
  );

  it.each(['computer', 'computer_use_preview'])(
    '[X-13] is nothing, but a clear error for a tool of type %s',
    async (type) => {
      const { status, body } = await app.create({ input: 'Go.', tools: [{ type, environment: 'browser' }] });
      expect([status, body.error]).toEqual([
        400,
        expect.objectContaining({
          message: `Tools of type '${type}' are not supported by the model server 'chat-completions'.`,
          param: 'tools',
        }),
      ]);
    },
  );

  it('[S-06] holds the tools that come as an item of the input, behind those of the request', async () => {
    const item = { type: 'additional_tools', role: 'developer', tools: [MAIL, PATCH, { type: 'web_search' }] };
    await app.create({ input: [item, QUESTION], tools: [ADD] });
    expect([namesOffered(), app.requested().messages, app.notes.length]).toEqual([
      ['add', 'mail__send', 'mail__run', 'apply_patch'],
      [QUESTION],
      1,
    ]);
  });

  it('[S-06] [S-12] holds the tools of an earlier turn’s items, but does not repeat them as the request’s own', async () => {
    const item = { type: 'additional_tools', role: 'developer', tools: [PATCH] };
    const { id } = await calling({ input: [item, QUESTION] });
    const { body } = await app.create({ input: 'More.', previous_response_id: id });
    expect([namesOffered(), body.tools]).toEqual([['apply_patch'], []]);
  });

  it('[S-06] [T-04] holds the client’s tool where the server has one of that name, however it was sent', async () => {
    const tools = functionTools({ apply_patch: { execute: () => 'server' }, mail__send: { execute: () => 'server' } });
    await restart({ tools });
    await app.create({ input: [{ type: 'additional_tools', tools: [PATCH, MAIL] }, QUESTION] });
    expect([namesOffered(), app.notes.map(({ code }) => code)]).toEqual([
      ['apply_patch', 'mail__send', 'mail__run'],
      ['tool_dropped', 'tool_dropped'],
    ]);
  });
});

describe('what the client is answered', () => {
  const CALLS = [
    called('apply_patch', '{"input":"*** Begin Patch\\n"}'),
    called('mail__send', '{"to":"a"}'),
    called('mail__run', '{"input":"ls"}'),
    called('add', '{"a":1}'),
  ];
  const OUTPUT = [
    ['custom_tool_call', 'apply_patch', undefined, '*** Begin Patch\n'],
    ['function_call', 'send', 'mail', '{"to":"a"}'],
    ['custom_tool_call', 'run', 'mail', 'ls'],
    ['function_call', 'add', undefined, '{"a":1}'],
  ];

  it('[S-06] [S-05] [S-02] is each call under the client’s own names, streamed or not', async () => {
    app.upstream.reply({ body: toolCallStream(CALLS) });
    const body = { tools: [PATCH, MAIL, ADD] };
    const streamed = await askForStream(app.url, body);
    const whole = await askForJson(app.url, body);
    const reported = streamed.response.output.map((item) => [
      item.type,
      'name' in item && item.name,
      'namespace' in item ? item.namespace : undefined,
      'input' in item ? item.input : 'arguments' in item && item.arguments,
    ]);
    expect([reported, withoutIdentity(whole)]).toEqual([OUTPUT, withoutIdentity(streamed.response)]);
  });

  it('[S-06] [S-02] is rebuilt from its deltas by OpenAI’s own client', async () => {
    app.upstream.reply({ body: toolCallStream(CALLS) });
    const tools = [PATCH, MAIL, ADD];
    const { final, reported } = await askOpenai(app.url, { tools });
    const { events } = await askForStream(app.url, { tools });
    const { response } = events.at(-1) as { readonly response: { readonly output: readonly WireItem[] } };
    expect([final, outputOfDeltas(events)]).toEqual([reported, response.output.map(reportedOf)]);
  });

  it('[S-06] [S-01] holds the tools as they were sent', async () => {
    const { body } = await app.create({ input: 'Go.', tools: [PATCH, MAIL] });
    expect(body.tools).toEqual([PATCH, MAIL]);
  });

  it('[S-06] [T-04] [P-05] keeps the server’s own calls apart from free text beside them', async () => {
    await restart({ tools: functionTools({ look: { execute: () => 'Seen.' } }) });
    const { output } = await calling({ tools: [PATCH] }, called('apply_patch', '{"input":"a"}'), called('look', '{}'));
    expect(output.map(({ type, input, output: result }) => [type, input ?? result])).toEqual([
      ['custom_tool_call', 'a'],
      ['mcp_list_tools', undefined],
      ['mcp_call', 'Seen.'],
    ]);
  });
});

describe('the next turn', () => {
  const CALLS = [
    called('my_patch', '{"input":"a\\n"}'),
    called('mail__send', '{"to":"a"}'),
    called('mail__run', '{"input":"ls"}'),
  ];
  const TOOLS = [{ type: 'custom', name: 'my patch' }, MAIL];
  const REPLAYED = [
    ['my_patch', '{"input":"a\\n"}'],
    ['mail__send', '{"to":"a"}'],
    ['mail__run', '{"input":"ls"}'],
    'Done.',
    'Sent.',
    'Run.',
  ];
  const OUTPUTS = [
    { type: 'custom_tool_call_output', call_id: 'call_my_patch', output: 'Done.' },
    { type: 'function_call_output', call_id: 'call_mail__send', output: [{ type: 'input_text', text: 'Sent.' }] },
    { type: 'custom_tool_call_output', call_id: 'call_mail__run', output: [{ type: 'input_text', text: 'Run.' }] },
  ];

  it('[S-06] [S-12] sends the model its calls under the names that it is offered, sent whole or continued', async () => {
    const { id, output } = await calling({ tools: TOOLS }, ...CALLS);
    await app.create({ input: [QUESTION, ...output, ...OUTPUTS], tools: TOOLS });
    const whole = [replayed(), namesOffered()];
    await app.create({ input: OUTPUTS, previous_response_id: id });
    const names = ['my_patch', 'mail__send', 'mail__run'];
    expect([whole, [replayed(), namesOffered()]]).toEqual([
      [REPLAYED, names],
      [REPLAYED, names],
    ]);
  });

  it('[S-06] [B-10] sends a shortened name as it was offered', async () => {
    const tools = [{ type: 'namespace', name: 'n'.repeat(64), tools: [SEND] }];
    await app.create({ input: 'Go.', tools });
    const [name] = namesOffered();
    const { id, output } = await calling({ tools }, { id: 'call_1', name: String(name), arguments: '{}' });
    await app.create({
      input: [{ type: 'function_call_output', call_id: 'call_1', output: '' }],
      previous_response_id: id,
    });
    expect([output[0]?.name, output[0]?.namespace, replayed()]).toEqual(['send', 'n'.repeat(64), [[name, '{}'], '']]);
  });

  it('[S-04] lifts the image of a custom tool’s output into a message of the user', async () => {
    const { id } = await calling({ tools: TOOLS }, called('my_patch', '{"input":"a"}'));
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'high' };
    const output = [{ type: 'input_text', text: 'Seen:' }, image];
    await app.create({
      input: [{ type: 'custom_tool_call_output', call_id: 'call_my_patch', output }],
      previous_response_id: id,
    });
    expect(app.requested().messages.slice(-2)).toEqual([
      { role: 'tool', tool_call_id: 'call_my_patch', content: 'Seen:' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: image.image_url, detail: 'high' } }] },
    ]);
  });

  it('[S-06] refuses a free call that nobody answered, whatever tools the server has', async () => {
    await restart({ tools: functionTools({ send: { execute: () => 'server' } }) });
    const call = { type: 'function_call', call_id: 'c', name: 'send', namespace: 'mail', arguments: '{}' };
    const { status, body } = await app.create({ input: [QUESTION, call, QUESTION], tools: [MAIL] });
    expect([status, (body.error as JsonObject).code]).toEqual([400, 'tool_output_missing']);
  });

  it('[S-06] [S-08] takes the reasoning of agents, whose content is null', async () => {
    const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], content: null };
    const call = { type: 'custom_tool_call', call_id: 'c', name: 'apply_patch', input: 'a' };
    const output = { type: 'custom_tool_call_output', call_id: 'c', output: 'Done.' };
    await app.create({ input: [QUESTION, { ...thought, encrypted_content: null }, call, output], tools: [PATCH] });
    expect(app.requested().messages[1]).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: 'Hm.',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'apply_patch', arguments: '{"input":"a"}' } }],
    });
  });
});

describe('tool_choice', () => {
  const named = (name: string) => ({ type: 'function', function: { name } });

  it.each<readonly [string, JsonObject, unknown]>([
    ['a custom tool', { type: 'custom', name: 'my patch' }, named('my_patch')],
    ['a function of a namespace', { type: 'function', name: 'send', namespace: 'mail' }, named('mail__send')],
    ['a custom tool of a namespace', { type: 'custom', name: 'run', namespace: 'mail' }, named('mail__run')],
    [
      'one allowed tool',
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'custom', name: 'my patch' }] },
      named('my_patch'),
    ],
    [
      'several allowed tools',
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [
          { type: 'custom', name: 'my patch' },
          { type: 'function', name: 'add' },
        ],
      },
      'required',
    ],
  ])('[S-05] [S-06] names %s as the model knows it', async (_, choice, expected) => {
    const { status, body } = await app.create({
      input: 'Go.',
      tools: [{ type: 'custom', name: 'my patch' }, MAIL, ADD],
      tool_choice: choice,
    });
    expect([status, app.requested().tool_choice, body.tool_choice]).toEqual([200, expected, choice]);
  });

  it('[S-05] [S-06] [B-24] allows the calls that allowed_tools names by the client’s names, and no other', async () => {
    const allowed = [
      { type: 'custom', name: 'my patch' },
      { type: 'function', name: 'send', namespace: 'mail' },
    ];
    const { output } = await calling(
      {
        tools: [{ type: 'custom', name: 'my patch' }, MAIL, ADD],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: allowed },
      },
      ...['my_patch', 'mail__send', 'mail__run', 'add'].map((name) => called(name, '{"input":"a"}')),
    );
    expect(output.map(({ name }) => name)).toEqual(['my patch', 'send']);
  });

  it('[S-05] [S-06] is refused where it names a tool without its namespace', async () => {
    const { status, body } = await app.create({
      input: 'Go.',
      tools: [MAIL],
      tool_choice: { type: 'function', name: 'send' },
    });
    expect([status, (body.error as JsonObject).param]).toEqual([400, 'tool_choice']);
  });
});
