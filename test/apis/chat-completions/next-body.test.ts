/** What the model is asked after a round. */
import { newCompletion } from '../../../src/apis/chat-completions/completion/completion.ts';
import { nextBody, roundMessages } from '../../../src/apis/chat-completions/next-body.ts';
import { newRound, type Round } from '../../../src/apis/chat-completions/round-state.ts';
import type { ChatBody } from '../../../src/apis/chat-completions/schema.ts';
import { RULES } from './rules.ts';

const BODY: ChatBody = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], temperature: 0 };
const CALL = { id: 'a', name: 'add', owned: true, arguments: '{"x":1}' };
const WIRED = { id: 'a', type: 'function', function: { name: 'add', arguments: '{"x":1}' } };

function round(written: Partial<Round> = {}): Round {
  return { ...newRound(newCompletion({ wantsUsage: false, legacy: false }), RULES), ...written };
}

it('[T-02] [T-05] answers the calls with their results, in the order of the calls', () => {
  const answered = [
    { call: CALL, output: '2' },
    { call: { ...CALL, id: 'b' }, output: '3' },
  ];
  expect(roundMessages(round({ text: { text: 'So: ', tail: '' } }), answered, false)).toEqual([
    { role: 'assistant', content: 'So: ', tool_calls: [WIRED, { ...WIRED, id: 'b' }] },
    { role: 'tool', tool_call_id: 'a', content: '2' },
    { role: 'tool', tool_call_id: 'b', content: '3' },
  ]);
});

it('[T-08] shows what is no text in a message of its own, behind all results', () => {
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AA' };
  const [, one, two, shown] = roundMessages(
    round(),
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

it('[V-01] [S-08] gives back what else the message and its calls held, in the field that it came in', () => {
  const reported = round();
  reported.fields.take({ role: 'assistant', reasoning: 'H', refusal: null }, false);
  reported.fields.take({ reasoning: 'm.', vendor: { a: [1] } }, false);
  reported.fields.take({ vendor: { a: [2], b: 'x' } }, false);
  const call = { ...CALL, extra: { extra_content: { google: { thought_signature: 's' } } } };
  const [message] = roundMessages(reported, [{ call, output: '2' }], false);
  expect(message).toEqual({
    role: 'assistant',
    content: null,
    reasoning: 'Hm.',
    vendor: { a: [1, 2], b: 'x' },
    tool_calls: [{ ...WIRED, ...call.extra }],
  });
});

it('[S-19] answers a legacy call in the legacy words', () => {
  const messages = roundMessages(round(), [{ call: CALL, output: [{ type: 'input_text', text: '2' }] }], true);
  expect(messages).toEqual([
    { role: 'assistant', content: null, function_call: { name: 'add', arguments: '{"x":1}' } },
    { role: 'function', name: 'add', content: '2' },
  ]);
});

const ON = { circling: false, isOpen: false };

it('[T-02] [A-15] adds the messages and keeps all else', () => {
  expect(nextBody(BODY, [{ role: 'tool' }], ON)).toEqual({
    ...BODY,
    messages: [...BODY.messages, { role: 'tool' }],
  });
});

it.each([
  ['tool_choice', 'required', 'auto'],
  ['tool_choice', { type: 'function', function: { name: 'add' } }, 'auto'],
  ['tool_choice', 'none', 'none'],
  ['function_call', { name: 'add' }, 'auto'],
  ['function_call', 'none', 'none'],
])('[A-15] makes of a %s of %j, which holds once, %j', (field, choice, next) => {
  expect(nextBody({ ...BODY, [field]: choice }, [], ON)[field]).toEqual(next);
});

it('[T-12] forbids tools to a model that goes round in circles, in its own words', () => {
  const choices = [{}, { tool_choice: 'required' }, { functions: [] }].map((fields) => {
    const { tool_choice: choice, function_call: called } = nextBody({ ...BODY, tools: [], ...fields }, [], {
      ...ON,
      circling: true,
    });
    return [choice, called];
  });
  expect(choices).toEqual([
    ['none', undefined],
    ['none', undefined],
    [undefined, 'none'],
  ]);
});
