/** The usage in the bytes of answers, whatever a model or a proxy writes there. */
import { AnswerUsage } from '../../../src/engine/metering/answer-usage.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

function read(...data: readonly string[]): AnswerUsage {
  const answer = new AnswerUsage();
  for (const each of data) answer.take(each, false);
  return answer;
}

const chunk = (delta: object, more: object = {}) => JSON.stringify({ choices: [{ delta }], ...more });

it('[C-28] reads what was written, in its escapes, and once', () => {
  const quoted = 'She said \\"no\\" \\\\';
  const texts = [
    [chunk({ content: 'Hello ' }), chunk({ content: 'there' })],
    [chunk({ reasoning_content: 'Hm', content: 'Hello there' })],
    [chunk({ tool_calls: [{ function: { name: 'f', arguments: '{"content": "x"}' } }] })],
    [`{"content":"${quoted}","next":1}`],
    ['{"content":"cut o'],
    ['{"type":"response.output_text.delta","delta":"Hi"}', '{"type":"response.output_text.done","text":"Hi"}'],
    ['{"delta": "Hi", "type": "response.reasoning_text.delta"}'],
    ['null', '', '[DONE]', '{"content":null}', '{"content":[]}'],
  ].map((data) => read(...data).text);
  expect(texts).toEqual(['Hello there', 'HmHello there', '{\\"content\\": \\"x\\"}', quoted, 'cut o', 'Hi', 'Hi', '']);
});

it('[C-28] takes the last usage that it finds, in either API, and no broken one', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, cost: 0.5 };
  const response = { usage: { input_tokens: 3, output_tokens: 4 } };
  const found = [
    read(chunk({}, { usage: null }), chunk({}, { usage })),
    read(JSON.stringify({ type: 'response.completed', response })),
    read(chunk({}, { x_groq: { usage } })),
    read('{"usage":{"prompt_tokens":5'),
    read('{"usage":{"prompt_tokens":"many","completion_tokens":-1}}'),
  ].map(({ usage: seen, cost }) => [seen?.input_tokens, seen?.output_tokens, cost]);
  expect(found).toEqual([
    [1, 2, 0.5],
    [3, 4, undefined],
    [1, 2, 0.5],
    [undefined, undefined, undefined],
    [undefined, undefined, undefined],
  ]);
});

it('[V-06] [C-28] takes counts in pieces together, and none of zeros behind them', () => {
  const found = [
    read(chunk({}, { usage: { prompt_tokens: 50 } }), chunk({}, { usage: { completion_tokens: 3 } })),
    read(
      chunk({}, { usage: { prompt_tokens: 50, completion_tokens: 3 } }),
      chunk({}, { usage: { prompt_tokens: 0, completion_tokens: 0 } }),
    ),
  ].map(({ usage }) => [usage?.input_tokens, usage?.output_tokens]);
  expect(found).toEqual([
    [50, 3],
    [50, 3],
  ]);
});

it('[C-28] keeps ten megabytes of a text without an end, and counts the rest', () => {
  const answer = new AnswerUsage();
  const piece = 'x'.repeat(2 ** 20 - 1);
  for (let index = 0; index < 14; index += 1) answer.take(chunk({ content: piece }), false);
  const whole = new AnswerUsage();
  whole.take(chunk({ content: piece.repeat(14) }), true);
  expect([answer, whole].map(({ text, unkeptCharacters }) => [text.length, unkeptCharacters])).toEqual(
    Array(2).fill([10 * 2 ** 20, 14 * piece.length - 10 * 2 ** 20]),
  );
});

it('[P-11] takes time in proportion to the answer, and no stack', async () => {
  const hostile = [
    (size: number) => `{"content":"${'x'.repeat(size)}"}`,
    (size: number) => `{"content":"${'\\"'.repeat(size / 2)}`,
    (size: number) => `{"content":"${'\\\\'.repeat(size / 2)}"}`,
    (size: number) => '{"content":"'.repeat(size / 12),
    (size: number) => '"delta":"\\'.repeat(size / 10),
  ];
  for (const make of hostile) await expectLinearWork(60_000, async (size) => read(make(size)));
});

it('[C-28] adds up what Anthropic reports at the beginning and at the end of a message', () => {
  const start = {
    type: 'message_start',
    message: { usage: { input_tokens: 9, cache_read_input_tokens: 3, output_tokens: 1 } },
  };
  const delta = (type: string, text: string) =>
    JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: `${type}_delta`, [type]: text } });
  const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 12 } };
  const written = [delta('thinking', 'Hm. '), delta('text', 'Hello '), delta('partial_json', '{}')];
  const cut = read(JSON.stringify(start), ...written);
  const whole = read(JSON.stringify(start), ...written, JSON.stringify(end), '{"type":"message_stop"}');
  const json = new AnswerUsage();
  json.take(
    JSON.stringify({
      type: 'message',
      content: [{ type: 'text', text: 'Hi' }],
      usage: { input_tokens: 2, output_tokens: 5 },
    }),
    true,
  );
  const found = [cut, whole, json].map(({ usage, text, isFinished }) => [
    usage?.input_tokens,
    usage?.output_tokens,
    text,
    isFinished,
  ]);
  expect(found).toEqual([
    [12, 1, 'Hm. Hello {}', false],
    [12, 12, 'Hm. Hello {}', true],
    [2, 5, 'Hi', true],
  ]);
});
