/** Thoughts that a model server refuses to be given back: it is asked once more without them. Exchanges written as the servers write them. */

import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { functionTools, type RouterOptions, type Upstream } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeReply, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { ask, askJson } from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';
import { eventStream } from '../support/replay.ts';
import { messagesStream, textBlock, thinkingBlock, toolBlock } from './messages-bytes.ts';
import { expectMessagesRequest } from './messages-schema.ts';
import {
  callItem,
  item,
  responseEnd,
  responseStart,
  responsesEvent,
  responsesStream,
  textItem,
} from './responses-bytes.ts';

let fake: FakeUpstream;
let app: App;
let notes: string[];

async function start(
  make: (options: { baseURL: string; retries: number }) => Upstream,
  replies: readonly FakeReply[],
  options: RouterOptions = {},
): Promise<void> {
  notes = [];
  fake = await startFakeUpstream();
  fake.reply(...replies);
  const hooks = { onNote: ({ code }: { code: string }) => void notes.push(code), onError() {} };
  app = await startApp({ options: { upstream: make({ baseURL: fake.baseURL, retries: 2 }), hooks, ...options } });
}

afterEach(() => Promise.all([app.close(), fake.close()]));

const listOf = (value: unknown) => (Array.isArray(value) ? value : []) as readonly JsonObject[];
const bodies = () => fake.requests.map(({ body }) => body as JsonObject);

/** Two turns; the answer to the second. */
async function goOn(): Promise<JsonObject> {
  const { id } = await askJson(app.url);
  return askJson(app.url, { previous_response_id: id, input: 'Sure?' });
}

const words = ({ output }: JsonObject) =>
  listOf(output)
    .flatMap(({ content }) => listOf(content))
    .map(({ text }) => text)
    .join('');

describe('responsesUpstream', () => {
  const thought = { id: 'rs_there', type: 'reasoning', summary: [], encrypted_content: 'gAAAsecret' };
  const THOUGHT = responsesStream([item(0, thought, {}), textItem(1, 'Sunny.')]);
  const error = {
    message:
      'The encrypted content gAAA...cret could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_encrypted_content',
  };
  const REFUSED = { status: 400, body: JSON.stringify({ error }) };
  const YES = { body: responsesStream([textItem(0, 'Yes.')]) };

  it('[V-14] asks once more without the thoughts, and notes it', async () => {
    await start(responsesUpstream, [{ body: THOUGHT }, REFUSED, YES]);
    const answer = await goOn();
    const [, second, third] = bodies();
    const thoughtless = listOf(second?.input).filter(({ type }) => type !== 'reasoning');
    expect([answer.status, words(answer), notes]).toEqual(['completed', 'Yes.', ['state_rejected']]);
    expect(listOf(second?.input)).toContainEqual(thought);
    expect(third).toEqual({ ...second, input: thoughtless });
    expect(bodies().length).toBe(3);
  });

  it('[V-14] does so in a round of tools, too', async () => {
    const call = responsesStream([item(0, thought, {}), callItem(1, 'a', 'look', '{}')]);
    const tools = [functionTools({ look: { parameters: {}, execute: () => 'Sun' } })];
    await start(responsesUpstream, [{ body: call }, REFUSED, YES], { tools });
    const answer = await askJson(app.url);
    expect([words(answer), notes]).toEqual(['Yes.', ['state_rejected']]);
    expect(listOf(bodies()[2]?.input).map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
    ]);
  });

  it.each([
    ['an error event', responsesEvent({ ...error, type: 'error', sequence_number: 0 })],
    ['an error event after the start', responseStart() + responsesEvent({ type: 'error', error, sequence_number: 2 })],
    ['a failed response', responseStart() + responseEnd('failed', { error, usage: null })],
  ])(
    '[V-14] [P-08] asks once more where the stream reports it before anything else, byte by byte as well: %s',
    async (_, body) => {
      await start(responsesUpstream, [{ body: THOUGHT }, { ...eventStream(body), split: 'byte' }, YES]);
      const answer = await goOn();
      expect([words(answer), notes, bodies().length]).toEqual(['Yes.', ['state_rejected'], 3]);
    },
  );

  it('[V-14] reports a second refusal to the client, and asks no third time', async () => {
    await start(responsesUpstream, [{ body: THOUGHT }, REFUSED, REFUSED, YES]);
    const { id } = await askJson(app.url);
    const answer = await ask(app.url, { previous_response_id: id, input: 'Sure?' });
    expect([answer.status, await answer.json(), bodies().length]).toMatchObject([
      400,
      { error: { code: error.code } },
      3,
    ]);
  });

  it('[V-14] does not ask again where no thought was sent, for another refusal, or after any output', async () => {
    const written = responseStart() + textItem(0, 'Hm').split('\n\n').slice(0, 2).join('\n\n').concat('\n\n');
    const other = { status: 400, body: JSON.stringify({ error: { ...error, code: 'invalid_value' } }) };
    const broken = { body: written + responsesEvent({ ...error, type: 'error', sequence_number: 9 }) };
    await start(responsesUpstream, [REFUSED, { body: THOUGHT }, other, { body: THOUGHT }, broken, YES]);
    const first = await ask(app.url);
    const second = await goOn();
    const third = await goOn();
    expect([first.status, second, third, notes, bodies().length]).toMatchObject([
      400,
      { error: { code: 'invalid_value' } },
      { status: 'failed', error: { code: expect.any(String) } },
      [],
      5,
    ]);
  });

  it('[V-14] notes once what has no place in either request', async () => {
    await start(responsesUpstream, [{ body: THOUGHT }, REFUSED, YES]);
    const { output } = await askJson(app.url);
    const odd = { type: 'image_generation_call', status: 'completed' };
    await askJson(app.url, { input: [{ role: 'user', content: 'Hi' }, ...listOf(output), odd] });
    expect(notes.toSorted()).toEqual(['item_skipped', 'state_rejected']);
  });
});

describe('anthropicUpstream', () => {
  const refusal = (message: string, type = 'invalid_request_error') => ({
    status: 400,
    body: JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_1' }),
  });
  const THOUGHT = { body: messagesStream([thinkingBlock(0, 'Hm', 'signed'), textBlock(1, 'Sunny.')]) };
  const YES = { body: messagesStream([textBlock(0, 'Yes.')]) };
  const isThought = ({ type }: JsonObject) => type === 'thinking' || type === 'redacted_thinking';
  const blocks = (body: JsonObject | undefined) => listOf(body?.messages).flatMap(({ content }) => listOf(content));

  it.each([
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.3.content.0: Invalid signature in thinking block',
    'messages.1.content.0: Invalid `data` in `redacted_thinking` block',
  ])('[V-14] asks once more without the thoughts, and notes it: %s', async (message) => {
    await start(anthropicUpstream, [THOUGHT, refusal(message), YES]);
    const answer = await goOn();
    const [, second, third] = bodies();
    expect([words(answer), notes]).toEqual(['Yes.', ['state_rejected']]);
    expect(blocks(second).filter(isThought)).toEqual([{ type: 'thinking', thinking: 'Hm', signature: 'signed' }]);
    expect(blocks(third)).toEqual(blocks(second).filter((block) => !isThought(block)));
    expect({ ...third, messages: [] }).toEqual({ ...second, messages: [] });
    expectMessagesRequest(third);
  });

  it('[V-14] asks without thinking in the middle of a round, which the wire refuses without its thought', async () => {
    const call = {
      body: messagesStream([thinkingBlock(0, 'Hm', 'signed'), toolBlock(1, 'a', 'look', '{}')], { stop: 'tool_use' }),
    };
    const tools = [functionTools({ look: { parameters: {}, execute: () => 'Sun' } })];
    const thinking = () => ({ low: 1024 });
    const make = (options: object) => anthropicUpstream({ ...options, thinking });
    const refused = refusal('messages.1.content.0: Invalid `signature` in `thinking` block');
    await start(make, [call, refused, YES], { tools });
    await askJson(app.url, { reasoning: { effort: 'low' } });
    const [, second, third] = bodies();
    expect([second?.thinking, third?.thinking]).toEqual([{ type: 'enabled', budget_tokens: 1024 }, undefined]);
    expect(notes).toEqual(['state_rejected', 'setting_dropped']);
  });

  it('[V-14] reports a second refusal to the client, and asks no third time', async () => {
    const refused = refusal('messages.1.content.0: Invalid `signature` in `thinking` block');
    await start(anthropicUpstream, [THOUGHT, refused, refused, YES]);
    expect([await goOn(), bodies().length]).toMatchObject([{ error: { type: 'invalid_request_error' } }, 3]);
  });

  it('[V-14] does not ask again where no thought was sent, or for another refusal', async () => {
    const other = refusal('messages: the signature of the thinking machine is invalid');
    await start(anthropicUpstream, [refusal('Invalid `signature` in `thinking` block'), THOUGHT, other, YES]);
    expect((await ask(app.url)).status).toBe(400);
    expect([await goOn(), notes, bodies().length]).toMatchObject([{ error: { code: 'invalid_request' } }, [], 3]);
  });
});
