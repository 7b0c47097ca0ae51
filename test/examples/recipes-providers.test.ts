/** The recipes for other providers and for the rest of the base URL do what their page says. */
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import { type FakeUpstream, startFakeUpstream } from 'express-open-responses/testing';
import type { JsonObject } from '../../src/protocol/record.ts';
import { answerOf, post, type Recipe, startRecipe, textIn } from './recipe.ts';

let fake: FakeUpstream;
let recipe: Recipe | undefined;

beforeEach(async () => {
  fake = await startFakeUpstream();
});
afterEach(async () => {
  await recipe?.close();
  await fake.close();
});

async function start(name: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
  recipe = await startRecipe(name, variables);
  return `${recipe.url}/v1`;
}

const HELLO = { model: 'some-model', input: 'Hi.' };

it('[E-06] the recipe for Bedrock answers with a model of Bedrock', async () => {
  const codec = new EventStreamCodec(toUtf8, fromUtf8);
  const text = (value: string) => ({ type: 'string', value }) as const;
  const frame = (type: string, body: JsonObject) =>
    codec.encode({
      headers: { ':event-type': text(type), ':content-type': text('application/json'), ':message-type': text('event') },
      body: fromUtf8(JSON.stringify(body)),
    });
  const body = Buffer.concat([
    frame('messageStart', { role: 'assistant' }),
    frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello!' } }),
    frame('messageStop', { stopReason: 'end_turn' }),
    frame('metadata', { usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } }),
  ]);
  fake.reply({ headers: { 'content-type': 'application/vnd.amazon.eventstream' }, body });
  const variables = { BEDROCK_BASE_URL: fake.baseURL, AWS_REGION: 'eu-west-1', AWS_BEARER_TOKEN_BEDROCK: 'key' };
  const url = await start('bedrock', variables);
  const answer = await answerOf(post(`${url}/responses`, HELLO));
  expect([answer.status, textIn(answer.body), fake.requests[0]?.path]).toEqual([
    200,
    'Hello!',
    '/v1/model/some-model/converse-stream',
  ]);
});

it('[E-06] the recipe for Vertex answers with a model of Google’s', async () => {
  const candidates = [{ content: { role: 'model', parts: [{ text: 'Hello!' }] }, finishReason: 'STOP', index: 0 }];
  fake.reply({ headers: { 'content-type': 'text/event-stream' }, body: `data: ${JSON.stringify({ candidates })}\n\n` });
  const variables = { VERTEX_BASE_URL: fake.baseURL, GOOGLE_VERTEX_API_KEY: 'key' };
  const url = await start('vertex', variables);
  const answer = await answerOf(post(`${url}/responses`, HELLO));
  const { body } = fake.requests[0] as unknown as { readonly body: JsonObject };
  expect([answer.status, textIn(answer.body), body.generationConfig]).toMatchObject([
    200,
    'Hello!',
    { thinkingConfig: { includeThoughts: true } },
  ]);
});

it('[E-06] the recipe for an agent answers with what the agent says', async () => {
  const url = await start('agent-model');
  const answer = await answerOf(post(`${url}/responses`, HELLO));
  expect([answer.status, textIn(answer.body)]).toEqual([200, 'You said: Hi.']);
});

it('[E-07] the recipe for embeddings sends the host’s key, for those whom the app knows', async () => {
  const url = await start('embeddings', { UPSTREAM_BASE_URL: fake.baseURL, UPSTREAM_KEY: 'host-key' });
  fake.reply({ body: '{"data":[]}' });
  const body = { model: 'e', input: 'x' };
  const known = await answerOf(post(`${url}/embeddings`, body, { authorization: 'Bearer key-of-ada' }));
  const unknown = await post(`${url}/embeddings`, body, { authorization: 'Bearer key-of-eve' });
  const files = await fetch(`${url}/files`, { headers: { authorization: 'Bearer key-of-ada' } });
  expect([known.status, unknown.status, files.status, fake.requests[0]?.headers.authorization]).toEqual([
    200,
    401,
    404,
    'Bearer host-key',
  ]);
});
