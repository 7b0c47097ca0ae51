/** A conversation that is longer than the model's context: clients receive OpenAI's error, whichever server is behind. */
import { chatChunk, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { ask, askStream, errorIn, lastResponse, parsed, typesOf } from './client.ts';

let fake: FakeUpstream;
let app: App;

beforeAll(async () => {
  fake = await startFakeUpstream();
  app = await startApp({ upstream: fake });
});
afterAll(() => Promise.all([app.close(), fake.close()]));

const message = 'the request exceeds the available context size, try increasing it';
const LLAMA = JSON.stringify({ error: { code: 500, message, type: 'server_error' } });

it.each([true, false])('[F-24] is a 400 before the first byte, and is asked once (streamed: %s)', async (stream) => {
  const before = fake.requests.length;
  fake.reply({ status: 500, body: LLAMA });
  const answer = await ask(app.url, { stream });
  const error = errorIn(parsed(await answer.text()));
  expect([answer.status, error, fake.requests.length - before]).toEqual([
    400,
    { message, type: 'invalid_request_error', param: null, code: 'context_length_exceeded' },
    1,
  ]);
});

it('[F-24] [F-25] is response.failed with that code in mid-stream, which is what Codex reads', async () => {
  fake.reply({ body: `${chatChunk({ content: 'Hel' })}data: ${LLAMA}\n\n` });
  const stream = await askStream(app.url);
  const error = { code: 'context_length_exceeded', message, type: 'invalid_request_error', param: null };
  const [reported] = stream.events.filter(({ type }) => type === 'error');
  expect([typesOf(stream.events).at(-1), lastResponse(stream).error, reported?.code]).toEqual([
    'failed',
    error,
    'context_length_exceeded',
  ]);
});

it('[F-24] is recognised in a 200 with an error in it, too', async () => {
  fake.reply({ body: LLAMA });
  const answer = await ask(app.url);
  expect([answer.status, errorIn(parsed(await answer.text())).code]).toEqual([400, 'context_length_exceeded']);
});
