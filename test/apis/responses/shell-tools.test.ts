/** Tools with calls of their own types that the client runs (`shell`, `local_shell`, `apply_patch`), over HTTP and back. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeToolCall, toolCallStream } from '../../../src/testing/index.ts';
import { type RequestApp, type Resource, requestAppPerTest } from '../../support/request-app.ts';
import { askForJson, askForStream, withoutIdentity } from '../../support/responses-client.ts';

let app: RequestApp;
requestAppPerTest((started) => {
  app = started;
});

const TOOLS = [{ type: 'shell' }, { type: 'local_shell' }, { type: 'apply_patch' }];
const QUESTION = { role: 'user', content: 'Go.' };

const called = (name: string, args: unknown): FakeToolCall => ({
  id: `call_${name}`,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});

/** Calls by a model that knows what it may send. */
const CALLS = [
  called('shell', { commands: ['ls', 'pwd'], timeout_ms: 1000 }),
  called('local_shell', { command: ['ls', '-l'], working_directory: '/tmp', env: { A: '1' } }),
  called('apply_patch', { type: 'update_file', path: 'a.md', diff: '@@\n-a\n+b' }),
];
const ITEMS = [
  {
    type: 'shell_call',
    status: 'completed',
    call_id: 'call_shell',
    action: { commands: ['ls', 'pwd'], timeout_ms: 1000, max_output_length: null },
    environment: { type: 'local' },
  },
  {
    type: 'local_shell_call',
    status: 'completed',
    call_id: 'call_local_shell',
    action: {
      type: 'exec',
      command: ['ls', '-l'],
      env: { A: '1' },
      working_directory: '/tmp',
    },
  },
  {
    type: 'apply_patch_call',
    status: 'completed',
    call_id: 'call_apply_patch',
    operation: { type: 'update_file', path: 'a.md', diff: '@@\n-a\n+b' },
  },
];
const EXIT = { type: 'exit', exit_code: 0 };
const OUTPUTS = [
  {
    type: 'shell_call_output',
    call_id: 'call_shell',
    max_output_length: null,
    output: [
      { stdout: 'a.md\n', stderr: '', outcome: EXIT },
      { stdout: '', stderr: 'No.', outcome: { type: 'timeout' } },
    ],
  },
  { type: 'local_shell_call_output', id: 'call_local_shell', output: 'a.md' },
  { type: 'apply_patch_call_output', call_id: 'call_apply_patch', status: 'failed', output: 'Line 3 differs.' },
];
/** What the model receives of all that. */
const REPLAYED = [
  ['shell', { commands: ['ls', 'pwd'], timeout_ms: 1000 }],
  ['local_shell', { command: ['ls', '-l'], env: { A: '1' }, working_directory: '/tmp' }],
  ['apply_patch', { type: 'update_file', path: 'a.md', diff: '@@\n-a\n+b' }],
  'a.md\n\n[exit code 0]\n\n[stderr]\nNo.\n[timed out]',
  'a.md',
  'The patch failed.\nLine 3 differs.',
];

/** The response in which the model makes the calls. */
async function calling(body: JsonObject, calls: readonly FakeToolCall[]): Promise<Resource> {
  app.upstream.reply({ body: toolCallStream(calls) }, { body: toolCallStream([]) });
  const { status, body: response } = await app.create({ input: [QUESTION], ...body });
  if (status !== 200) throw new Error(`refused with ${status}: ${JSON.stringify(response)}`);
  return response;
}

/** The tools of the last request to the model. */
function offered(): readonly JsonObject[] {
  const { tools = [] } = app.requested();
  return (tools as readonly { readonly function: JsonObject }[]).map(({ function: tool }) => tool);
}

/** The calls and answers in the last request to the model. */
function replayed(): readonly unknown[] {
  return app.requested().messages.flatMap(({ role, content, tool_calls: calls = [] }) => {
    if (role === 'tool') return [content];
    return (calls as readonly { readonly function: JsonObject }[]).map(({ function: made }) => [
      made.name,
      JSON.parse(String(made.arguments)),
    ]);
  });
}

const withoutIds = (items: readonly JsonObject[]) => items.map(({ id: _, ...item }) => item);

describe('a tool with a call type of its own', () => {
  it('[X-13] is offered to the model as a function, and echoed as it was sent', async () => {
    const { body } = await app.create({ input: 'Go.', tools: TOOLS });
    const required = offered().map(({ name, parameters }) => [name, (parameters as JsonObject).required]);
    expect([required, body.tools, app.notes]).toEqual([
      [
        ['shell', ['commands']],
        ['local_shell', ['command']],
        ['apply_patch', ['type', 'path']],
      ],
      TOOLS,
      [],
    ]);
  });

  it('[X-13] has its calls shown as items with its fields, streamed or not', async () => {
    app.upstream.reply({ body: toolCallStream(CALLS) });
    const { response } = await askForStream(app.url, { tools: TOOLS });
    const whole = await askForJson(app.url, { tools: TOOLS });
    expect([withoutIds(response.output), withoutIdentity(whole)]).toEqual([ITEMS, withoutIdentity(response)]);
  });

  it('[X-13] has its outputs sent to the model, whether the conversation is sent whole or continued', async () => {
    const { id, output } = await calling({ tools: TOOLS }, CALLS);
    await app.create({ input: [QUESTION, ...output, ...OUTPUTS], tools: TOOLS });
    const whole = replayed();
    const { status } = await app.create({ input: OUTPUTS, previous_response_id: id });
    expect([status, whole, replayed()]).toEqual([200, REPLAYED, REPLAYED]);
  });

  it.each<readonly [string, unknown, JsonObject]>([
    ['shell', { command: 'ls' }, { commands: ['ls'], timeout_ms: null, max_output_length: null }],
    ['shell', { commands: 'ls', timeout_ms: 'soon' }, { commands: ['ls'], timeout_ms: null, max_output_length: null }],
    ['shell', 'no JSON', { commands: [], timeout_ms: null, max_output_length: null }],
    [
      'local_shell',
      { command: 'ls | wc' },
      {
        type: 'exec',
        command: ['bash', '-lc', 'ls | wc'],
        env: {},
      },
    ],
    ['apply_patch', { type: 'create_file', path: 'a', diff: '+a' }, { type: 'create_file', path: 'a', diff: '+a' }],
    ['apply_patch', { type: 'delete_file', path: 'a', diff: '' }, { type: 'delete_file', path: 'a' }],
    ['apply_patch', { patch: '*** Begin' }, { type: 'update_file', path: '', diff: '' }],
  ])('[X-13] %s is read in whatever form the model calls it: %j', async (name, args, expected) => {
    const { output } = await calling({ tools: TOOLS }, [called(name, args)]);
    expect(output.map(({ action, operation }) => action ?? operation)).toEqual([expected]);
  });

  it('[X-13] can be forced, and be the one that is allowed', async () => {
    const choices = [{ type: 'shell' }, { type: 'allowed_tools', mode: 'required', tools: [{ type: 'apply_patch' }] }];
    const chosen = [];
    for (const choice of choices) {
      await app.create({ input: 'Go.', tools: TOOLS, tool_choice: choice });
      chosen.push((app.requested().tool_choice as { readonly function: JsonObject }).function.name);
    }
    const { body } = await app.create({
      input: 'Go.',
      tools: [{ type: 'shell' }],
      tool_choice: { type: 'apply_patch' },
    });
    expect([chosen, (body.error as JsonObject).message]).toEqual([
      ['shell', 'apply_patch'],
      "Tool choice 'apply_patch' not found in 'tools' parameter.",
    ]);
  });

  it('[X-13] names the skills of the shell, and is not offered where it is to run in a container of OpenAI’s', async () => {
    const skills = [{ name: 'deploy', description: 'Deploys.', path: '/skills/deploy' }];
    await app.create({ input: 'Go.', tools: [{ type: 'shell', environment: { type: 'local', skills } }] });
    const [{ description } = {}] = offered();
    await app.create({ input: 'Go.', tools: [{ type: 'shell', environment: { type: 'container_auto' } }] });
    expect([String(description).split('\n').at(-1), offered(), app.notes.map(({ code }) => code)]).toEqual([
      '- deploy: Deploys. (in /skills/deploy)',
      [],
      ['tool_dropped'],
    ]);
  });

  it('[X-13] that the request does not offer is a plain function if the model calls it', async () => {
    const { output } = await calling({}, [called('apply_patch', '{}')]);
    expect(output.map(({ type, name }) => [type, name])).toEqual([['function_call', 'apply_patch']]);
  });

  it('[X-13] must be answered once, by an output of its own type', async () => {
    const { id } = await calling({ tools: TOOLS }, [called('shell', { commands: ['ls'] })]);
    const errors = [];
    for (const input of [
      [QUESTION],
      [{ type: 'shell_call_output', call_id: 'call_other', output: [] }],
      [{ type: 'shell_call_output', call_id: 'call_shell', output: 'a.md' }],
      [{ type: 'apply_patch_call_output', call_id: 'call_shell', status: 'done' }],
    ]) {
      const { status, body } = await app.create({ input, previous_response_id: id });
      errors.push([status, (body.error as JsonObject).code, (body.error as JsonObject).param]);
    }
    expect(errors).toEqual([
      [400, 'tool_output_missing', 'input'],
      [400, 'tool_call_not_found', 'input'],
      [400, 'invalid_type', 'input[0].output'],
      [400, 'invalid_value', 'input[0].status'],
    ]);
  });

  it('[X-13] that was cut off need not be answered', async () => {
    const cut = toolCallStream([called('shell', '{"commands":["ls')]).replace('"tool_calls"}]', '"length"}]');
    app.upstream.reply({ body: cut }, { body: toolCallStream([]) });
    const { body } = await app.create({ input: 'Go.', tools: TOOLS });
    const { status } = await app.create({ input: 'More.', previous_response_id: body.id });
    expect([body.output.map((item) => [item.status, item.action]), status]).toEqual([
      [['incomplete', { commands: [], timeout_ms: null, max_output_length: null }]],
      200,
    ]);
  });
});
