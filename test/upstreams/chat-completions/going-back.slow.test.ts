/** Two turns over one Chat Completions server: what the first answer says, and how it goes back in the second request. */

import { chatCompletionsUpstream, functionTools, memoryStore, type RouterOptions } from '../../../src/index.ts';
import { type JsonObject, recordsIn } from '../../../src/protocol/record.ts';
import {
  chatCompletion,
  chatStream,
  type FakeAnswer,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../../src/testing/index.ts';
import { type App, startApp } from '../../support/app.ts';
import { recordedJson, recordedStream } from '../../support/replay.ts';
import { askForJson, askForStream } from '../../support/responses-client.ts';
import { describeShared, listShared } from '../../support/shared.ts';
import type { WireItem } from '../../support/wire-schemas.ts';

let app: App;
let fake: FakeUpstream;
let notes: string[];
let closing: (() => unknown)[];

async function start(upstreamOptions: JsonObject = {}, options: RouterOptions = {}): Promise<App> {
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0, ...upstreamOptions });
  const hooks = { onNote: ({ code }: { readonly code: string }) => notes.push(code) };
  const started = await startApp({ options: { store: memoryStore(), hooks, ...options, upstream } });
  closing.push(() => started.close().then(() => upstream.close?.()));
  return started;
}

beforeEach(async () => {
  fake = await startFakeUpstream();
  notes = [];
  closing = [() => fake.close()];
  app = await start();
});
afterEach(() => Promise.all(closing.map((close) => close())));

/** Ways in which a client goes on: by the response's id, with its own history, and with that and nothing stored. */
const WAYS = ['by id', 'by full history', 'without storing'] as const;
type Way = (typeof WAYS)[number];

/** Everything that names a tool in the answer, offered; so that no call is left out. */
function toolsFor(output: readonly WireItem[]): readonly JsonObject[] {
  const names = new Set(output.flatMap((item) => (item.type === 'function_call' ? [item.name] : [])));
  return [...names].map((name) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } }));
}

function answersTo(output: readonly WireItem[]): readonly JsonObject[] {
  const calls = output.filter((item) => item.type === 'function_call');
  if (calls.length === 0) return [{ type: 'message', role: 'user', content: 'And?' }];
  return calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'Done.' }));
}

/** The first answer, and the second request as the model server got it. */
async function twoTurns(reply: FakeAnswer, way: Way, { url = app.url, second = '', stream = false } = {}) {
  const before = fake.requests.length;
  fake.reply(reply, { body: textStream('Thanks.') });
  const kept = way === 'without storing' ? { store: false, include: ['reasoning.encrypted_content'] } : {};
  const requested = { input: [{ type: 'message', role: 'user', content: 'Go.' }], ...kept };
  const { output, id } = stream ? (await askForStream(url, requested)).response : await askForJson(url, requested);
  const own = answersTo(output);
  const goesOn =
    way === 'by id'
      ? { previous_response_id: id, input: own }
      : { input: [...requested.input, ...output, ...own], ...kept };
  await askForJson(second || url, { ...goesOn, tools: toolsFor(output) });
  // The cast: a chat request has messages.
  const { messages = [] } = (fake.requests[before + 1]?.body ?? {}) as { readonly messages?: readonly JsonObject[] };
  return { output, messages, assistant: messages.filter(({ role }) => role === 'assistant') };
}

/** The entries as one who waited for the whole stream would have them. */
function naiveDetails(entries: readonly JsonObject[]): readonly JsonObject[] {
  const merged = new Map<string, Record<string, unknown>>();
  for (const entry of entries) {
    const key = `${entry.type} ${entry.index}`;
    const known = merged.get(key);
    if (!known) merged.set(key, { ...entry });
    else
      for (const [name, value] of Object.entries(entry)) {
        if (['text', 'summary', 'data'].includes(name)) known[name] = `${known[name] ?? ''}${value}`;
        else if (value !== '' && value !== null) known[name] = value;
      }
  }
  return [...merged.values()];
}

/** The assistant message in a recording, by the simplest rules that hold for all of them. */
function naiveMessage(text: string): JsonObject {
  const chunks = text.trimStart().startsWith('{')
    ? [JSON.parse(text)]
    : text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
  const deltas: JsonObject[] = chunks.flatMap(({ choices }) =>
    choices.map((choice: JsonObject) => choice.delta ?? choice.message),
  );
  const joined = (name: string) => deltas.map((delta) => delta[name] ?? '').join('');
  const details = naiveDetails(
    deltas.flatMap(({ reasoning_details: list }) => (list as readonly JsonObject[] | null) ?? []),
  );
  const calls: { id: unknown; name: unknown; arguments: string }[] = [];
  for (const { id, index, function: called } of deltas.flatMap(({ tool_calls: list }) => (list as never) ?? []) as {
    id: unknown;
    index: number;
    function: { name?: string; arguments?: string };
  }[]) {
    if (called.name) calls.push({ id, name: called.name, arguments: called.arguments ?? '' });
    else if (calls[index]) calls[index].arguments += called.arguments ?? '';
  }
  const reasoning = joined('reasoning');
  const opaque = details.some(({ data, signature }) => data || signature);
  return {
    role: 'assistant',
    content: joined('content') || null,
    ...(reasoning && calls.length > 0 ? { reasoning } : {}),
    ...(opaque ? { reasoning_details: details } : {}),
    ...(calls.length > 0
      ? {
          tool_calls: calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
        }
      : {}),
  };
}

const STREAMS = listShared('corpus/chat-stream', '.sse').filter((file) => file.startsWith('v01-reasoning-details'));
const BODIES = listShared('corpus/chat-json', '.json').filter((file) => /^v0[12]-reasoning/.test(file));

describeShared('recorded reasoning details', () => {
  const replies: readonly (readonly [string, FakeAnswer])[] = [
    ...STREAMS.map((file) => [file, recordedStream(file.replace('.sse', ''))] as const),
    ...BODIES.map((file) => [file, recordedJson(file.replace('.json', ''))] as const),
  ];

  it('[V-01] are many', () => expect(replies.length).toBeGreaterThan(25));

  it.each(replies)('[V-01] [V-02] go back as they came, however the client goes on: %s', async (_file, reply) => {
    const expected = naiveMessage(String(reply.body));
    for (const way of WAYS) expect((await twoTurns(reply, way)).assistant).toEqual([expected]);
    expect(notes.filter((code) => code !== 'upstream_fields_ignored')).toEqual([]);
  });

  it.each(replies)('[V-01] [P-08] go back as they came, cut into bytes and anywhere: %s', async (_file, reply) => {
    const expected = naiveMessage(String(reply.body));
    const { length } = Buffer.from(String(reply.body));
    const anywhere = Array.from({ length: 40 }, () => Math.floor(Math.random() * length)).toSorted((a, b) => a - b);
    const splits = length < 4000 ? (['byte', anywhere] as const) : [anywhere];
    for (const split of splits) {
      const { assistant } = await twoTurns({ ...reply, split }, 'by id', { stream: true });
      expect({ assistant, anywhere }).toEqual({ assistant: [expected], anywhere });
    }
  });
});

describeShared('recorded thought signatures of Gemini', () => {
  it.each([
    ['gemini-openai-compatible-api-with-tool-calls-without-id-1'],
    ['v01-thought-signature-generativelanguage.googleapis.com-baec08c5'],
  ])('[V-01] go back on the message that they came with: %s', async (name) => {
    const reply = recordedJson(name);
    const { message } = JSON.parse(String(reply.body)).choices[0];
    for (const way of WAYS) {
      const { assistant } = await twoTurns(reply, way);
      expect(assistant).toEqual([expect.objectContaining({ role: 'assistant', extra_content: message.extra_content })]);
    }
  });
});

const call = (index: number, more: JsonObject = {}) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name: `f${index}`, arguments: '{}' },
  ...more,
});
const signature = (value: string) => ({ extra_content: { google: { thought_signature: value } } });
const called = (index: number, more: JsonObject = {}) => ({
  id: `call_${index}`,
  type: 'function',
  function: { name: `f${index}`, arguments: '{}' },
  ...more,
});

// Written after Google's documentation of its OpenAI endpoint.
describe('a thought signature of Gemini', () => {
  const parallel = [
    ['with its call', [{ tool_calls: [call(0, signature('a'))] }, { tool_calls: [call(1)] }]],
    ['with calls in one chunk', [{ tool_calls: [call(0, signature('a')), call(1)] }]],
    [
      'behind its call',
      [
        { tool_calls: [call(0)] },
        { tool_calls: [call(1)] },
        { tool_calls: [{ index: 0, function: { arguments: '' }, ...signature('a') }] },
      ],
    ],
  ] as const;

  it.each(parallel)('[V-01] goes back on its own call where it comes %s', async (_when, deltas) => {
    for (const body of [chatStream(...deltas), undefined]) {
      const calls = [call(0, signature('a')), call(1)];
      const reply = { body: body ?? chatCompletion({ tool_calls: calls }) };
      for (const way of WAYS) {
        const { assistant } = await twoTurns(reply, way);
        expect(assistant).toEqual([
          { role: 'assistant', content: null, tool_calls: [called(0, signature('a')), called(1)] },
        ]);
      }
    }
  });

  it('[V-01] goes back in one message with the words before it, each signature on its own', async () => {
    const deltas = [
      { reasoning_content: 'Hm.' },
      { content: 'Let me ' },
      { content: 'look.' },
      { tool_calls: [call(0, signature('a'))] },
      { tool_calls: [call(1, signature('b'))] },
      { content: '', ...signature('c') },
    ];
    for (const way of WAYS) {
      const { assistant } = await twoTurns({ body: chatStream(...deltas) }, way);
      expect(assistant).toEqual([
        {
          role: 'assistant',
          content: 'Let me look.',
          reasoning_content: 'Hm.',
          ...signature('c'),
          tool_calls: [called(0, signature('a')), called(1, signature('b'))],
        },
      ]);
    }
  });

  it('[V-01] is kept through rounds of tools that the server runs, and after them', async () => {
    const tools = functionTools({ f0: { parameters: {}, execute: () => 'Done.' } });
    const { url } = await start({}, { tools: [tools] });
    const one = { tool_calls: [call(0, signature('a'))] };
    const two = { tool_calls: [call(0, { id: 'call_b', ...signature('b') })] };
    fake.reply({ body: chatStream(one) }, { body: chatStream(two) }, { body: textStream('So.') });
    const { id } = await askForJson(url);
    await askForJson(url, { previous_response_id: id, input: 'And?' });
    const signed = fake.requests.map(({ body }) =>
      // The cast: a chat request has messages.
      (body as { messages: { tool_calls?: { extra_content: unknown }[] }[] }).messages.flatMap(
        ({ tool_calls: calls = [] }) => calls.map(({ extra_content }) => ({ extra_content })),
      ),
    );
    expect(signed).toEqual([[], [signature('a')], [signature('a'), signature('b')], [signature('a'), signature('b')]]);
    expect(notes.filter((code) => code !== 'upstream_fields_ignored')).toEqual([]);
  });
});

describe('the state of a Chat Completions server', () => {
  const reply = { body: chatStream({ tool_calls: [call(0, signature('a'))] }) };
  const bare = [{ role: 'assistant', content: null, tool_calls: [called(0)] }];

  it('[V-01] [P-13] goes to no other server, tenant or key, and the turn goes on without it', async () => {
    const store = memoryStore();
    const [one, otherKey] = await Promise.all(
      ['the first key of them all', 'a second key of its own'].map((secret) => start({}, { store, secret })),
    );
    const elsewhere = await start({ baseURL: `${fake.baseURL}/other` }, { store, secret: 'the first key of them all' });
    const others = await start({}, { secret: 'the first key of them all', scope: () => 'another' });
    const sameKey = await start({}, { store, secret: 'the first key of them all' });
    const from = { url: String(one?.url) };
    expect((await twoTurns(reply, 'by id', { ...from, second: sameKey.url })).assistant).not.toEqual(bare);
    expect(notes.filter((code) => code !== 'upstream_fields_ignored')).toEqual([]);
    for (const second of [String(otherKey?.url), elsewhere.url])
      expect((await twoTurns(reply, 'by id', { ...from, second })).assistant).toEqual(bare);
    expect((await twoTurns(reply, 'without storing', { ...from, second: others.url })).assistant).toEqual(bare);
    expect(notes).toEqual(['state_unreadable', 'state_unreadable', 'state_unreadable']);
  });

  it('[V-01] is not shown, and no item is there where there is none', async () => {
    const secret = 'a very secret signature';
    const { output } = await twoTurns({ body: chatStream({ tool_calls: [call(0, signature(secret))] }) }, 'by id');
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'function_call']);
    const shown = JSON.stringify(output);
    expect(shown.includes(secret) || shown.includes(Buffer.from(secret).toString('base64').slice(0, 20))).toBe(false);
    const plain = await twoTurns({ body: chatStream({ reasoning: 'Hm.' }, { tool_calls: [call(0)] }) }, 'by id');
    expect(plain.output).toEqual([
      expect.not.objectContaining({ encrypted_content: expect.anything() }),
      expect.objectContaining({ type: 'function_call' }),
    ]);
  });

  it('[V-01] counts against the limit of a response, however it comes', async () => {
    const { url } = await start({}, { limits: { model: { outputBytes: 10_000 } } });
    const entry = { type: 'reasoning.encrypted', data: 'x'.repeat(6000), index: 0 };
    const body = chatStream(
      { reasoning_details: [entry] },
      { reasoning_details: [{ ...entry, data: 'y'.repeat(6000) }] },
    );
    fake.reply({ body });
    const { response } = await askForStream(url);
    expect([response.status, response.error?.reason]).toEqual(['failed', 'output_too_large']);
  });
});

describe('the signed thoughts of Claude behind a Chat Completions server', () => {
  const thoughtIn = ({ content, summary }: JsonObject) =>
    [...recordsIn(content), ...recordsIn(summary)].map(({ text }) => text).join('');
  /** LiteLLM writes the same text into two fields. */
  const block = (thinking: string, signature = '') => ({
    reasoning_content: thinking,
    thinking_blocks: [{ type: 'thinking', thinking, signature }],
  });
  const redacted = (data: string) => ({ thinking_blocks: [{ type: 'redacted_thinking', data }] });
  const signed = (thinking: string, signature: string) => ({ type: 'thinking', thinking, signature });
  const whole = signed('I need the tool.', 'EqoB');
  const blocks: readonly (readonly [string, readonly JsonObject[], string, readonly JsonObject[]])[] = [
    [
      'in pieces, the signature in the last',
      [block('I need '), block('the tool.'), block('', 'EqoB')],
      whole.thinking,
      [whole],
    ],
    [
      'as text, and then whole with its signature',
      [
        { reasoning_content: 'I need ' },
        { reasoning_content: 'the tool.' },
        { ...block(''), thinking_blocks: [whole] },
      ],
      whole.thinking,
      [whole],
    ],
    [
      'in pieces, and then whole with its signature',
      [block('I need '), block('the tool.'), { reasoning_content: '', thinking_blocks: [whole] }],
      whole.thinking,
      [whole],
    ],
    [
      'one after another',
      [
        block('I need '),
        block('it.'),
        block('', 'a'),
        redacted('x'),
        redacted('y'),
        block('Or '),
        block('not.'),
        block('', 'b'),
      ],
      'I need it.Or not.',
      [
        signed('I need it.', 'a'),
        { type: 'redacted_thinking', data: 'x' },
        { type: 'redacted_thinking', data: 'y' },
        signed('Or not.', 'b'),
      ],
    ],
    ['as signatures alone', [block('', 'a'), block('', 'b')], '', [signed('', 'a'), signed('', 'b')]],
    ['without another field', [{ thinking_blocks: [whole] }], whole.thinking, [whole]],
  ];

  it.each(blocks)('[V-01] go back on the message as blocks that came %s', async (_how, deltas, thought, expected) => {
    const reply = { body: chatStream(...deltas, { content: 'Now.' }, { tool_calls: [call(0)] }) };
    const field = deltas.some(({ reasoning_content: text }) => text) ? { reasoning_content: thought } : {};
    for (const way of WAYS)
      for (const stream of [true, false]) {
        const { output, assistant } = await twoTurns(reply, way, { stream });
        expect(output.map((item) => (item.type === 'reasoning' ? thoughtIn(item) : item.type))).toEqual([
          thought,
          'message',
          'function_call',
        ]);
        expect(assistant).toEqual([
          { role: 'assistant', content: 'Now.', tool_calls: [called(0)], ...field, thinking_blocks: expected },
        ]);
      }
    expect(notes).toEqual([]);
  });

  it('[V-01] go back as they came in one piece', async () => {
    const list = [signed('A', 'a'), { type: 'redacted_thinking', data: 'x' }, signed('A', 'b')];
    const message = { reasoning_content: 'AA', thinking_blocks: list };
    const reply = { body: chatCompletion({ ...message, tool_calls: [call(0)] }) };
    for (const way of WAYS)
      expect((await twoTurns(reply, way)).assistant).toEqual([
        { role: 'assistant', content: null, tool_calls: [called(0)], ...message },
      ]);
    expect(notes).toEqual([]);
  });

  it('[V-01] [V-02] go back as text alone where nothing is signed, and not at all where the host wants none', async () => {
    const unsigned = { body: chatStream(block('Hm. '), block('So.'), { tool_calls: [call(0)] }) };
    const message = { role: 'assistant', content: null, tool_calls: [called(0)] };
    expect((await twoTurns(unsigned, 'by id')).assistant).toEqual([{ ...message, reasoning_content: 'Hm. So.' }]);
    const { url } = await start({ reasoningReplay: false });
    const reply = { body: chatStream(block('Hm.'), block('', 'a'), { tool_calls: [call(0)] }) };
    expect((await twoTurns(reply, 'by id', { url })).assistant).toEqual([message]);
  });

  const part = (...summary: readonly JsonObject[]) => ({ type: 'reasoning', summary });
  const summary = (text: string, signature?: string) => ({
    type: 'summary_text',
    text,
    ...(signature ? { signature } : {}),
  });
  const encrypted = (data: string) => part({ type: 'summary_encrypted_text', data });
  const text = { type: 'text', text: 'Let me look.' };
  const parts: readonly (readonly [string, readonly JsonObject[], string, readonly JsonObject[]])[] = [
    [
      'in pieces',
      [part(summary('I need ')), part(summary('the tool.')), part(summary('', 'EqoB'))],
      'I need the tool.',
      [part(summary('I need the tool.', 'EqoB'))],
    ],
    [
      'whole',
      [part(summary('Hm.', 'a')), part(summary('So.', 'b'))],
      'Hm.So.',
      [part(summary('Hm.', 'a')), part(summary('So.', 'b'))],
    ],
    [
      'with several summaries',
      [part(summary('Hm.', 'a'), summary('So.', 'b'))],
      'Hm.So.',
      [part(summary('Hm.', 'a'), summary('So.', 'b'))],
    ],
    ['encrypted', [encrypted('x'), encrypted('y')], '', [encrypted('x'), encrypted('y')]],
    [
      'as signatures alone',
      [part(summary('', 'a')), part(summary('', 'b'))],
      '',
      [part(summary('', 'a')), part(summary('', 'b'))],
    ],
  ];

  it.each(parts)(
    '[V-01] [V-02] go back as parts of the content that came %s',
    async (_how, pieces, thought, expected) => {
      const { url } = await start({ provider: 'databricks' });
      const streamed = chatStream(...[...pieces, text].map((each) => ({ content: [each] })), { tool_calls: [call(0)] });
      const replies: FakeAnswer[] = [{ body: streamed }];
      // Pieces are of streams alone.
      if (expected.length === pieces.length)
        replies.push({
          body: chatCompletion({ content: [...pieces, text], tool_calls: [call(0)] }),
        });
      for (const reply of replies)
        for (const way of WAYS) {
          const { output, assistant } = await twoTurns(reply, way, { url });
          expect(output.map((item) => (item.type === 'reasoning' ? thoughtIn(item) : item.type))).toEqual([
            thought,
            'message',
            'function_call',
          ]);
          expect(assistant).toEqual([{ role: 'assistant', content: [...expected, text], tool_calls: [called(0)] }]);
        }
      expect(notes).toEqual([]);
    },
  );

  it('[V-01] [V-02] go back in front of text that came as such', async () => {
    const { url } = await start({ provider: 'databricks' });
    const deltas = [{ content: [part(summary('Hm.', 'a'))] }, { content: 'Let me' }, { content: ' look.' }];
    const { assistant } = await twoTurns({ body: chatStream(...deltas, { tool_calls: [call(0)] }) }, 'by id', { url });
    expect(assistant).toEqual([
      { role: 'assistant', content: [part(summary('Hm.', 'a')), text], tool_calls: [called(0)] },
    ]);
  });

  it('[V-02] stay away from Databricks where they are not signed', async () => {
    const { url } = await start({ provider: 'databricks' });
    const reply = { body: chatStream({ content: [part(summary('Hm.'))] }, { tool_calls: [call(0)] }) };
    const { output, assistant } = await twoTurns(reply, 'by id', { url });
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'function_call']);
    expect(assistant).toEqual([{ role: 'assistant', content: null, tool_calls: [called(0)] }]);
  });

  it('[V-01] are kept through rounds of tools that the server runs, and after them', async () => {
    const tools = functionTools({ f0: { parameters: {}, execute: () => 'Done.' } });
    const { url } = await start({}, { tools: [tools] });
    fake.reply(
      { body: chatStream(block('Hm.'), block('', 'a'), { tool_calls: [call(0)] }) },
      { body: chatStream({ content: [part(summary('So.', 'b'))] }, { tool_calls: [call(0, { id: 'call_b' })] }) },
      { body: textStream('So.') },
    );
    const { id } = await askForJson(url);
    await askForJson(url, { previous_response_id: id, input: 'And?' });
    const expected = [
      { content: null, reasoning_content: 'Hm.', thinking_blocks: [signed('Hm.', 'a')] },
      { content: [part(summary('So.', 'b'))] },
      { content: 'So.' },
    ];
    const sent = fake.requests.map(({ body }) =>
      // The cast: a chat request has messages.
      (body as { messages: JsonObject[] }).messages
        .filter(({ role }) => role === 'assistant')
        .map(({ role: _, tool_calls: __, ...rest }) => rest),
    );
    expect(sent).toEqual([[], expected.slice(0, 1), expected.slice(0, 2), expected]);
  });
});

describe('reasoning that goes back with its calls', () => {
  const thought = 'I must look.';
  const text = { type: 'text', text: 'Now.' };
  const spelled: readonly (readonly [string, readonly JsonObject[], JsonObject])[] = [
    ['reasoning_content', [{ reasoning_content: thought }], { reasoning_content: thought, content: null }],
    ['reasoning', [{ reasoning: thought }], { reasoning: thought, content: null }],
    ['reasoning_text', [{ reasoning_text: thought }], { reasoning_text: thought, content: null }],
    [
      'reasoning_details',
      [{ reasoning_details: [{ type: 'reasoning.text', text: thought, index: 0 }] }],
      { reasoning_details: [{ type: 'reasoning.text', text: thought }], content: null },
    ],
    [
      'thinking parts',
      [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }] }, { content: [text] }],
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }, text] },
    ],
    ['think tags', [{ content: `<think>${thought}</think>Now.` }], { content: `<think>${thought}</think>Now.` }],
  ];

  it.each(spelled)('[V-02] goes back as it came: %s', async (_name, deltas, expected) => {
    const reply = { body: chatStream(...deltas, { tool_calls: [call(0)] }) };
    for (const way of WAYS)
      expect((await twoTurns(reply, way)).assistant).toEqual([
        { role: 'assistant', tool_calls: [called(0)], ...expected },
      ]);
  });

  it('[V-02] goes back as the provider has it where this process has not seen the model yet', async () => {
    const reply = { body: chatStream({ reasoning_content: thought }, { tool_calls: [call(0)] }) };
    const store = memoryStore();
    const first = await start({}, { store });
    const of = async (options: JsonObject) => {
      const second = await start(options, { store });
      const { assistant } = await twoTurns(reply, 'by id', { url: first.url, second: second.url });
      const { role: _, tool_calls: __, ...written } = assistant[0] ?? {};
      return written;
    };
    expect([
      await of({}),
      await of({ provider: 'groq' }),
      await of({ provider: 'mistral' }),
      await of({ provider: 'gemini' }),
      await of({ provider: 'gemini', reasoningReplay: true }),
      await of({ provider: 'groq', reasoningReplay: false }),
      await of({ provider: 'groq', reasoningReplay: 'auto' }),
    ]).toEqual([
      { content: null, reasoning_content: thought },
      { content: null, reasoning: thought },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }] },
      { content: null },
      { content: null, reasoning_content: thought },
      { content: null },
      { content: null, reasoning: thought },
    ]);
  });
});
