/** Conversations of items as chat messages: what the model sees of them. */

import fc from 'fast-check';
import { type MessageOptions, toChatMessages } from '../../../src/protocol/chat-completions/messages.ts';
import { outputItemId } from '../../../src/protocol/ids.ts';
import type { Item } from '../../../src/protocol/items.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';

const OPTIONS: MessageOptions = { systemMessages: 'keep', developerRole: 'system', reasoningReplay: true };

const SEED = '0123456789abcdef'.repeat(2);

function messages(items: readonly Item[], options: Partial<MessageOptions> = {}, instructions?: string): unknown {
  const request = { model: 'm', tools: [], items, ...(instructions === undefined ? {} : { instructions }) };
  return toChatMessages(request, { ...OPTIONS, ...options }, () => {});
}

function skippedOf(items: readonly Item[]): readonly string[] {
  const skipped: string[] = [];
  toChatMessages({ model: 'm', tools: [], items }, OPTIONS, ({ type }) => skipped.push(type));
  return skipped;
}

function message(role: string, content: unknown): Item {
  return { type: 'message', role, content };
}

function call(id: string, text = '{}'): Item {
  return { type: 'function_call', call_id: id, name: 'f', arguments: text };
}

function output(id: string, value: unknown = `out ${id}`): Item {
  return { type: 'function_call_output', call_id: id, output: value };
}

function chatCall(id: string, text = '{}', name = 'f'): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } };
}

function calling(...calls: readonly JsonObject[]): JsonObject {
  return { role: 'assistant', content: null, tool_calls: calls };
}

function tool(id: string, content = `out ${id}`): JsonObject {
  return { role: 'tool', tool_call_id: id, content };
}

const HELLO = message('user', [{ type: 'input_text', text: 'Hello' }]);
const WRITTEN_HELLO = { role: 'user', content: 'Hello' };

describe('toChatMessages', () => {
  it('[S-03] [P-07] puts instructions first, as a system message', () => {
    expect(messages([HELLO], {}, 'Be kind.')).toEqual([{ role: 'system', content: 'Be kind.' }, WRITTEN_HELLO]);
  });

  it('[S-03] writes text alone as a string, its parts as lines', () => {
    const parts = [
      { type: 'input_text', text: 'a' },
      { type: 'text', text: 'b' },
    ];
    expect(messages([message('user', parts), message('user', 'c'), message('user', [])])).toEqual([
      { role: 'user', content: 'a\nb' },
      { role: 'user', content: 'c' },
      { role: 'user', content: '' },
    ]);
  });

  it('[S-09] [S-03] writes the assistant’s texts, refusals too, and nothing where it wrote nothing', () => {
    const written = [
      { type: 'output_text', text: 'Well, ' },
      { type: 'refusal', refusal: 'no.' },
    ];
    expect(messages([message('assistant', written), message('assistant', []), message('assistant', 'Yes.')])).toEqual([
      { role: 'assistant', content: 'Well, no.' },
      { role: 'assistant', content: 'Yes.' },
    ]);
  });

  it.each<readonly [string, readonly Item[], unknown]>([
    [
      'merges consecutive calls',
      [call('1'), call('2'), output('1'), output('2')],
      [calling(chatCall('1'), chatCall('2')), tool('1'), tool('2')],
    ],
    [
      'orders outputs by their calls',
      [call('1'), call('2'), output('2'), output('1')],
      [calling(chatCall('1'), chatCall('2')), tool('1'), tool('2')],
    ],
    [
      'keeps the calls of two steps apart',
      [call('1'), output('1'), call('2'), output('2')],
      [calling(chatCall('1')), tool('1'), calling(chatCall('2')), tool('2')],
    ],
    [
      'brings an output forward to its call',
      [call('1'), HELLO, output('1')],
      [calling(chatCall('1')), tool('1'), WRITTEN_HELLO],
    ],
    [
      'keeps words between two calls',
      [call('1'), message('assistant', 'And'), call('2'), output('1'), output('2')],
      [
        calling(chatCall('1')),
        tool('1'),
        { role: 'assistant', content: 'And', tool_calls: [chatCall('2')] },
        tool('2'),
      ],
    ],
    [
      'keeps two messages of the assistant apart',
      [message('assistant', 'One'), message('assistant', 'Two'), call('1'), output('1')],
      [
        { role: 'assistant', content: 'One' },
        { role: 'assistant', content: 'Two', tool_calls: [chatCall('1')] },
        tool('1'),
      ],
    ],
    [
      'takes an id that comes back in a later turn for another call',
      [call('1'), output('1', 'first'), HELLO, call('1'), output('1', 'second')],
      [calling(chatCall('1')), tool('1', 'first'), WRITTEN_HELLO, calling(chatCall('1')), tool('1', 'second')],
    ],
    [
      'writes no arguments as an empty object',
      [call('1', ''), call('2', ' '), output('1'), output('2')],
      [calling(chatCall('1'), chatCall('2')), tool('1'), tool('2')],
    ],
    [
      'makes up the call that a named output answers',
      [{ ...output('1'), name: 'f' }],
      [calling(chatCall('1')), tool('1')],
    ],
    [
      'keeps one of two outputs',
      [call('1'), output('1', 'first'), output('1', 'second')],
      [calling(chatCall('1')), tool('1', 'first')],
    ],
  ])('[P-06] [A-11] [A-12] [A-24] %s', (_, items, expected) => {
    expect(messages(items)).toEqual(expected);
  });

  it('[P-06] keeps what an answer has after its calls in the message that made them, before their results', () => {
    const id = (prefix: string, index: number, round = 0) => outputItemId(prefix, SEED, index, round);
    const written = [
      { ...message('assistant', 'Let me look. '), id: id('msg', 0) },
      { ...call('1'), id: id('fc', 1) },
      { ...message('assistant', 'And there. '), id: id('msg', 2) },
      { ...call('2'), id: id('fc', 3) },
      ...[output('1'), output('2')],
      { ...message('assistant', 'Done.'), id: id('msg', 6, 1) },
    ];
    expect(messages([HELLO, ...written])).toEqual([
      WRITTEN_HELLO,
      { role: 'assistant', content: 'Let me look. And there. ', tool_calls: [chatCall('1'), chatCall('2')] },
      ...[tool('1'), tool('2')],
      { role: 'assistant', content: 'Done.' },
    ]);
  });

  it('[P-06] throws for a call without an output and for an output without a call, naming it', () => {
    expect(() => messages([call('x')])).toThrow('No tool output found for function call x.');
    expect(() => messages([output('y')])).toThrow('No tool call found for function call output with call_id y.');
    // An answer stands behind its question.
    expect(() => messages([output('z'), call('z')])).toThrow(
      'No tool call found for function call output with call_id z.',
    );
  });

  it('[P-06] answers every call right behind the message that makes it, whatever stands between', () => {
    fc.assert(
      fc.property(conversations, (items) => {
        expectAnsweredInPlace(messages(items) as readonly JsonObject[], items);
      }),
    );
  });

  it('[D-17] [S-06] writes custom and hosted calls as calls', () => {
    const items: readonly Item[] = [
      { type: 'custom_tool_call', call_id: '1', name: 'patch', input: 'a "b"' },
      { type: 'custom_tool_call_output', call_id: '1', output: 'ok' },
      { type: 'mcp_call', id: '2', name: 'echo', arguments: '{"a":1}', output: 'a' },
      { type: 'mcp_call', id: '3', name: 'echo', arguments: '', error: { type: 'http_error', code: 500 } },
      { type: 'mcp_call', id: '4', name: 'echo', arguments: '{}', error: null },
      { type: 'code_interpreter_call', id: '5', code: 'x', outputs: [{ type: 'logs', logs: '7' }, { type: 'image' }] },
      { type: 'code_interpreter_call', id: '6', code: 'y', outputs: null },
    ];
    expect(messages(items)).toEqual([
      calling(chatCall('1', '{"input":"a \\"b\\""}', 'patch')),
      tool('1', 'ok'),
      calling(
        chatCall('2', '{"a":1}', 'echo'),
        chatCall('3', '{}', 'echo'),
        chatCall('4', '{}', 'echo'),
        chatCall('5', '{"code":"x"}', 'code_interpreter'),
        chatCall('6', '{"code":"y"}', 'code_interpreter'),
      ),
      tool('2', 'a'),
      tool('3', '{"type":"http_error","code":500}'),
      tool('4', '(no output was recorded)'),
      tool('5', '7\n[image]'),
      tool('6', '(no output was recorded)'),
    ]);
  });

  it('[S-04] writes the parts of an output as text, and lifts what is not text', () => {
    const parts = [
      { type: 'input_text', text: 'a' },
      { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'high' },
      { type: 'output_text', text: 'b' },
      { type: 'input_file', filename: 'c.txt', file_data: 'data:text/plain;base64,Yw==' },
    ];
    expect(messages([call('1'), output('1', parts), HELLO])).toEqual([
      calling(chatCall('1')),
      tool('1', 'a\nb'),
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'high' } },
          { type: 'file', file: { filename: 'c.txt', file_data: 'data:text/plain;base64,Yw==' } },
        ],
      },
      WRITTEN_HELLO,
    ]);
  });

  describe('reasoning', () => {
    const summary: Item = { type: 'reasoning', summary: [{ text: 'a' }, { text: 'b' }] };
    const raw: Item = { type: 'reasoning', summary: [{ text: 's' }], content: [{ text: 'r' }] };

    it('[S-08] goes with the calls that it led to, the raw form before the summary', () => {
      const items = [summary, call('1'), output('1'), raw, message('assistant', 'So:'), call('2'), output('2')];
      expect(messages(items)).toEqual([
        { ...calling(chatCall('1')), reasoning_content: 'ab' },
        tool('1'),
        { role: 'assistant', content: 'So:', reasoning_content: 'r', tool_calls: [chatCall('2')] },
        tool('2'),
      ]);
    });

    it('[S-08] is left out where it led to words alone, and where the upstream does not want it', () => {
      const items = [summary, message('assistant', 'So.'), raw, call('1'), output('1')];
      const words = { role: 'assistant', content: 'So.' };
      expect([messages(items), messages(items, { reasoningReplay: false })]).toEqual([
        [words, { ...calling(chatCall('1')), reasoning_content: 'r' }, tool('1')],
        [words, calling(chatCall('1')), tool('1')],
      ]);
    });
  });

  describe('system messages', () => {
    const items = [message('developer', 'One'), HELLO, message('system', [{ type: 'input_text', text: 'Two' }])];

    it('[P-07] merge at the front, with the instructions first and nothing dropped', () => {
      expect(messages(items, { systemMessages: 'merge' }, 'Zero')).toEqual([
        { role: 'system', content: 'Zero\n\nOne\n\nTwo' },
        WRITTEN_HELLO,
      ]);
    });

    it('[P-07] merge to nothing where there are none', () => {
      expect(messages([HELLO], { systemMessages: 'merge' })).toEqual([WRITTEN_HELLO]);
    });

    it('[P-07] keep or rename the developer', () => {
      const roles = (developerRole: 'keep' | 'system') =>
        (messages(items, { developerRole }) as readonly JsonObject[]).map(({ role }) => role);
      expect([roles('keep'), roles('system')]).toEqual([
        ['developer', 'user', 'system'],
        ['system', 'user', 'system'],
      ]);
    });
  });

  it('[S-03] notes items that have no place in a chat', () => {
    const items: readonly Item[] = [
      HELLO,
      { type: 'web_search_call', id: 'ws_1' },
      { type: 'mcp_list_tools', id: 'mcpl_1' },
      { type: 'acme:thing' },
      { type: 'compaction', encrypted_content: 'xyz' },
    ];
    expect([messages(items), skippedOf(items)]).toEqual([
      [WRITTEN_HELLO],
      ['web_search_call', 'acme:thing', 'compaction'],
    ]);
  });
});

/** Calls of unique ids, each answered somewhere behind it, with messages anywhere. */
const conversations: fc.Arbitrary<readonly Item[]> = fc
  .array(fc.record({ kind: fc.constantFrom('call', 'user', 'assistant', 'reasoning'), late: fc.nat(4) }), {
    maxLength: 10,
  })
  .map((plan) => {
    const placed = plan.flatMap(({ kind, late }, index): readonly (readonly [number, Item])[] => {
      if (kind === 'call')
        return [
          [index, call(`c${index}`)],
          [index + late + 0.5, output(`c${index}`)],
        ];
      if (kind === 'reasoning') return [[index, { type: 'reasoning', summary: [{ text: 'Hm' }] }]];
      return [[index, message(kind, `${kind} ${index}`)]];
    });
    return placed.toSorted(([one], [other]) => one - other).map(([, item]) => item);
  });

function expectAnsweredInPlace(sent: readonly JsonObject[], items: readonly Item[]): void {
  const calls = sent.flatMap(({ tool_calls: made }) => (made ?? []) as readonly { id: string }[]);
  const answers = sent.filter(({ role }) => role === 'tool');
  const inPlace = sent.flatMap(({ tool_calls: made }, index) =>
    ((made ?? []) as readonly { id: string }[]).map(({ id }, offset) => [id, sent[index + 1 + offset]?.tool_call_id]),
  );
  const made = items.filter(({ type }) => type === 'function_call').map((item) => item.call_id);
  const words = items.filter(({ type }) => type === 'message').map(({ content }) => content);
  expect({
    calls: calls.map(({ id }) => id),
    answers: answers.length,
    inPlace,
    words: sent.filter(({ role, content }) => role !== 'tool' && content !== null).map(({ content }) => content),
  }).toEqual({ calls: made, answers: made.length, inPlace: made.map((id) => [id, id]), words });
}
