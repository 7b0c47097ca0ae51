/** That chat messages and items say the same, each in its own words. */

import fc from 'fast-check';
import { isMessageList, itemMessages, messageItems } from '../../../src/apis/chat-completions/request/items.ts';
import type { Item } from '../../../src/protocol/items.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';

type Messages = Parameters<typeof messageItems>[0];

/** The messages as items, and back. */
function thereAndBack(messages: readonly JsonObject[]): readonly JsonObject[] {
  // The cast: each has a role.
  return itemMessages(messageItems(messages as Messages), unexpected);
}

function unexpected({ type }: Item): void {
  throw new Error(`an item of type ${type} was skipped`);
}

function items(...messages: readonly JsonObject[]): readonly Item[] {
  return messageItems(messages as Messages);
}

const user = (content: unknown) => ({ type: 'message', role: 'user', content });
const answer = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
const called = { id: 'a', type: 'function', function: { name: 'add', arguments: '{"a":1}' } };
const calledItem = { type: 'function_call', call_id: 'a', name: 'add', arguments: '{"a":1}' };

describe('itemsOf', () => {
  it('[S-04] reads text, images, files, audio and video as the parts that items have for them', () => {
    const parts = [
      { type: 'text', text: 'Look.' },
      { type: 'image_url', image_url: { url: 'https://x/a.png', detail: 'low' } },
      { type: 'image_url', image_url: 'https://x/b.png' },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
      { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
      { type: 'video_url', video_url: { url: 'https://x/c.mp4' } },
    ];
    expect(items({ role: 'user', content: parts }, { role: 'developer', content: 'Be kind.' })).toEqual([
      user([
        { type: 'input_text', text: 'Look.' },
        { type: 'input_image', image_url: 'https://x/a.png', detail: 'low' },
        { type: 'input_image', image_url: 'https://x/b.png', detail: 'auto' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
        { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
        { type: 'input_video', video_url: 'https://x/c.mp4' },
      ]),
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
    ]);
  });

  it('[S-08] [S-09] reads thoughts, words, refusals and calls of one message in this order', () => {
    const written = {
      role: 'assistant',
      reasoning_content: 'Hm.',
      content: [
        { type: 'text', text: 'No' },
        { type: 'refusal', refusal: 'never' },
      ],
      refusal: 'I will not.',
      tool_calls: [called, { id: 'b', type: 'custom', custom: { name: 'grep', input: 'x*' } }],
    };
    expect(items(written)).toEqual([
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      {
        type: 'message',
        role: 'assistant',
        content: [answer('No'), { type: 'refusal', refusal: 'never' }, { type: 'refusal', refusal: 'I will not.' }],
      },
      calledItem,
      { type: 'custom_tool_call', call_id: 'b', name: 'grep', input: 'x*' },
    ]);
  });

  it('[S-09] reads the thought of a message in every spelling that providers have for it', () => {
    const thought = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] };
    const spellings: readonly JsonObject[] = [
      ...['reasoning_content', 'reasoning', 'reasoning_text'].map((field) => ({ [field]: 'Hm.', content: 'Yes' })),
      { reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }], content: 'Yes' },
      { thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'x' }], content: 'Yes' },
      ...[
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.', signature: 'x' }] },
      ].map((part) => ({ content: [part, { type: 'text', text: 'Yes' }] })),
    ];
    for (const fields of spellings)
      expect(items({ role: 'assistant', ...fields })).toEqual([
        thought,
        { type: 'message', role: 'assistant', content: [answer('Yes')] },
      ]);
  });

  it('[S-04] reads tool results as text or as parts', () => {
    const seen = [
      { type: 'text', text: 'seen' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'high' } },
    ];
    expect(
      items({ role: 'tool', tool_call_id: 'a', content: '3' }, { role: 'tool', tool_call_id: 'b', content: seen }),
    ).toEqual([
      { type: 'function_call_output', call_id: 'a', output: '3' },
      {
        type: 'function_call_output',
        call_id: 'b',
        output: [
          { type: 'input_text', text: 'seen' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'high' },
        ],
      },
    ]);
  });

  it('[S-19] pairs a legacy function call with the answer behind it', () => {
    const legacy = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: null, function_call: { name: 'add', arguments: '{}' } },
      { role: 'function', name: 'add', content: '3' },
    ];
    expect(thereAndBack(legacy)).toEqual([
      legacy[0],
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'add', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '3' },
    ]);
  });

  it('[S-03] writes nothing for an empty assistant message', () => {
    expect(items({ role: 'assistant', content: '' }, { role: 'assistant', content: null, tool_calls: [] })).toEqual([]);
  });

  it('[P-11] knows a list of messages', () => {
    const lists = [[], [{ role: 'user' }], [{ role: 7 }], [null], 'x', undefined, { role: 'user' }];
    expect(lists.map(isMessageList)).toEqual([true, true, false, false, false, false, false]);
  });
});

describe('messagesOf', () => {
  it('[S-09] [S-08] writes refusals as words and leaves out thoughts, which no message has a standard field for', () => {
    const written = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    ];
    expect(itemMessages(written, unexpected)).toEqual([{ role: 'assistant', content: 'No.' }]);
  });

  it('[S-04] [P-06] puts results behind their calls, images in a message of their own', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
    const reported = [
      calledItem,
      user('Meanwhile.'),
      { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'seen' }, image] },
    ];
    expect(itemMessages(reported, unexpected)).toEqual([
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'a', content: 'seen' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: image.image_url } }] },
      { role: 'user', content: 'Meanwhile.' },
    ]);
  });

  it('[S-03] notes items that have no place in messages', () => {
    const skipped: string[] = [];
    expect(itemMessages([{ type: 'unheard_of' }, user('Go.')], ({ type }) => skipped.push(type))).toEqual([
      { role: 'user', content: 'Go.' },
    ]);
    expect(skipped).toEqual(['unheard_of']);
  });
});

const text = fc.string({ unit: 'grapheme', maxLength: 8 });
const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
const media = fc.oneof(
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record({ url: words, detail: fc.constantFrom('low', 'high', 'auto') }),
  }),
  fc.record({ type: fc.constant('file'), file: fc.record({ filename: words, file_data: words }) }),
  fc.record({
    type: fc.constant('input_audio'),
    input_audio: fc.record({ data: words, format: fc.constantFrom('wav', 'mp3') }),
  }),
  fc.record({ type: fc.constant('video_url'), video_url: fc.record({ url: words }) }),
);
const textPart = fc.record({ type: fc.constant('text'), text: words });
// Words alone are written as one text, so a list of parts holds something that is not text.
const parts = fc.tuple(fc.array(textPart), media, fc.array(fc.oneof(textPart, media))).map((lists) => lists.flat());
const requested = fc.record({
  role: fc.constantFrom('user', 'system', 'developer'),
  content: fc.oneof(text, parts),
});
const calls = fc
  .uniqueArray(fc.record({ id: words, name: words, args: fc.dictionary(words, text), result: text }), {
    selector: ({ id }) => id,
    minLength: 1,
    maxLength: 3,
  })
  .map((made) => made.map(({ args, ...rest }) => ({ ...rest, text: JSON.stringify(args) })));

/** What the model did in one go: words, or calls with their results, with or without words. */
const done = fc.oneof(
  words.map((content): readonly JsonObject[] => [{ role: 'assistant', content }]),
  fc.tuple(fc.option(words), calls).map(([content, made]): readonly JsonObject[] => [
    {
      role: 'assistant',
      content,
      tool_calls: made.map(({ id, name, text }) => ({ id, type: 'function', function: { name, arguments: text } })),
    },
    ...made.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
  ]),
);
const toolRounds = fc.array(calls, { maxLength: 2 });
const conversation = fc
  .array(fc.tuple(fc.array(requested, { minLength: 1, maxLength: 2 }), toolRounds, done), { maxLength: 3 })
  .map((turns) =>
    turns.flatMap(([requested, rounds, done]) => [...requested, ...rounds.flatMap(roundMessages), ...done]),
  );

function roundMessages(
  made: readonly { id: string; name: string; text: string; result: string }[],
): readonly JsonObject[] {
  return [
    {
      role: 'assistant',
      content: null,
      tool_calls: made.map(({ id, name, text }) => ({ id, type: 'function', function: { name, arguments: text } })),
    },
    ...made.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
  ];
}

describe('the law of chat items', () => {
  it('[S-12] [X-02] a conversation that both APIs can say comes back as it was', () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        expect(thereAndBack(messages)).toEqual(messages);
      }),
      { numRuns: 300 },
    );
  });
});
