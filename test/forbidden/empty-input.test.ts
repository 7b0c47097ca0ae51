/** An input that becomes empty is refused before a model is asked. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { post } from '../support/responses-client.ts';

let app: App;
let fake: FakeUpstream;

beforeAll(async () => {
  fake = await startFakeUpstream();
  app = await startApp({ upstream: fake });
});
afterAll(async () => {
  await app.close();
  await fake.close();
});

const REFERENCE = { type: 'item_reference', id: 'msg_unknown' };

/** The status, the code and the place of the error, and how often the model was asked. */
async function refused(body: JsonObject): Promise<readonly unknown[]> {
  const before = fake.requests.length;
  const { status, text } = await post(app.url, body);
  const { error } = JSON.parse(text);
  return [status, error?.code, error?.param, fake.requests.length - before];
}

it.each([false, true])('[O-07] an unknown reference alone is not found, with stream: %s', async (stream) => {
  expect(await refused({ input: [REFERENCE], stream })).toEqual([404, 'item_not_found', 'input[0].id', 0]);
  expect(await refused({ input: [REFERENCE, REFERENCE], stream })).toEqual([404, 'item_not_found', 'input[0].id', 0]);
});

it.each([
  ['an empty list', []],
  [
    'items that say nothing to a model',
    [{ type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: false }],
  ],
])('[O-07] %s is an invalid input', async (_, input) => {
  const [status, code, , asked] = await refused({ input });
  expect([status, asked]).toEqual([code === 'approval_not_found' ? 404 : 400, 0]);
});

it('[O-07] an unknown reference beside a message is left out, as before', async () => {
  expect(await refused({ input: [REFERENCE, { role: 'user', content: 'Hi.' }] })).toEqual([
    200,
    undefined,
    undefined,
    1,
  ]);
});

it('[O-07] nothing new is needed where earlier items go on', async () => {
  const { text } = await post(app.url, { input: 'Hi.' });
  expect(await refused({ input: [], previous_response_id: JSON.parse(text).id })).toEqual([
    200,
    undefined,
    undefined,
    1,
  ]);
});

it('[O-07] an unknown reference alone is left out where earlier items go on', async () => {
  const { text } = await post(app.url, { input: 'Hi.' });
  expect(await refused({ input: [REFERENCE], previous_response_id: JSON.parse(text).id })).toEqual([
    200,
    undefined,
    undefined,
    1,
  ]);
});

it('[O-07] instructions alone are no input', async () => {
  expect((await refused({ input: [], instructions: 'Be brief.' })).slice(0, 1)).toEqual([400]);
});
