/** JSON inside texts: in answers, arguments and results of tools, in JSON in JSON, and torn anywhere. */
import fc from 'fast-check';
import type { Guard } from '../../../src/index.ts';
import { functionTools } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { chatCompletion, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { askJson, startChatApp } from '../../apis/chat-completions/chat-app.ts';
import { startSocketApp } from '../../hosts/websocket/support.ts';
import { askForJson } from '../../support/responses-client.ts';
import { guardedInPieces, inPieces, requestGuards } from './support.ts';

const nested = (value: unknown, levels: number): string =>
  levels === 0 ? JSON.stringify(value) : nested({ inner: JSON.stringify(value) }, levels - 1);

/** The value in JSON in JSON. */
const unwrapped = (text: string, levels: number): unknown => {
  let value: unknown = JSON.parse(text);
  for (let level = 0; level < levels; level += 1) value = JSON.parse((value as { inner: string }).inner);
  return value;
};

const VALUE = {
  lines: 'x\nbob@example.com\n+49 30 901820\tbob@example.com',
  quoted: '"bob@example.com" \\ bob@example.com',
  'bob@example.com': [4111111111111111, -4111111111111111, 12, null, true],
  key: 'a\tsk-proj-abcDEF123456ghiJKL\r\n',
};
const SAFE = {
  lines: 'x\n[EMAIL]\n[PHONE]\t[EMAIL]',
  quoted: '"[EMAIL]" \\ [EMAIL]',
  '[EMAIL]': ['[CARD]', '-[CARD]', 12, null, true],
  key: 'a\t[KEY]\r\n',
};

describe.each([0, 1, 2, 4])('JSON in %d levels of JSON', (levels) => {
  const text = nested(VALUE, levels);

  it.each([1, 2, 5, 17, 100_000])(
    '[G-03] is read as JSON and stays JSON in an answer in pieces of %d',
    async (size) => {
      expect(unwrapped(await guardedInPieces(pii(), text, [size]), levels)).toEqual(SAFE);
    },
  );

  it('[G-03] is read as JSON and stays JSON in a request, at a tool, and in what a model receives', async () => {
    const { guards } = requestGuards({ input: [pii()], tools: [pii()] });
    for (const shown of [await guards.input(text, 'x'), await guards.tool(text, 'tool-result', 'x')])
      expect(unwrapped(shown, levels)).toEqual(SAFE);
    const restoring = requestGuards({ input: [pii({ restore: true })] }).guards;
    const sent = await restoring.forModel(text, 'x');
    expect(sent).not.toMatch(/bob@|4111|901820|sk-proj/);
    // Numbers come back as text.
    expect(unwrapped(await restoring.restored(sent), levels)).toEqual({
      ...VALUE,
      'bob@example.com': ['4111111111111111', '-4111111111111111', 12, null, true],
    });
  });

  it('[G-03] stays JSON for a guard with windows, and for one that writes the text again', async () => {
    const found: Guard = {
      name: 'found',
      inspect: ({ text: seen }) => ({
        action: 'replace',
        findings: [...seen.matchAll(/bob@example\.com/g)].map(({ index }) => ({
          start: index,
          end: index + 'bob@example.com'.length,
          rule: 'BOB',
          text: '"\n\\',
        })),
      }),
    };
    const written: Guard = {
      name: 'written',
      inspect: ({ text: seen }) => ({ action: 'replace', text: seen.replaceAll('bob@example.com', '"\n\\') }),
    };
    const safe = JSON.parse(JSON.stringify(VALUE).replaceAll('bob@example.com', '\\"\\n\\\\'));
    for (const guard of [found, written]) {
      for (const size of [7, 100_000])
        expect(unwrapped(await guardedInPieces(guard, text, [size]), levels)).toEqual(safe);
      const { guards } = requestGuards({ input: [guard] });
      expect(unwrapped(await guards.input(text, 'x'), levels)).toEqual(safe);
    }
  });
});

it.each([
  [
    'escapes of every character',
    '{"a":"\\u0062\\u006f\\u0062\\u0040example.com","b":"\\u002B49 30 901820"}',
    { a: '[EMAIL]', b: '[PHONE]' },
  ],
  ['a name twice', '{"a":"bob@example.com","a":"x"}', { a: 'x' }],
  ['depth', `${'['.repeat(300)}"bob@example.com"${']'.repeat(300)}`, undefined],
  ['blanks', '\n {\n "a" :\t"bob@example.com" , "n" : 4111111111111111 }\n', { a: '[EMAIL]', n: '[CARD]' }],
  ['a number with a fraction', '{"n":4111111111111111.5e3}', undefined],
  ['a text as JSON', '"\\nbob\\u0040example.com\\n"', undefined],
])('[G-03] %s is read as JSON in every direction', async (_, text, value) => {
  const { guards } = requestGuards({ input: [pii()], output: [pii()], tools: [pii()] });
  const shown = [
    await guards.input(text, 'x'),
    await guards.output(text, 'x'),
    await guards.tool(text, 'tool-arguments', 'x'),
    ...(await Promise.all([1, 3].map((size) => guardedInPieces(pii(), text, [size])))),
  ];
  for (const each of shown) {
    const parsed = JSON.parse(each);
    expect(JSON.stringify(parsed)).not.toMatch(/bob|@example|4111|901820/);
    expect(each).not.toMatch(/bob@/);
    if (value) expect(parsed).toEqual(value);
  }
});

it.each([
  ['in a fence', (json: string) => `Here it is:\n\`\`\`json\n${json}\n\`\`\`\nDone, bob@example.com.`],
  ['in lines', (json: string) => `${json}\n${json}\n`],
  ['in events', (json: string) => `data: ${json}\n\ndata: [DONE]\n\n`],
  ['behind brackets that are none', (json: string) => `[x](y) {z} [1: ${json} and {"a": bob@example.com`],
])('[G-03] JSON %s is read as JSON', async (_, write) => {
  const text = write(JSON.stringify(VALUE));
  for (const shown of [
    await requestGuards({ tools: [pii()] }).guards.tool(text, 'tool-result', 'x'),
    ...(await Promise.all([1, 4, 1000].map((size) => guardedInPieces(pii(), text, [size])))),
  ]) {
    expect(shown).not.toMatch(/bob@|4111|901820|sk-proj/);
    expect(shown).toContain(JSON.stringify(SAFE));
  }
});

it.each([
  ['source code', 'print("x\\nbob@example.com\\t\\u002B49 30 901820")'],
  ['source code in source code', 'print("x\\\\nbob\\\\u0040example.com")'],
  ['half of JSON', '{"a":"x\\nbob@example.com'],
  ['JSON with a comment', '{"a":"x\\nbob@example.com", // note\n "b":"\\u002B49 30 901820"}'],
  ['a path', 'C:\\bob@example.com and \\rk_live_abcDEF123456ghiJKL7890'],
])('[G-03] escapes are boundaries in %s', async (_, text) => {
  const { guards } = requestGuards({ input: [pii()] });
  const shown = [
    await guards.input(text, 'x'),
    ...(await Promise.all([1, 3, 99].map((size) => guardedInPieces(pii(), text, [size])))),
  ];
  for (const each of shown) expect(each).not.toMatch(/ob@ex|u0040example|30 901820|live_abc/);
});

it('[G-03] deeper JSON than guards read does not pass, unless a guard only reports', async () => {
  const text = nested({ mail: 'bob@example.com' }, 9);
  for (const guard of [pii(), { name: 'w', inspect: () => ({ action: 'pass' }) } satisfies Guard]) {
    const { guards, reports } = requestGuards({ input: [guard], output: [guard], tools: [guard] });
    await expect(guards.input(text, 'x')).rejects.toMatchObject({ name: 'GuardBlocked' });
    await expect(guards.output(text, 'x')).rejects.toMatchObject({ name: 'GuardBlocked' });
    await expect(guards.tool(text, 'tool-result', 'x')).rejects.toMatchObject({ name: 'GuardBlocked' });
    expect(reports.map(({ rule, action }) => [rule, action])).toEqual([
      ['NESTED', 'blocked'],
      ['NESTED', 'blocked'],
      ['NESTED', 'blocked'],
    ]);
  }
  const watching = requestGuards({ output: [pii({ mode: 'monitor' })] }).guards;
  expect(await watching.output(text, 'x')).toBe(text);
});

it('[G-03] JSON that is guarded stays JSON, and only the values in it change', async () => {
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' });
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1 }), sizes, fc.boolean(), async (list, pieces, isDeep) => {
      const whole = isDeep ? [JSON.stringify(list), 'bob@example.com'] : [...list, 'bob@example.com'];
      const shown = await guardedInPieces(pii(), JSON.stringify(whole), pieces);
      expect((JSON.parse(shown) as unknown[]).at(-1)).toBe('[EMAIL]');
      expect(inPieces(shown, [5]).join('')).toBe(
        await requestGuards({ input: [pii()] }).guards.input(JSON.stringify(whole), 'x'),
      );
    }),
    { numRuns: 500 },
  );
});

describe('the result of a tool', () => {
  const result = JSON.stringify(VALUE);
  const tools = () => functionTools({ look: { parameters: { type: 'object' }, execute: () => VALUE } });
  const call = toolCallStream([{ id: 'c', name: 'look', arguments: '{}' }]);

  it('[G-03] that is JSON reaches the model and the client of the Responses API as JSON', async () => {
    const app = await startSocketApp({ tools: tools(), guards: { tools: [pii()] } });
    app.fake.reply({ body: call }, { body: textStream('Done.') });
    const { output } = await askForJson(app.url);
    const asked = app.fake.requests.at(-1)?.body as { readonly messages: readonly { readonly content: string }[] };
    await app.close();
    const items = output as unknown as readonly { readonly type: string; readonly output: string }[];
    const shown = items.find(({ type }) => type === 'mcp_call');
    expect([JSON.parse(shown?.output ?? ''), JSON.parse(asked.messages.at(-1)?.content ?? '')]).toEqual([SAFE, SAFE]);
  });

  it('[G-03] that a client sends is guarded as JSON in the Chat Completions API', async () => {
    const app = await startChatApp({ guards: { input: [pii()] } });
    app.fake.reply({ body: chatCompletion('Done.') });
    const used = { id: 'c', type: 'function', function: { name: 'look', arguments: result } };
    const messages = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: null, tool_calls: [used] },
      { role: 'tool', tool_call_id: 'c', content: result },
    ];
    await askJson(app.url, { messages });
    const asked = app.fake.requests.at(-1)?.body as {
      readonly messages: readonly { readonly content: string; readonly tool_calls: readonly [typeof used] }[];
    };
    await app.close();
    expect([
      JSON.parse(asked.messages[2]?.content ?? ''),
      JSON.parse(asked.messages[1]?.tool_calls[0].function.arguments ?? ''),
    ]).toEqual([SAFE, SAFE]);
  });
});
