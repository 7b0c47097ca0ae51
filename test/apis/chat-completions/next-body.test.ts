/** What the model receives after an answer with calls that the server runs. */

import { MessageFields } from '../../../src/apis/chat-completions/answer/message-fields.ts';
import { answerMessages } from '../../../src/apis/chat-completions/answer/next-body.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { calls, chunk, run } from './answer-frames.ts';

const CALL = { id: 'a', name: 'add', arguments: '{"x":1}' };
const WIRED = { id: 'a', type: 'function', function: { name: 'add', arguments: '{"x":1}' } };

/** An answer of a model. */
function answer(text = '', fields = new MessageFields()) {
  return { text: { text, tail: '' }, fields };
}

it('[T-02] [T-05] answers the calls with their results, in the order of the calls', () => {
  const answered = [
    { call: CALL, output: '2' },
    { call: { ...CALL, id: 'b' }, output: '3' },
  ];
  expect(answerMessages(answer('So: '), answered, false)).toEqual([
    { role: 'assistant', content: 'So: ', tool_calls: [WIRED, { ...WIRED, id: 'b' }] },
    { role: 'tool', tool_call_id: 'a', content: '2' },
    { role: 'tool', tool_call_id: 'b', content: '3' },
  ]);
});

it('[S-19] [T-02] answers each of several calls in a message of its own where a message holds one', () => {
  const answered = [
    { call: CALL, output: '2' },
    { call: { ...CALL, id: 'b', name: 'sub' }, output: '3' },
  ];
  expect(answerMessages(answer('So: '), answered, true)).toEqual([
    { role: 'assistant', content: 'So: ', function_call: { name: 'add', arguments: CALL.arguments } },
    { role: 'function', name: 'add', content: '2' },
    { role: 'assistant', content: null, function_call: { name: 'sub', arguments: CALL.arguments } },
    { role: 'function', name: 'sub', content: '3' },
  ]);
});

it('[T-08] shows what is no text in a message of its own, behind all results', () => {
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AA' };
  const [, one, two, shown] = answerMessages(
    answer(),
    [
      { call: CALL, output: [{ type: 'input_text', text: 'See: ' }, image] },
      { call: { ...CALL, id: 'b' }, output: '3' },
    ],
    false,
  );
  expect([one?.content, two?.content, shown]).toEqual([
    'See: ',
    '3',
    { role: 'user', content: [{ type: 'image_url', image_url: { url: image.image_url } }] },
  ]);
});

it('[S-08] gives back reasoning that begins with the same piece twice', () => {
  const fields = new MessageFields();
  for (const piece of ['ha', 'ha', '!']) fields.take({ reasoning_content: piece }, false);
  expect(fields.all()).toEqual({ reasoning_content: 'haha!' });
});

it('[V-01] [S-08] gives back what else the message and its calls held, in the field that it came in', () => {
  const fields = new MessageFields();
  fields.take({ role: 'assistant', reasoning: 'H', refusal: null }, false);
  fields.take({ reasoning: 'm.', vendor: { a: [1] } }, false);
  fields.take({ vendor: { a: [2], b: 'x' } }, false);
  const call = { ...CALL, extra: { extra_content: { google: { thought_signature: 's' } } } };
  const [message] = answerMessages(answer('', fields), [{ call, output: '2' }], false);
  expect(message).toEqual({
    role: 'assistant',
    content: null,
    reasoning: 'Hm.',
    vendor: { a: [1, 2], b: 'x' },
    tool_calls: [{ ...WIRED, ...call.extra }],
  });
});

it('[S-19] answers a legacy call in the legacy words', () => {
  const messages = answerMessages(answer(), [{ call: CALL, output: [{ type: 'input_text', text: '2' }] }], true);
  expect(messages).toEqual([
    { role: 'assistant', content: null, function_call: { name: 'add', arguments: '{"x":1}' } },
    { role: 'function', name: 'add', content: '2' },
  ]);
});

const ASKING = [calls([0, 'ours', '{}']), chunk({}, 'tool_calls')];
const LAST = [chunk({ content: 'Done' }), chunk({}, 'stop')];

/** The body of the model call after so many answers that call the server's tool. */
async function bodyAfter(answers: number, body: JsonObject) {
  const { bodies } = await run([...Array.from({ length: answers }, () => ASKING), LAST], { body });
  return bodies[answers];
}

it('[T-02] [A-15] adds the messages and keeps all else', async () => {
  const { bodies } = await run([ASKING, LAST], { body: { temperature: 0, unheard: 'of' } });
  const [first, second] = bodies;
  const called = { id: 'id_0', type: 'function', function: { name: 'ours', arguments: '{}' } };
  expect(second).toEqual({
    ...first,
    messages: [
      ...(first?.messages ?? []),
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'id_0', content: 'done' },
    ],
  });
});

it.each([
  ['tool_choice', 'required', 'auto'],
  ['tool_choice', { type: 'function', function: { name: 'ours' } }, 'auto'],
  ['tool_choice', { type: 'allowed_tools', mode: 'required' }, { type: 'allowed_tools', mode: 'auto' }],
  [
    'tool_choice',
    { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [] } },
    { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } },
  ],
  ['tool_choice', 'none', 'none'],
  ['function_call', { name: 'ours' }, 'auto'],
  ['function_call', 'none', 'none'],
])('[A-15] makes of a %s of %j, which holds once, %j', async (field, choice, next) => {
  expect((await bodyAfter(1, { [field]: choice }))?.[field]).toEqual(next);
  expect((await bodyAfter(2, { [field]: choice }))?.[field]).toEqual(next);
});

it('[T-12] forbids tools to a model that goes round in circles, in its own words', async () => {
  const choices = [];
  for (const fields of [{}, { tool_choice: 'required' }, { functions: [] }]) {
    const next = await bodyAfter(3, { tools: [], ...fields });
    choices.push([next?.tool_choice, next?.function_call]);
  }
  expect(choices).toEqual([
    ['none', undefined],
    ['none', undefined],
    [undefined, 'none'],
  ]);
});
