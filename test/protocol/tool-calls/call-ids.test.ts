/** Ids of calls in the form of each server, and outputs of calls that share an id. */

import fc from 'fast-check';
import { repairInput } from '../../../src/apis/responses/repair.ts';
import { toChatMessages } from '../../../src/protocol/chat-completions/messages.ts';
import type { Item } from '../../../src/protocol/items.ts';
import { pairCalls } from '../../../src/protocol/tool-calls/conversation/pair-calls.ts';
import {
  CALL_ID_FORMS,
  type CallIdForm,
  callIds,
  decodeCallId,
  encodeCallId,
} from '../../../src/protocol/tool-calls/names/call-ids.ts';
import { toConversation } from '../../../src/upstreams/anthropic/messages.ts';
import { toInput } from '../../../src/upstreams/responses-input/input.ts';

const PATTERNS: Readonly<Record<CallIdForm, RegExp>> = {
  any: /^.*$/s,
  short: /^.{0,40}$/s,
  long: /^.{0,64}$/s,
  word: /^[\w-]+$/,
  mistral: /^[a-zA-Z0-9]{9}$/,
};
const ids = fc.array(
  fc.oneof(fc.string(), fc.constantFrom('call_0', 'call_0_2', 'functions.look:0', 'x'.repeat(70), 'abcdefghi')),
  {
    maxLength: 12,
  },
);

describe.each(CALL_ID_FORMS)('ids of calls: %s', (form) => {
  it('[V-21] fit, are there once, and are the same for the same conversation and its beginning', () => {
    fc.assert(
      fc.property(ids, (given) => {
        const sent = given.map(callIds(form));
        expect(sent.filter((id) => !PATTERNS[form].test(id))).toEqual([]);
        expect(new Set(sent).size).toBe(sent.length);
        expect(given.slice(0, 5).map(callIds(form))).toEqual(sent.slice(0, 5));
      }),
    );
  });

  it('[V-21] stay as they are where they fit', () => {
    expect(['abcdefghi', 'ABCDEFG12'].map(callIds(form))).toEqual(['abcdefghi', 'ABCDEFG12']);
  });
});

describe('ids for clients of Anthropic', () => {
  it('[V-40] [V-21] are words, and stand for the ids of the model server', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'grapheme', minLength: 1 }),
          fc.constantFrom('functions.look:0', 'toolu_b64_eA', 'call_1'),
        ),
        (id) => {
          expect(encodeCallId(id)).toMatch(/^[\w-]+$/);
          expect(decodeCallId(encodeCallId(id))).toBe(id);
        },
      ),
    );
    expect([encodeCallId('call_1'), decodeCallId('call_1'), decodeCallId(undefined)]).toEqual([
      'call_1',
      'call_1',
      undefined,
    ]);
  });
});

const user = (text: string) => ({ type: 'message', role: 'user', content: text }) as unknown as Item;
const call = (id: string, name: string, more = {}) =>
  ({ type: 'function_call', call_id: id, name, arguments: '{}', ...more }) as unknown as Item;
const output = (id: string, text: string) =>
  ({ type: 'function_call_output', call_id: id, output: text }) as unknown as Item;

/** The outputs by the names of their calls. */
function answers(items: readonly Item[]): readonly (readonly [unknown, unknown])[] {
  const { items: paired, outputs } = pairCalls(items);
  return paired.flatMap((item) => (outputs.has(item) ? [[item.name, outputs.get(item)?.output] as const] : []));
}

describe('outputs of calls that share an id', () => {
  const conversation = [
    user('both'),
    call('call_0', 'weather'),
    call('call_0', 'delete'),
    output('call_0', 'Sunny.'),
    output('call_0', 'Deleted.'),
    user('again'),
    call('call_0', 'list'),
    output('call_0', 'Nothing.'),
  ];

  it('[V-20] belong to their calls, in order', () => {
    expect(answers(conversation)).toEqual([
      ['weather', 'Sunny.'],
      ['delete', 'Deleted.'],
      ['list', 'Nothing.'],
    ]);
    expect(repairInput(conversation)).toMatchObject({ list: conversation, repairs: [] });
  });

  it('[V-20] belong to the newest round, where a call of an older one was cut off', () => {
    const items = [
      call('a', 'old', { status: 'incomplete' }),
      user('again'),
      call('a', 'one'),
      call('a', 'two'),
      output('a', '1'),
      output('a', '2'),
    ];
    expect(answers(items)).toEqual([
      ['one', '1'],
      ['two', '2'],
    ]);
  });

  it('[V-20] are filled in for the call that lacks its own', () => {
    const items = [call('a', 'one'), call('a', 'two'), output('a', '1')];
    const { list } = repairInput(items);
    expect(answers(list as readonly Item[])).toEqual([
      ['one', '1'],
      ['two', '(no output was recorded)'],
    ]);
  });

  it('[V-20] are sent to every kind of server under ids that are there once', () => {
    const request = { model: 'm', items: conversation, tools: [] };
    const options = {
      systemMessages: 'keep',
      developerRole: 'system',
      reasoningReplay: false,
      callIds: 'any',
    } as const;
    const chat = toChatMessages(request, options, () => {}) as readonly {
      tool_calls?: readonly { id: string }[];
      tool_call_id?: string;
      content: unknown;
    }[];
    const called = chat.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
    expect(called).toEqual(['call_0', 'call_0_2', 'call_0_3']);
    expect(
      chat.filter((message) => message.tool_call_id).map((message) => [message.tool_call_id, message.content]),
    ).toEqual([
      ['call_0', 'Sunny.'],
      ['call_0_2', 'Deleted.'],
      ['call_0_3', 'Nothing.'],
    ]);
    const input = toInput(request, () => {});
    expect(
      input.filter(({ type }) => type !== 'message').map(({ type, call_id: id, output: text }) => [type, id, text]),
    ).toEqual([
      ['function_call', 'call_0', undefined],
      ['function_call', 'call_0_2', undefined],
      ['function_call_output', 'call_0', 'Sunny.'],
      ['function_call_output', 'call_0_2', 'Deleted.'],
      ['function_call', 'call_0_3', undefined],
      ['function_call_output', 'call_0_3', 'Nothing.'],
    ]);
    const { messages } = toConversation(request, () => {});
    const results = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'));
    expect(results.map(({ tool_use_id: id }) => id)).toEqual(['call_0', 'call_0_2', 'call_0_3']);
  });

  it('[V-20] take no more work than there are calls', () => {
    const many = Array.from({ length: 20_000 }, (_, at) => call('a', String(at)));
    const items = [...many, ...many.map((_, at) => output('a', String(at)))];
    expect(answers(items).every(([name, text]) => name === text)).toBe(true);
  });
});
