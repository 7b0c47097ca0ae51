/** `truncation: "auto"`: after a refusal of the model server, the oldest turns are left out once. */
import { functionTools } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { textStream, toolCallStream } from '../../src/testing/index.ts';
import { finalOf, type RequestApp, requestAppPerTest } from '../support/request-app.ts';

let app: RequestApp;
const restart = requestAppPerTest((started) => {
  app = started;
});

const says = (role: string, content: string) => ({ role, content });
const INPUT = [
  says('system', 'Be short.'),
  says('user', `One. ${'x'.repeat(400)}`),
  says('assistant', 'First.'),
  says('user', `Two. ${'x'.repeat(400)}`),
  { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'x'.repeat(400) },
  says('assistant', 'Second.'),
  says('user', 'Three.'),
];
const REFUSED = {
  status: 400,
  body: JSON.stringify({
    error: {
      code: 400,
      message: 'request (1000 tokens) exceeds the available context size (800 tokens)',
      type: 'exceed_context_size_error',
    },
  }),
};
const ANSWER = { body: textStream('Yes.') };
const AUTO = { input: INPUT, truncation: 'auto' };

const wordsOf = (request: JsonObject) =>
  (request.messages as readonly JsonObject[]).map(({ role, content }) => [role, String(content).slice(0, 6)]);

it.each([false, true])(
  '[O-08] leaves out the oldest turns after a refusal, and says so in a note (streamed: %s)',
  async (stream) => {
    app.upstream.reply(REFUSED, ANSWER);
    const response = stream ? finalOf(await app.streamed(AUTO)) : (await app.create(AUTO)).body;
    expect([response.status, response.truncation]).toEqual(['completed', 'auto']);
    expect(app.upstream.requests).toHaveLength(2);
    expect(wordsOf(app.requested())).toEqual([
      ['system', 'Be sho'],
      ['user', 'Two. x'],
      ['assistant', 'null'],
      ['tool', 'xxxxxx'],
      ['assistant', 'Second'],
      ['user', 'Three.'],
    ]);
    expect(app.notes).toMatchObject([
      { code: 'history_truncated', message: expect.stringContaining('the oldest turn of it') },
    ]);
  },
);

it('[O-08] answers 400 after a second refusal', async () => {
  app.upstream.reply(REFUSED, REFUSED);
  const { status, body } = await app.create(AUTO);
  expect([status, body.error]).toMatchObject([400, { code: 'context_length_exceeded' }]);
  expect(app.upstream.requests).toHaveLength(2);
});

it.each(['disabled', undefined])('[O-08] answers 400 at once with truncation: %s', async (truncation) => {
  app.upstream.reply(REFUSED, ANSWER);
  const { status, body } = await app.create({ input: INPUT, truncation });
  expect([status, body.error]).toMatchObject([400, { code: 'context_length_exceeded' }]);
  expect(app.upstream.requests).toHaveLength(1);
});

it('[O-08] answers 400 at once where nothing may be left out, and for any other refusal', async () => {
  app.upstream.reply(REFUSED);
  expect((await app.create({ ...AUTO, input: 'One.' })).status).toBe(400);
  app.upstream.reply({ status: 400, body: JSON.stringify({ error: { message: 'No.' } }) });
  expect((await app.create(AUTO)).status).toBe(400);
  expect(app.upstream.requests).toHaveLength(2);
});

it('[O-08] leaves the oldest turns of a stored conversation out, and keeps them stored', async () => {
  app.upstream.reply(ANSWER, ANSWER, REFUSED, ANSWER);
  const first = (await app.create({ input: `One. ${'x'.repeat(400)}` })).body;
  const second = (await app.create({ input: 'Two.', previous_response_id: first.id })).body;
  const third = (await app.create({ input: 'Three.', previous_response_id: second.id, truncation: 'auto' })).body;
  expect(wordsOf(app.requested()).map(([, words]) => words)).toEqual(['Two.', 'Yes.', 'Three.']);
  app.upstream.reply(ANSWER);
  await app.create({ input: 'Four.', previous_response_id: third.id });
  expect(wordsOf(app.requested())[0]).toEqual(['user', 'One. x']);
});

it('[O-08] shortens later rounds of the turn at once', async () => {
  await restart({ tools: functionTools({ look: { execute: () => 'Seen.' } }) });
  const call = { body: toolCallStream([{ id: 'call_2', name: 'look', arguments: '{}' }]) };
  app.upstream.reply(REFUSED, call, ANSWER);
  expect((await app.create(AUTO)).body.status).toBe('completed');
  expect(app.upstream.requests).toHaveLength(3);
  expect(JSON.stringify(wordsOf(app.requested()))).not.toContain('One.');
});
