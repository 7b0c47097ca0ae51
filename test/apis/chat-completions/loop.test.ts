/** Tools that the server runs in a chat completion: the rounds, what the model is asked in each, and what stops them. */

import { functionTools, type Note, type RouterOptions, type ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatChunk, chatStream } from '../../../src/testing/index.ts';
import { gate } from '../../support/gate.ts';
import {
  ask,
  askChunks,
  askJson,
  type ChatApp,
  QUESTION,
  requestedOf,
  startChatApp,
  streamed,
  USER,
  whole,
} from './chat-app.ts';
import { calling, result, says, wired } from './script.ts';

const ADDED = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] };
const FORMS = [
  ['in a stream', streamed],
  ['in JSON', whole],
] as const;

let app: ChatApp;
let ran: unknown[];

afterEach(() => app.close());

/** `add` adds one and notes what it was given; `say` says hello; `fail` throws. */
function tools(): ToolProvider {
  ran = [];
  return functionTools({
    add: {
      description: 'Adds one.',
      parameters: ADDED,
      execute: (args: JsonObject) => {
        ran.push(args);
        return String(Number(args.a) + 1);
      },
    },
    say: { execute: () => 'hello' },
    fail: {
      execute: () => {
        throw new Error('out of order');
      },
    },
  });
}

async function start(options: RouterOptions = {}): Promise<void> {
  app = await startChatApp({ tools: tools(), ...options });
}

describe.each(FORMS)('a tool of the server, %s,', (_, answerOf) => {
  it('[T-02] [A-27] [A-28] runs once, and the model answers with its result, in exactly two model calls', async () => {
    await start();
    const call = calling('add', { a: 2 });
    app.fake.reply(says({ text: 'Let me see. ', calls: [call] }), says({ text: 'It is 3.' }));
    expect(await answerOf(app.url)).toEqual({ content: 'Let me see. It is 3.', calls: [], finish: 'stop' });
    expect(ran).toEqual([{ a: 2 }]);
    expect(app.fake.requests.map(({ body }) => (body as JsonObject).messages)).toEqual([
      [USER],
      [USER, { role: 'assistant', content: 'Let me see. ', tool_calls: [wired(call)] }, result(call, '3')],
    ]);
  });

  it('[T-02] goes on for as many rounds as the model wants, in as many model calls and one', async () => {
    await start();
    const calls = [1, 2, 3].map((a) => calling('add', { a }, `call_${a}`));
    app.fake.reply(...calls.map((call) => says({ calls: [call] })), says({ text: 'Done.' }));
    expect(await answerOf(app.url)).toEqual({ content: 'Done.', calls: [], finish: 'stop' });
    const rounds = calls.flatMap((call, index) => [
      { role: 'assistant', content: null, tool_calls: [wired(call)] },
      result(call, String(index + 2)),
    ]);
    expect(app.fake.requests).toHaveLength(4);
    expect(requestedOf(app).messages).toEqual([USER, ...rounds]);
  });

  it('[T-05] [P-05] runs beside others of its round, whose results stand in the order of the calls', async () => {
    const started: string[] = [];
    const all = gate();
    const third = gate();
    const meet = (name: string) => async () => {
      if (started.push(name) === 3) all.open();
      await all.opened;
      if (name === 'one') await third.opened;
      if (name === 'three') third.open();
      return name;
    };
    const execute = { one: { execute: meet('one') }, two: { execute: meet('two') }, three: { execute: meet('three') } };
    await start({ tools: functionTools(execute) });
    const calls = ['one', 'two', 'three'].map((name) => calling(name));
    app.fake.reply(says({ calls }), says({ text: 'Done.' }));
    expect(await answerOf(app.url)).toEqual({ content: 'Done.', calls: [], finish: 'stop' });
    expect(requestedOf(app).messages).toEqual([
      USER,
      { role: 'assistant', content: null, tool_calls: calls.map(wired) },
      ...calls.map((call) => result(call, call.name)),
    ]);
  });

  it('[T-05] never runs beside more others than the limit allows', async () => {
    let running = 0;
    const seen: number[] = [];
    const execute = async () => {
      running += 1;
      await new Promise(setImmediate);
      seen.push(running);
      running -= 1;
      return 'ok';
    };
    await start({ tools: functionTools({ busy: { execute } }), limits: { tools: { parallelCalls: 2 } } });
    app.fake.reply(
      says({ calls: ['1', '2', '3', '4', '5'].map((id) => calling('busy', {}, id)) }),
      says({ text: '.' }),
    );
    await answerOf(app.url);
    expect({ runs: seen.length, most: Math.max(...seen) }).toEqual({ runs: 5, most: 2 });
  });

  it.each([
    [
      'arguments that are not JSON',
      calling('add', '{"a":'),
      'input_validation_error: the arguments are not a JSON object',
    ],
    [
      'arguments that are no object',
      calling('add', '[1]'),
      'input_validation_error: the arguments are not a JSON object',
    ],
    ['arguments that do not fit the schema', calling('add', { a: 'x' }), 'input_validation_error: '],
    ['a tool that throws', calling('fail'), 'out of order'],
    ['no arguments at all', calling('say', ''), 'hello'],
  ])('[T-05] [T-06] [P-05] describes to the model in words what came of %s', async (_name, call, reported) => {
    await start();
    app.fake.reply(says({ calls: [call] }), says({ text: 'I see.' }));
    expect(await answerOf(app.url)).toEqual({ content: 'I see.', calls: [], finish: 'stop' });
    const content = expect.stringContaining(reported);
    expect({ last: requestedOf(app).messages.at(-1), ran }).toEqual({ last: result(call, content), ran: [] });
  });

  it('[P-05] is asked with {} where the model gave it no arguments, and the model is reminded of just that', async () => {
    await start();
    app.fake.reply(says({ calls: [calling('say', '')] }), says({ text: '.' }));
    await answerOf(app.url);
    const requested = requestedOf(app).messages.at(-2);
    expect(requested).toEqual({ role: 'assistant', content: null, tool_calls: [wired(calling('say', '{}'))] });
  });

  it('[V-37] is shown to the model server with an object for arguments that are none, which it would refuse', async () => {
    await start();
    app.fake.reply(says({ calls: [calling('add', 'a=2')] }), says({ text: 'Sorry.' }));
    expect(await answerOf(app.url)).toEqual({ content: 'Sorry.', calls: [], finish: 'stop' });
    expect(requestedOf(app).messages).toEqual([
      USER,
      { role: 'assistant', content: null, tool_calls: [wired(calling('add', { invalid_json: 'a=2' }))] },
      result(calling('add'), expect.stringContaining('not a JSON object: a=2')),
    ]);
  });

  it('[O-05] is named to a model that calls it by a name that no tool can have, and the client is not shown that call', async () => {
    await start();
    const [wrong, right] = [calling('functions.add', { a: 2 }, 'call_1'), calling('add', { a: 2 }, 'call_2')];
    app.fake.reply(says({ calls: [wrong] }), says({ calls: [right] }), says({ text: 'It is 3.' }));
    expect(await answerOf(app.url, { tools: [{ type: 'function', function: { name: 'ask' } }] })).toEqual({
      content: 'It is 3.',
      calls: [],
      finish: 'stop',
    });
    expect(requestedOf(app).messages).toEqual([
      USER,
      { role: 'assistant', content: null, tool_calls: [wired({ ...wrong, name: 'functions_add' })] },
      result(wrong, "Not run: there is no tool 'functions.add'. Call one of: ask, add, say, fail"),
      { role: 'assistant', content: null, tool_calls: [wired(right)] },
      result(right, '3'),
    ]);
    expect(ran).toEqual([{ a: 2 }]);
  });

  it('[O-05] leaves other calls to the client where a tool of the model server’s own has no name', async () => {
    await start();
    const call = calling('browser.open', {});
    app.fake.reply(says({ calls: [call] }));
    const { calls } = await answerOf(app.url, { tools: [{ type: 'browser' }] });
    expect(calls).toEqual([call]);
  });

  it('[P-05] runs for each call of a message, though the model server gives all of them one id', async () => {
    await start();
    const calls = [1, 2].map((a) => calling('add', { a }, 'call_0'));
    app.fake.reply(says({ calls }), says({ text: 'Done.' }));
    expect(await answerOf(app.url)).toEqual({ content: 'Done.', calls: [], finish: 'stop' });
    expect(ran).toEqual([{ a: 1 }, { a: 2 }]);
    const ids = (requestedOf(app).messages as readonly JsonObject[]).flatMap(({ tool_call_id: id }) => id ?? []);
    expect(new Set(ids).size).toBe(2);
  });

  it('[T-05] is given up when its time is over, and the model is informed', async () => {
    const aborted = gate<string>();
    const execute = (_args: JsonObject, { signal }: { readonly signal: AbortSignal }) => {
      signal.addEventListener('abort', () => aborted.open((signal.reason as Error).message));
      return new Promise(() => {});
    };
    await start({ tools: functionTools({ slow: { execute } }), limits: { tools: { timeoutMs: 20 } } });
    const call = calling('slow');
    app.fake.reply(says({ calls: [call] }), says({ text: 'Too slow.' }));
    expect(await answerOf(app.url)).toEqual({ content: 'Too slow.', calls: [], finish: 'stop' });
    expect(requestedOf(app).messages.at(-1)).toEqual(result(call, 'The tool did not answer within 20 ms.'));
    expect(await aborted.opened).toBe('The tool did not answer within 20 ms.');
  });

  it('[T-05] is not let through with more output than the limit allows', async () => {
    await start({
      tools: functionTools({ big: { execute: () => 'x'.repeat(101) } }),
      limits: { tools: { outputBytes: 100 } },
    });
    const call = calling('big');
    app.fake.reply(says({ calls: [call] }), says({ text: 'Too big.' }));
    await answerOf(app.url);
    const reported = 'The tool answered with 101 bytes, more than the 100 that are allowed.';
    expect(requestedOf(app).messages.at(-1)).toEqual(result(call, reported));
  });

  it('[T-08] answers with an image, which the model sees in a message of its own', async () => {
    const image = 'data:image/png;base64,AAAA';
    const execute = () => ({ content: [{ type: 'input_image', image_url: image }] });
    await start({ tools: functionTools({ look: { execute } }) });
    app.fake.reply(says({ calls: [calling('look')] }), says({ text: 'A cat.' }));
    await answerOf(app.url);
    expect(requestedOf(app).messages.at(-1)).toEqual({
      role: 'user',
      content: [{ type: 'image_url', image_url: expect.objectContaining({ url: image }) }],
    });
  });

  it('[A-30] [T-02] is stopped at 25 rounds of 30, in 26 model calls, with finish_reason length', async () => {
    await start();
    const rounds = Array.from({ length: 30 }, (_, a) =>
      says({ text: '.', calls: [calling('add', { a }, `call_${a}`)] }),
    );
    app.fake.reply(...rounds);
    expect(await answerOf(app.url)).toEqual({ content: '.'.repeat(26), calls: [], finish: 'length' });
    expect({ ran: ran.length, requested: app.fake.requests.length }).toEqual({ ran: 25, requested: 26 });
  });

  it('[A-30] is stopped where its round holds more calls than are left, even where there was no text', async () => {
    await start({ limits: { tools: { calls: 3 } } });
    const calls = [1, 2, 3, 4, 5].map((a) => calling('add', { a }, `call_${a}`));
    app.fake.reply(says({ calls }), says({ text: 'Never sent.' }));
    expect(await answerOf(app.url)).toEqual({ content: null, calls: [], finish: 'length' });
    expect({ ran, requested: app.fake.requests.length }).toEqual({ ran: [{ a: 1 }, { a: 2 }, { a: 3 }], requested: 1 });
  });

  it('[T-12] is called for the same three times at most, then the model must answer without tools', async () => {
    await start();
    const again = says({ calls: [calling('add', { a: 1 })] });
    app.fake.reply(again, again, again, says({ text: 'Fine.' }));
    expect(await answerOf(app.url)).toEqual({ content: 'Fine.', calls: [], finish: 'stop' });
    const note = '(add was called 3 times in a row with the same arguments and the same result. Answer without tools.)';
    const requested = app.fake.requests.map(({ body }) => body as JsonObject);
    expect(requested.map(({ tool_choice: choice }) => choice)).toEqual([undefined, undefined, undefined, 'none']);
    expect(requestedOf(app).messages.at(-1)).toEqual(result(calling('add'), `2\n${note}`));
  });

  it('[S-08] gives the model its reasoning back with the call, in the field that it came in', async () => {
    await start();
    const call = calling('say');
    app.fake.reply(says({ reasoning: 'Say hello.', calls: [call] }), says({ text: 'Hello.' }));
    await answerOf(app.url);
    expect(requestedOf(app).messages.at(-2)).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: 'Say hello.',
      tool_calls: [wired(call)],
    });
  });

  it('[T-02] does not run where the model was cut off in the middle of its calls', async () => {
    await start();
    const cut = says({ text: 'So: ', calls: [calling('add', { a: 1 }), calling('add', '{"a":1', 'call_2')] });
    app.fake.reply((request) => {
      const { body } = cut(request);
      return { body: String(body).replace('"finish_reason":"tool_calls"', '"finish_reason":"length"') };
    });
    expect(await answerOf(app.url)).toEqual({ content: 'So: ', calls: [], finish: 'length' });
    expect({ ran, requested: app.fake.requests.length }).toEqual({ ran: [], requested: 1 });
  });

  it('[A-15] obeys a forced choice once, or the model could never answer', async () => {
    await start();
    const forced = { type: 'function' as const, function: { name: 'say' } };
    app.fake.reply(says({ calls: [calling('say')] }), says({ text: 'Hello.' }));
    expect(await answerOf(app.url, { tool_choice: forced })).toEqual({ content: 'Hello.', calls: [], finish: 'stop' });
    const choices = app.fake.requests.map(({ body }) => (body as JsonObject).tool_choice);
    expect(choices).toEqual([forced, 'auto']);
  });
});

describe('what the model server is asked', () => {
  const client = { type: 'function', function: { name: 'mine', parameters: { type: 'object' } } };
  const functions = [
    { name: 'add', description: 'Adds one.', parameters: ADDED },
    { name: 'say', parameters: { type: 'object', properties: {} } },
    { name: 'fail', parameters: { type: 'object', properties: {} } },
  ];
  const served = functions.map((each) => ({ type: 'function', function: each }));

  it('[S-19] [A-15] [A-26] is the very body of the client where the server has no tools of its own', async () => {
    await start({ tools: undefined });
    const body = {
      ...QUESTION,
      stream: true,
      tools: [client, { type: 'custom', custom: { name: 'raw' } }],
      tool_choice: { type: 'function', function: { name: 'mine' } },
      temperature: 0.5,
      reasoning: { effort: 'low', summary: null },
      unheard_of: { of: [1, null] },
    };
    await (await ask(app.url, body)).text();
    expect(requestedOf(app)).toEqual(body);
  });

  it.each([[{ effort: null, summary: null }], [null]])(
    '[A-26] leaves out a reasoning without text: %j',
    async (reasoning) => {
      await start();
      await askJson(app.url, { reasoning });
      expect(requestedOf(app)).toEqual({ ...QUESTION, tools: served });
    },
  );

  it('[V-39] passes tools without a type on', async () => {
    await start();
    const { type: _, ...bare } = client;
    await askJson(app.url, { tools: [bare] });
    expect(requestedOf(app)).toMatchObject({ tools: [bare, ...served] });
  });

  it('[V-39] passes an empty reasoning on', async () => {
    await start();
    await askJson(app.url, { reasoning: {} });
    expect(requestedOf(app)).toEqual({ ...QUESTION, reasoning: {}, tools: served });
  });

  it('[A-14] holds the tools of the server behind those of the client', async () => {
    await start();
    await askJson(app.url, { tools: [client], tool_choice: 'none', parallel_tool_calls: false });
    const { tools: requested, tool_choice: choice, parallel_tool_calls: parallel } = requestedOf(app);
    expect({ requested, choice, parallel }).toEqual({
      requested: [client, ...served],
      choice: 'none',
      parallel: false,
    });
  });

  it('[A-14] [T-04] holds a tool of the client only, where one of the server has the same name, and notes it', async () => {
    const notes: Note[] = [];
    await start({ hooks: { onNote: (note) => void notes.push(note) } });
    const named = { type: 'function', function: { name: 'say' } };
    const custom = { type: 'custom', custom: { name: 'fail' } };
    app.fake.reply(says({ calls: [calling('say')] }));
    const reported = await whole(app.url, { tools: [named, custom] });
    expect(reported).toEqual({ content: null, calls: [calling('say')], finish: 'tool_calls' });
    expect(requestedOf(app).tools).toEqual([named, custom, served[0]]);
    expect(notes.map(({ code }) => code)).toEqual(['tool_dropped', 'tool_dropped']);
  });

  it('[A-14] holds no tool of the server where the host wants none for the request, or cannot list them', async () => {
    const broken: ToolProvider = { ...tools(), list: () => Promise.reject(new Error('down')) };
    const chosen = (request: unknown) =>
      (request as { headers: JsonObject }).headers['x-tools'] ? [tools()] : [broken];
    await start({ tools: chosen });
    await askJson(app.url);
    await askJson(app.url, {}, { headers: { 'x-tools': 'on' } });
    expect([requestedOf(app, 0), requestedOf(app, 1)]).toEqual([QUESTION, { ...QUESTION, tools: served }]);
  });

  it('[S-19] holds no tool of the server where several answers are wanted at once', async () => {
    await start();
    await askJson(app.url, { n: 2 });
    expect(requestedOf(app)).toEqual({ ...QUESTION, n: 2 });
  });

  it('[S-19] holds them as functions where the client uses those', async () => {
    await start();
    await askJson(app.url, { functions: [{ name: 'mine' }], function_call: { name: 'say' } });
    expect(requestedOf(app)).toEqual({
      ...QUESTION,
      functions: [{ name: 'mine' }, ...functions],
      function_call: { name: 'say' },
    });
  });
});

describe('the usage', () => {
  const USAGE = { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 };
  const TWICE = { prompt_tokens: 18, completion_tokens: 24, total_tokens: 42 };

  it('[S-10] of all rounds is summed in JSON, and the host receives the sum', async () => {
    const reported: unknown[] = [];
    await start({ hooks: { onResponse: ({ usage, status }) => void reported.push([status, usage.total_tokens]) } });
    app.fake.reply(says({ calls: [calling('say')] }), says({ text: '.' }));
    expect((await askJson(app.url)).body.usage).toEqual(TWICE);
    expect(reported).toEqual([['completed', 42]]);
  });

  it('[S-10] of all rounds is summed in one last chunk, where the client asked for it', async () => {
    await start();
    app.fake.reply(says({ calls: [calling('say')] }), says({ text: '.' }));
    const chunks = await askChunks(app.url, { stream_options: { include_usage: true } });
    const written = chunks.filter(({ usage }) => usage);
    expect(written).toEqual([expect.objectContaining({ choices: [], usage: TWICE })]);
  });

  it('[S-10] is summed after a round that ends the answer itself, too', async () => {
    await start({ limits: { tools: { iterations: 1 } } });
    app.fake.reply(says({ calls: [calling('say')] }));
    const chunks = await askChunks(app.url, { stream_options: { include_usage: true } });
    expect(chunks.at(-1)).toEqual(expect.objectContaining({ choices: [], usage: TWICE }));
  });

  it('[S-10] [V-06] is that of all pieces of its report, and not of zeros behind them', async () => {
    const reported: unknown[] = [];
    await start({ hooks: { onResponse: ({ usage }) => void reported.push(usage) } });
    const counts = (usage: object) => chatChunk({}, { choices: [], usage });
    const end = `${chatChunk({ content: '.' })}${chatChunk({}, { finish_reason: 'stop' })}`;
    const zeros = counts({ prompt_tokens: 0, completion_tokens: 0 });
    app.fake.reply({
      body: `${counts({ prompt_tokens: 50 })}${end}${counts({ completion_tokens: 3 })}${zeros}data: [DONE]\n\n`,
    });
    await askChunks(app.url);
    expect(reported).toMatchObject([{ input_tokens: 50, output_tokens: 3, total_tokens: 53 }]);
  });

  it('[V-06] has the total of all pieces of its report', async () => {
    await start();
    const pieces = [
      { prompt_tokens: 50, completion_tokens: 0, total_tokens: 50 },
      { prompt_tokens: 0, completion_tokens: 3, total_tokens: 3 },
    ].map((usage) => chatChunk({}, { choices: [], usage }));
    const end = chatChunk({ content: '.' }, { finish_reason: 'stop' });
    app.fake.reply({ body: `${pieces[0]}${end}${pieces[1]}data: [DONE]\n\n` });
    const { usage } = (await askJson(app.url)).body;
    expect(usage).toEqual({ prompt_tokens: 50, completion_tokens: 3, total_tokens: 53 });
  });

  it('[S-10] is asked for, since it must be summed, and kept from a client that did not ask', async () => {
    await start();
    app.fake.reply(says({ calls: [calling('say')] }), says({ text: '.' }));
    const chunks = await askChunks(app.url, { stream_options: { include_obfuscation: false } });
    expect(chunks.filter(({ usage }) => usage)).toEqual([]);
    const options = app.fake.requests.map(({ body }) => (body as JsonObject).stream_options);
    const requested = { include_obfuscation: false, include_usage: true };
    expect(options).toEqual([requested, requested]);
  });

  it('[S-10] is not asked for where the server has no tools to sum it for', async () => {
    await start({ tools: undefined });
    const chunks = await askChunks(app.url);
    expect({ requested: requestedOf(app), last: chunks.at(-1)?.usage }).toEqual({
      requested: { ...QUESTION, stream: true },
      last: USAGE,
    });
  });
});

describe('a model server that streams although the client wants JSON', () => {
  const spoken = [
    { role: 'assistant', content: '' },
    { reasoning_content: 'May ' },
    { reasoning_content: 'I?' },
    { refusal: 'I must ' },
    { refusal: 'not.' },
  ];

  it.each([
    ['no tools', undefined],
    ['tools of the server', tools],
  ])('[S-19] [A-27] has all of its message in the completion, with %s', async (_, offered) => {
    await start({ tools: offered?.() });
    app.fake.reply({ body: chatStream(...spoken) });
    const { choices } = (await askJson(app.url)).body as { readonly choices: readonly JsonObject[] };
    expect(choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: null, reasoning_content: 'May I?', refusal: 'I must not.' },
        finish_reason: 'stop',
      },
    ]);
  });
});
