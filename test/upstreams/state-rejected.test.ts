/** Thoughts that a model server refuses to be given back: it is asked once more without them. Exchanges written as the servers write them. */

import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { chatCompletionsUpstream, functionTools, type RouterOptions, type Upstream } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatCompletion, type FakeReply, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
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

  it.each([
    'The encrypted content for item rs_there could not be verified. Reason: Encrypted content organization_id did not match the target organization.',
    'Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning items from your input and try again.',
    "Item 'rs_there' of type 'reasoning' was provided without its required following item.",
  ])('[V-14] asks once more where only the words say so: %s', async (message) => {
    const refused = { status: 400, body: JSON.stringify({ error: { ...error, message, code: null } }) };
    await start(responsesUpstream, [{ body: THOUGHT }, refused, YES]);
    const answer = await goOn();
    expect([words(answer), notes]).toEqual(['Yes.', ['state_rejected']]);
    expect(listOf(bodies()[2]?.input).map(({ type }) => type)).not.toContain('reasoning');
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
    const other = { status: 400, body: JSON.stringify({ error: { ...error, message: 'No.', code: 'invalid_value' } }) };
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
    'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.',
    'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
    'messages.1.content.0.thinking: each thinking block must contain thinking',
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

describe('chatCompletionsUpstream', () => {
  const HEADERS = { 'content-type': 'application/json' };
  const json = (body: unknown, status = 200): FakeReply => ({ status, body: JSON.stringify(body), headers: HEADERS });
  const YES: FakeReply = { body: chatCompletion('Yes.'), headers: HEADERS };
  const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } };
  const signed = { google: { thought_signature: 'AVSo' } };
  const tools = [functionTools({ look: { parameters: {}, execute: () => 'Sun' } })];

  /** An answer with two calls, and what its server needs back. */
  function calls(state: JsonObject, extra: JsonObject = {}): FakeReply {
    const tool_calls = [
      { ...call, ...extra },
      { ...call, id: 'b' },
    ];
    return json({ choices: [{ message: { role: 'assistant', ...state, tool_calls }, finish_reason: 'tool_calls' }] });
  }

  const assistants = (body: JsonObject | undefined) =>
    listOf(body?.messages).filter(({ role }) => role === 'assistant');
  const extras = (body: JsonObject | undefined) =>
    assistants(body).flatMap((message) => listOf(message.tool_calls).map(({ extra_content: extra }) => extra));

  it.each([
    ['messages.1.content.0: Invalid `signature` in `thinking` block', 'thinking_blocks'],
    [
      'Provider returned error: messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
      'reasoning_details',
    ],
  ])('[V-14] asks once more without thoughts of Claude, and without thinking: %s', async (message, field) => {
    const thoughts = { [field]: [{ type: 'thinking', thinking: 'Hm', signature: 'signed' }] };
    await start(chatCompletionsUpstream, [calls(thoughts), json({ error: { message } }, 400), YES], { tools });
    const answer = await askJson(app.url, { reasoning: { effort: 'low' } });
    const [, second, third] = bodies();
    expect([words(answer), notes.toSorted()]).toEqual(['Yes.', ['setting_dropped', 'state_rejected']]);
    expect(assistants(second)).toMatchObject([thoughts]);
    const { [field]: _, ...thoughtless } = assistants(second)[0] ?? {};
    expect(assistants(third)).toEqual([thoughtless]);
    expect([second?.reasoning_effort, third?.reasoning_effort]).toEqual(['low', undefined]);
  });

  it('[V-14] asks once more without sealed thoughts of OpenAI', async () => {
    const thoughts = { reasoning_details: [{ type: 'reasoning.encrypted', data: 'gAAA', id: 'rs_1' }] };
    const message = 'The encrypted content for item rs_1 could not be verified.';
    await start(chatCompletionsUpstream, [calls(thoughts), json({ error: { message } }, 400), YES], { tools });
    const answer = await askJson(app.url, { reasoning: { effort: 'low' } });
    expect([words(answer), notes]).toEqual(['Yes.', ['state_rejected']]);
    expect(bodies()[2]).toMatchObject({ reasoning_effort: 'low' });
    expect(assistants(bodies()[2])[0]).not.toHaveProperty('reasoning_details');
  });

  it.each([
    'Unable to submit request because Thought signature is not valid.',
    'Corrupted thought signature.',
    "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed",
  ])('[V-14] asks Gemini once more with calls whose signature is not looked for: %s', async (message) => {
    const refused = json([{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }], 400);
    await start(chatCompletionsUpstream, [calls({}, { extra_content: signed }), refused, YES], { tools });
    expect([words(await askJson(app.url)), notes]).toEqual(['Yes.', ['state_rejected']]);
    expect(extras(bodies()[1])).toEqual([signed, undefined]);
    expect(extras(bodies()[2])).toEqual([
      { google: { thought_signature: 'skip_thought_signature_validator' } },
      undefined,
    ]);
  });

  it('[V-14] [V-22] gives Gemini such calls where a signature is lost, keeps those that it knows, and remembers it', async () => {
    const message = 'Function call `look` in the `2.` content block is missing a `thought_signature`.';
    const round = calls({}, { extra_content: signed });
    await start(chatCompletionsUpstream, [round, json([{ error: { message } }], 400), YES, YES], { tools });
    const foreign = [
      { type: 'message', role: 'user', content: 'Hi' },
      { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'Rain' },
    ];
    const answer = await askJson(app.url, { input: foreign });
    await askJson(app.url, { input: foreign });
    const skipped = { google: { thought_signature: 'skip_thought_signature_validator' } };
    expect([words(answer), notes, bodies().length]).toEqual(['Yes.', ['setting_dropped'], 4]);
    expect(bodies().slice(1).map(extras)).toEqual([
      [undefined, signed, undefined],
      [skipped, signed, undefined],
      [skipped],
    ]);
  });

  it('[V-22] sends reasoning with each message to a server that wants it, from then on', async () => {
    const message = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
    await start(chatCompletionsUpstream, [json({ error: { message } }, 400), YES, YES]);
    const input = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello!' },
      { role: 'user', content: 'And?' },
    ];
    expect([words(await askJson(app.url, { input })), words(await askJson(app.url, { input }))]).toEqual([
      'Yes.',
      'Yes.',
    ]);
    expect(bodies().map((body) => assistants(body)[0]?.reasoning_content)).toEqual([undefined, ' ', ' ']);
  });

  it('[V-22] does not go on sending what a server refuses for another reason', async () => {
    const message = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
    const strict = json({ error: { message: 'messages.1: Unknown field reasoning_content' } }, 400);
    await start(chatCompletionsUpstream, [json({ error: { message } }, 400), strict, YES]);
    const input = [
      { role: 'user', content: message },
      { role: 'assistant', content: 'Hello!' },
      { role: 'user', content: 'And?' },
    ];
    expect([(await ask(app.url, { input })).status, words(await askJson(app.url, { input }))]).toEqual([400, 'Yes.']);
    expect(bodies().map((body) => assistants(body)[0]?.reasoning_content)).toEqual([undefined, ' ', undefined]);
  });

  it('[V-14] does not ask again where no thought was sent', async () => {
    const message = 'messages.1.content.0: Invalid `signature` in `thinking` block';
    await start(chatCompletionsUpstream, [json({ error: { message } }, 400), YES]);
    expect([(await ask(app.url)).status, bodies().length, notes]).toEqual([400, 1, []]);
  });
});
