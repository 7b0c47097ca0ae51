/** The guards of both routers: what the model receives, what the client is shown, what is stored, and what tools get. */

import express from 'express';
import { guardBody } from '../../../src/engine/guarding/request/guarded-body.ts';
import type { Guard, GuardInfo, ResponseStore, RouterOptions, StoredResponse } from '../../../src/index.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  guard,
  memoryStore,
} from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import {
  chatCompletion,
  chatStream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../../src/testing/index.ts';
import { askData, askJson, type ChatApp, startChatApp } from '../../apis/chat-completions/chat-app.ts';
import { type SocketApp, type SocketAppSetup, startSocketApp } from '../../hosts/websocket/support.ts';
import { listening } from '../../support/listening.ts';
import { askForJson, askForStream, post } from '../../support/responses-client.ts';
import { requestGuards } from './support.ts';

const SECRET = 'Write to bob@example.com or pay DE89 3704 0044 0532 0130 00 now.';
const SAFE = 'Write to [EMAIL] or pay [IBAN] now.';
/** A character in each delta. */
const TORN = [...SECRET];

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface Watched {
  readonly store: ResponseStore;
  readonly puts: StoredResponse[];
  readonly reports: GuardInfo[];
  readonly hooks: RouterOptions['hooks'];
}

function watched(): Watched {
  const memory = memoryStore();
  const puts: StoredResponse[] = [];
  const reports: GuardInfo[] = [];
  const put: ResponseStore['put'] = (stored) => {
    puts.push(stored);
    return memory.put(stored);
  };
  return { store: { ...memory, put }, puts, reports, hooks: { onGuard: (info) => void reports.push(info) } };
}

async function startBoth(options: SocketAppSetup): Promise<SocketApp> {
  const app = await startSocketApp(options);
  closers.push(() => app.close());
  return app;
}

async function startChat(options: RouterOptions): Promise<ChatApp> {
  const app = await startChatApp(options);
  closers.push(() => app.close());
  return app;
}

function contentOf(data: readonly string[]): string {
  return data
    .filter((each) => each !== '[DONE]')
    .map((each) => JSON.parse(each).choices?.[0]?.delta?.content ?? '')
    .join('');
}

function shownIn(response: { readonly output?: unknown }): string {
  return JSON.stringify(response.output);
}

/** Blocks every text with the word. */
const noPoison: Guard = {
  name: 'no-poison',
  async inspect({ text }) {
    return text.includes('poison')
      ? { action: 'block', reason: 'It is about poison.', rule: 'POISON' }
      : { action: 'pass' };
  },
};

describe('the guards of the Responses router', () => {
  it('[C-29] redact an answer that comes in single characters, and store what they show', async () => {
    const { puts, reports, ...options } = watched();
    const app = await startBoth({ ...options, guards: { output: [pii()] } });
    app.fake.reply({ body: textStream(TORN) });
    const { text, response } = await askForStream(app.url);
    const [message] = response.output as unknown as [{ content: [{ text: string }] }];
    expect([message.content[0].text, text.includes('bob@'), text.includes(' 3704 ')]).toEqual([SAFE, false, false]);
    expect(JSON.stringify(puts)).toContain(SAFE);
    expect(JSON.stringify(puts)).not.toContain('bob@');
    const about = { requestId: expect.any(String), scope: expect.any(String), guard: 'pii', direction: 'output' };
    const found = { ...about, place: 'text', action: 'replaced', count: 1 };
    expect(reports).toEqual([
      { ...found, rule: 'EMAIL' },
      { ...found, rule: 'IBAN' },
    ]);
  });

  it('redact JSON, and an answer over a WebSocket', async () => {
    const app = await startBoth({ guards: { output: [pii()] } });
    app.fake.reply({ body: textStream(TORN) });
    expect(shownIn(await askForJson(app.url))).toContain(SAFE);
    const talk = await app.connect();
    const messages = await talk.ask();
    expect(JSON.stringify(messages)).toContain(SAFE);
    expect(JSON.stringify(messages)).not.toContain('bob@');
  });

  it('redact an answer in the background, whose stored events are what was shown', async () => {
    const { puts, reports: _, ...options } = watched();
    const app = await startBoth({ ...options, guards: { output: [pii()] } });
    app.fake.reply({ body: textStream(TORN) });
    const begun = JSON.parse((await post(app.url, { background: true })).text);
    let response = begun;
    while (response.status === 'queued' || response.status === 'in_progress')
      response = await (await fetch(`${app.url}/responses/${begun.id}`)).json();
    expect([response.status, shownIn(response).includes(SAFE), JSON.stringify(puts).includes('bob@')]).toEqual([
      'completed',
      true,
      false,
    ]);
  });

  it('redact reasoning, refusals and the arguments of calls, and leave the rest alone', async () => {
    const app = await startBoth({ guards: { output: [pii()] }, show: { reasoning: 'text' } });
    const call = JSON.stringify({
      to: 'bob@example.com',
      note: 'a\nbob@example.com "x" é\\',
      card: 4111111111111111,
      n: 12,
    });
    app.fake.reply({
      body: chatStream(
        ...[...'I think of bob@example.com'].map((reasoning_content) => ({ reasoning_content })),
        ...[...'I refuse bob@example.com'].map((refusal) => ({ refusal })),
        { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'send', arguments: '' } }] },
        ...[...call].map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
      ),
    });
    const { text, response } = await askForStream(app.url, {
      tools: [{ type: 'function', name: 'send', parameters: {} }],
    });
    const items = response.output as unknown as readonly JsonObject[];
    const called = items.find(({ type }) => type === 'function_call');
    expect(JSON.parse(String(called?.arguments))).toEqual({
      to: '[EMAIL]',
      note: 'a\n[EMAIL] "x" é\\',
      card: '[CARD]',
      n: 12,
    });
    expect(text).toContain('I think of [EMAIL]');
    expect(text).toContain('I refuse [EMAIL]');
    expect(text).not.toContain('bob@');
  });

  it('move citations with the text, and leave log probabilities out', async () => {
    const app = await startBoth({ guards: { output: [pii()] } });
    const annotation = {
      type: 'url_citation',
      url_citation: { url: 'https://a.example/', title: 'A', start_index: 22, end_index: 26 },
    };
    const logprobs = { content: [{ token: 'bob@example.com', logprob: -1, bytes: null, top_logprobs: [] }] };
    const body = chatStream({ content: 'Ask bob@example.com - here.' }, { annotations: [annotation] });
    app.fake.reply({ body: body.replaceAll('"logprobs":null', `"logprobs":${JSON.stringify(logprobs)}`) });
    const { text, response } = await askForStream(app.url, {
      top_logprobs: 1,
      include: ['message.output_text.logprobs'],
    });
    const [message] = response.output as unknown as [{ content: [{ text: string; annotations: [JsonObject] }] }];
    const [{ text: shown, annotations }] = message.content;
    const [{ start_index, end_index }] = annotations;
    expect([shown, shown.slice(Number(start_index), Number(end_index)), text.includes('bob@')]).toEqual([
      'Ask [EMAIL] - here.',
      'here',
      false,
    ]);
  });

  it('end a blocked answer as incomplete, and close the model server’s stream', async () => {
    const app = await startBoth({ guards: { output: [noPoison] } });
    const words = `${'Something harmless to begin with. '.repeat(20)}Now take some poison.`.split(/(?<= )/);
    app.fake.reply({ body: textStream(words) });
    const { text, response } = await askForStream(app.url);
    expect([response.status, response.incomplete_details]).toEqual(['incomplete', { reason: 'content_filter' }]);
    expect([text.includes('poison'), text.includes('harmless')]).toEqual([false, true]);
  });

  it('refuse a request, naming the place', async () => {
    const app = await startBoth({ guards: { input: [noPoison] } });
    const input = [{ role: 'user', content: [{ type: 'input_text', text: 'poison' }] }];
    const { status, text } = await post(app.url, { input });
    const { error } = JSON.parse(text);
    expect([status, error.code, error.param, app.fake.requests.length]).toEqual([
      400,
      'content_filter',
      'input[0].content[0].text',
      0,
    ]);
  });

  it('see a text that looks like data, and every variable of a prompt whatever its name', async () => {
    const subjects: string[] = [];
    const watching: Guard = {
      name: 'watching',
      inspect({ text, place }) {
        subjects.push(`${place}: ${text}`);
        return { action: 'pass' };
      },
    };
    const app = await startChat({ guards: { input: [watching] } });
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    await askJson(app.url, { messages: [{ role: 'user', content: [{ type: 'text', text: 'data: 1' }, picture] }] });
    expect(subjects).toEqual(['messages[0].content[0].text: data: 1']);
    const { guards } = requestGuards({ input: [pii()] });
    const variables = { name: SECRET, data: SECRET, city: { type: 'input_text', text: SECRET } };
    const safe = { name: SAFE, data: SAFE, city: { type: 'input_text', text: SAFE } };
    expect(await guardBody({ prompt: { id: 'p', variables } }, guards)).toEqual({
      prompt: { id: 'p', variables: safe },
    });
  });

  it('keep JSON that the request wants valid, and what is stored of it', async () => {
    const { puts, reports: _, ...options } = watched();
    const app = await startBoth({ ...options, guards: { output: [pii()] } });
    const json = '{"card":4111111111111111,"mail":"bob\\u0040example.com"}';
    const safe = { card: '[CARD]', mail: '[EMAIL]' };
    app.fake.reply({ body: textStream([...json]) });
    const response = await askForJson(app.url, { text: { format: { type: 'json_object' } } });
    const textIn = (output: unknown) => (output as [{ content: [{ text: string }] }])[0].content[0].text;
    expect([JSON.parse(textIn(response.output)), JSON.parse(textIn(puts[0]?.output))]).toEqual([safe, safe]);
    const chat = await startChat({ guards: { output: [pii()] } });
    chat.fake.reply({ body: textStream([...json]) }, { body: chatCompletion(json) });
    const format = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } } };
    expect(JSON.parse(contentOf(await askData(chat.url, format)))).toEqual(safe);
    const { body } = await askJson(chat.url, format);
    expect(JSON.parse((body.choices as [{ message: { content: string } }])[0].message.content)).toEqual(safe);
  });

  it('redact what is new in a request, and what is stored of it', async () => {
    const { puts, reports, ...options } = watched();
    const app = await startBoth({ ...options, guards: { input: [pii()] } });
    const first = await askForJson(app.url, { input: SECRET, instructions: 'For bob@example.com' });
    await askForJson(app.url, { input: SECRET, previous_response_id: first.id });
    const asked = JSON.stringify(app.fake.requests.map(({ body }) => body));
    expect([asked.includes('bob@'), asked.includes(SAFE), JSON.stringify(puts).includes('bob@')]).toEqual([
      false,
      true,
      false,
    ]);
    // The first turn is not looked at again.
    expect(reports.map(({ place, rule }) => `${place} ${rule}`).toSorted()).toEqual([
      'input EMAIL',
      'input EMAIL',
      'input IBAN',
      'input IBAN',
      'instructions EMAIL',
    ]);
  });

  it('see the items of a conversation when they come, since they are history later', async () => {
    const app = await startBoth({ guards: { input: [pii()] } });
    const send = (path: string, body: JsonObject) =>
      fetch(`${app.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const item = { type: 'message', role: 'user', content: SECRET };
    const { id } = (await (await send('/conversations', { items: [item] })).json()) as { id: string };
    const added = await (await send(`/conversations/${id}/items`, { items: [item] })).text();
    await askForJson(app.url, { conversation: id, input: 'Go.' });
    const asked = JSON.stringify(app.fake.requests.at(-1)?.body);
    expect([added.includes('bob@'), asked.includes('bob@'), asked.split(SAFE).length]).toEqual([false, false, 3]);
  });

  it('know whose text it is, and keep the values of tenants apart', async () => {
    const subjects: string[] = [];
    const watching: Guard = {
      name: 'watching',
      inspect({ scope, requestId, direction, place }) {
        subjects.push(`${scope} ${requestId} ${direction} ${place}`);
        return { action: 'pass' };
      },
    };
    const scope: RouterOptions['scope'] = (req) => String(req.headers['x-tenant']);
    const app = await startChat({ scope, guards: { input: [watching, pii({ restore: true })] } });
    app.fake.reply({ body: chatCompletion('To [EMAIL_1].') });
    const ask = async (tenant: string, content: string) => {
      const headers = { 'x-tenant': tenant, 'x-request-id': `req-${tenant}` };
      return (await askJson(app.url, { messages: [{ role: 'user', content }] }, { headers })).text;
    };
    const answers = await Promise.all([ask('one', 'a@one.example'), ask('two', 'b@two.example')]);
    expect(answers.map((text) => [text.includes('To a@one.example.'), text.includes('To b@two.example.')])).toEqual([
      [true, false],
      [false, true],
    ]);
    const place = 'input messages[0].content';
    expect(subjects.toSorted()).toEqual([`one req-one ${place}`, `two req-two ${place}`]);
  });

  it('give the arguments and results of tools to the guards of tools', async () => {
    const received: unknown[] = [];
    const tools = functionTools({
      lookup: {
        parameters: { type: 'object' },
        execute(args: unknown) {
          received.push(args);
          return 'It is alice@example.com';
        },
      },
    });
    const app = await startBoth({ tools, guards: { tools: [pii()] } });
    app.fake.reply(
      { body: toolCallStream([{ id: 'c', name: 'lookup', arguments: '{"who":"bob@example.com"}' }]) },
      { body: textStream('Done.') },
    );
    const response = await askForJson(app.url);
    const asked = JSON.stringify(app.fake.requests.at(-1)?.body);
    expect(received).toEqual([{ who: '[EMAIL]' }]);
    expect([
      shownIn(response).includes('It is [EMAIL]'),
      asked.includes('It is [EMAIL]'),
      asked.includes('alice@'),
    ]).toEqual([true, true, false]);
  });

  it('let a call with blocked arguments fail with an error that the model reads', async () => {
    let ran = false;
    const execute = () => {
      ran = true;
      return 'ok';
    };
    const tools = functionTools({ brew: { parameters: { type: 'object' }, execute } });
    const app = await startBoth({ tools, guards: { tools: [noPoison] } });
    app.fake.reply(
      { body: toolCallStream([{ id: 'c', name: 'brew', arguments: '{"what":"poison"}' }]) },
      { body: textStream('Sorry.') },
    );
    const response = await askForJson(app.url);
    const asked = JSON.stringify(app.fake.requests.at(-1)?.body);
    expect([ran, asked.includes("Not allowed by this server's policy. It is about poison."), response.status]).toEqual([
      false,
      true,
      'completed',
    ]);
  });

  it('give the model placeholders, and the client and the tools the values', async () => {
    const received: unknown[] = [];
    const execute = (args: unknown) => {
      received.push(args);
      return 'Sent to bob@example.com';
    };
    const tools = functionTools({ send: { parameters: { type: 'object' }, execute } });
    const { puts, reports: _, ...options } = watched();
    const app = await startBoth({ ...options, tools, guards: { input: [pii({ restore: true })] } });
    app.fake.reply(
      { body: toolCallStream([{ id: 'c', name: 'send', arguments: '{"to":"[EMAIL_1]"}' }]) },
      { body: textStream([...'Sent to [EMAIL_1], [EMAIL_2] and [EMAIL_9].']) },
    );
    const { response } = await askForStream(app.url, { input: 'Ask bob@example.com or alice@example.com' });
    const asked = JSON.stringify(app.fake.requests.map(({ body }) => body));
    expect(received).toEqual([{ to: 'bob@example.com' }]);
    expect([asked.includes('bob@'), asked.includes('alice@'), asked.includes('Sent to [EMAIL_1]')]).toEqual([
      false,
      false,
      true,
    ]);
    const shown = 'Sent to bob@example.com, alice@example.com and [EMAIL_9].';
    expect([shownIn(response).includes(shown), JSON.stringify(puts).includes(shown)]).toEqual([true, true]);
    await askForJson(app.url, { input: 'Again.', previous_response_id: response.id });
    expect(JSON.stringify(app.fake.requests.at(-1)?.body)).not.toContain('bob@');
  });
});

describe('the guards of the Chat Completions router', () => {
  it('redact a stream in single characters, and JSON', async () => {
    const app = await startChat({ guards: { output: [pii()] } });
    app.fake.reply({ body: textStream(TORN) }, { body: chatCompletion(SECRET) });
    const data = await askData(app.url);
    expect([contentOf(data), data.join('').includes('bob@'), data.at(-1)]).toEqual([SAFE, false, '[DONE]']);
    const { text, body } = await askJson(app.url);
    expect([text.includes('bob@'), (body.choices as [{ message: JsonObject }])[0].message.content]).toEqual([
      false,
      SAFE,
    ]);
  });

  it('redact reasoning, arguments and every choice, and keep the other fields', async () => {
    const app = await startChat({ guards: { output: [pii()] } });
    const delta = (index: number, fields: JsonObject) =>
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', odd: 1, choices: [{ index, delta: fields, finish_reason: null }] })}\n\n`;
    const call = '{"to":"bob@example.com","n":1}';
    const frames = [
      ...[...'x bob@example.com'].flatMap((c) => [delta(0, { content: c }), delta(1, { reasoning_content: c })]),
      ...[...call].map((c) => delta(2, { tool_calls: [{ index: 0, function: { arguments: c } }] })),
      ...[0, 1, 2].map(
        (index) => `data: ${JSON.stringify({ id: 'x', choices: [{ index, delta: {}, finish_reason: 'stop' }] })}\n\n`,
      ),
    ];
    app.fake.reply({ body: `${frames.join('')}data: [DONE]\n\n` });
    const data = await askData(app.url, { n: 3 });
    const joined = ['', '', ''];
    for (const each of data.slice(0, -1))
      for (const { index, delta: more } of JSON.parse(each).choices)
        joined[index] += more.content ?? more.reasoning_content ?? more.tool_calls?.[0].function.arguments ?? '';
    expect(joined).toEqual(['x [EMAIL]', 'x [EMAIL]', '{"to":"[EMAIL]","n":1}']);
    expect([data.join('').includes('bob@'), data[0]?.includes('"odd":1')]).toEqual([false, true]);
  });

  it('end a blocked answer with content_filter', async () => {
    const app = await startChat({ guards: { output: [noPoison] } });
    app.fake.reply({ body: textStream(['Take ', 'poison.']) }, { body: chatCompletion('Take poison.') });
    const data = await askData(app.url);
    expect([
      data.join('').includes('poison'),
      data.join('').includes('"finish_reason":"content_filter"'),
      data.at(-1),
    ]).toEqual([false, true, '[DONE]']);
    const { text, body } = await askJson(app.url);
    const [choice] = body.choices as [JsonObject];
    expect([text.includes('poison'), choice.finish_reason]).toEqual([false, 'content_filter']);
  });

  it('give the model placeholders, and refuse what is blocked', async () => {
    const app = await startChat({ guards: { input: [noPoison, pii({ restore: true })] } });
    app.fake.reply({ body: textStream([...'To [EMAIL_1]!']) });
    const data = await askData(app.url, { messages: [{ role: 'user', content: 'bob@example.com' }] });
    expect(contentOf(data)).toBe('To bob@example.com!');
    expect(JSON.stringify(app.fake.requests[0]?.body)).not.toContain('bob@');
    const { status, body } = await askJson(app.url, { messages: [{ role: 'user', content: 'poison' }] });
    expect([status, (body.error as JsonObject).code, (body.error as JsonObject).param]).toEqual([
      400,
      'content_filter',
      'messages[0].content',
    ]);
  });

  it.each([undefined, 'message', 'function', 'my_tool', 'recall', 'function_call', 'tool_use'])(
    '[G-05] read the name of who speaks, whatever type a message has: %s',
    async (type) => {
      const app = await startChat({ guards: { input: [pii()] } });
      app.fake.reply({ body: chatCompletion('Hi.') });
      const messages = ['user', 'system', 'developer', 'assistant', 'my_tool'].map((role) => ({
        role,
        ...(type === undefined ? {} : { type }),
        name: 'bob@example.com',
        content: 'Go.',
      }));
      await askJson(app.url, { messages });
      const sent = (app.fake.requests[0]?.body as JsonObject | undefined)?.messages as
        | readonly JsonObject[]
        | undefined;
      expect(sent?.map(({ name }) => name)).toEqual(messages.map(() => '[EMAIL]'));
    },
  );

  it('leave the bytes of the model server alone where there are none', async () => {
    const app = await startChat({ guards: {} });
    const stream = textStream(TORN);
    app.fake.reply({ body: stream });
    const answer = await fetch(`${app.url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'm',
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'Go.' }],
      }),
    });
    expect(await answer.text()).toBe(stream);
  });
});

describe('the modes of a guard', () => {
  const modes = [
    { mode: 'monitor', shown: 'Write to bob@example.com', status: 'completed', action: 'observed' },
    { mode: 'redact', shown: 'Write to [EMAIL]', status: 'completed', action: 'replaced' },
    { mode: 'enforce', shown: undefined, status: 'incomplete', action: 'blocked' },
  ] as const;

  it.each(modes)('[C-29] $mode', async ({ mode, shown, status, action }) => {
    const { reports, store, hooks } = watched();
    const app = await startBoth({ store, hooks, guards: { output: [pii({ mode, kinds: ['email'] })] } });
    app.fake.reply({ body: textStream(['Write ', 'to bob@', 'example', '.com']) });
    const response = await askForJson(app.url);
    const text = shownIn(response);
    expect([response.status, text.includes('bob@'), shown === undefined || text.includes(shown)]).toEqual([
      status,
      mode === 'monitor',
      true,
    ]);
    expect(reports.map((report) => [report.rule, report.action])).toEqual([['EMAIL', action]]);
    expect(JSON.stringify(reports)).not.toContain('bob@');
  });

  it('monitor leaves a chat stream as the model server wrote it', async () => {
    const app = await startChat({ guards: { output: [pii({ mode: 'monitor' })] } });
    const stream = textStream(TORN);
    app.fake.reply({ body: stream });
    const data = await askData(app.url, { stream_options: { include_usage: true } });
    expect(data.map((each) => `data: ${each}\n\n`).join('')).toBe(stream);
  });
});

describe('guards that fail', () => {
  const failing: readonly [string, Guard['inspect']][] = [
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['hangs', () => new Promise(() => {})],
    // The casts: a guard of the host's need not be type-checked.
    ['answers nonsense', () => 42 as never],
    ['finds nonsense', () => ({ action: 'replace', findings: [{ start: 5, end: 1, rule: 'X' }] }) as never],
    ['finds too much', () => ({ action: 'replace', findings: [{ start: 0, end: 1e9, rule: 'X' }] }) as never],
  ];

  it.each(failing)('let nothing pass if one %s, and all of it if the host allows it', async (_, inspect) => {
    const guard: Guard = { name: 'bad', timeoutMs: 50, inspect };
    const errors: string[] = [];
    const reports: GuardInfo[] = [];
    const hooks = {
      onError: ({ code }: { code: string }) => void errors.push(code),
      onGuard: (info: GuardInfo) => void reports.push(info),
    };
    const app = await startBoth({ hooks, logger: false, guards: { output: [guard] } });
    app.fake.reply({ body: textStream(['Hello ', 'you']) });
    const { status, text } = await post(app.url, { stream: true });
    expect([status, text.includes('Hello'), errors, reports.map(({ rule, action }) => [rule, action])]).toEqual([
      503,
      false,
      ['guard_failed'],
      [['failure', 'blocked']],
    ]);
    const lenient = await startBoth({ logger: false, guards: { output: [{ ...guard, onFailure: 'pass' }] } });
    lenient.fake.reply({ body: textStream(['Hello ', 'you']) });
    expect(shownIn(await askForJson(lenient.url))).toContain('Hello you');
  });
});

it.each([
  ['of the router', 'router'],
  ['in front of it', 'middleware'],
])('[T-04] [C-29] know their own changes in calls that the client sends back: guards %s', async (_name, place) => {
  const fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
  const guards = { input: [pii()] };
  const tools = functionTools({ look: { execute: () => 'Seen.' } });
  const router = chatCompletionsRouter({
    upstream,
    tools,
    store: memoryStore(),
    ...(place === 'router' ? { guards } : {}),
  });
  const { url, close } = await listening(
    express().use(...(place === 'router' ? [] : [guard({ guards }) as express.RequestHandler]), router),
  );
  closers.push(fake.close, async () => upstream.close?.(), close);
  const mail = { id: 'call_mail', name: 'mail', arguments: '{"to":"bob@example.com"}' };
  const look = { id: 'call_look', name: 'look', arguments: '{}' };
  const wired = ({ id, ...called }: typeof mail) => ({ id, type: 'function', function: called });
  const text = 'To bob@example.com.';
  fake.reply({
    body: chatStream({ content: text }, { tool_calls: [look, mail].map((each, index) => ({ index, ...wired(each) })) }),
  });
  const user = { role: 'user', content: 'Go.' };
  const { body } = await askJson(url, { messages: [user] });
  // The cast: an answer of this API.
  const [choice] = body.choices as readonly { readonly message: JsonObject }[];
  expect(choice?.message).toMatchObject({ content: text, tool_calls: [wired(mail)] });
  fake.reply({ body: textStream('Done.') });
  await askJson(url, { messages: [user, choice?.message, { role: 'tool', tool_call_id: mail.id, content: 'Sent.' }] });
  // The cast: what this package posts is a chat request.
  const last = fake.requests.at(-1)?.body as { readonly messages: readonly JsonObject[] } | undefined;
  expect(last?.messages).toEqual([
    user,
    {
      role: 'assistant',
      content: 'To [EMAIL].',
      tool_calls: [wired(look), wired({ ...mail, arguments: '{"to":"[EMAIL]"}' })],
    },
    { role: 'tool', tool_call_id: look.id, content: 'Seen.' },
    { role: 'tool', tool_call_id: mail.id, content: 'Sent.' },
  ]);
});
