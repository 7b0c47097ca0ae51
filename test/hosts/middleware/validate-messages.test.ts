/** What `validateMessages` leaves alone: results whose calls are in a conversation that the request only names. */

import express, { type RequestHandler } from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  loadHistory,
  memoryStore,
  type NodeMiddleware,
  type Repair,
  responsesRouter,
  validateMessages,
} from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';

const LOOK = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const user = { role: 'user', content: 'Go.' };
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: `of ${id}` });
const reference = (id: string) => ({ type: 'item_reference', id });
const chatCall = (id: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
});
const chatResult = (id: string) => ({ role: 'tool', tool_call_id: id, content: `of ${id}` });
const missing = { type: 'function_call_output', output: '(no output was recorded)' };

let closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.map((close) => close()));
  closing = [];
});

async function serve(...handlers: readonly (NodeMiddleware | RequestHandler)[]): Promise<string> {
  const app = express().use('/v1', express.json({ limit: '10mb' }), ...(handlers as RequestHandler[]));
  const { url, close } = await listening(app);
  closing.push(close);
  return `${url}/v1`;
}

async function post(url: string, body: JsonObject) {
  const path = 'messages' in body ? 'chat/completions' : 'responses';
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  // The cast: the tests read only what they sent.
  return { status: answer.status, body: (await answer.json()) as JsonObject };
}

const echo: RequestHandler = (req, res) => void res.json(req.body);

async function repaired(field: 'input' | 'messages', body: JsonObject, mode: 'repair' | 'reject' = 'repair') {
  const seen: string[] = [];
  const onRepair = (repairs: readonly Repair[]) => seen.push(...repairs.map(({ code, index }) => `${code} ${index}`));
  const url = await serve(validateMessages({ mode, onRepair }), echo);
  const answer = await post(url, body);
  return { status: answer.status, list: answer.body[field], seen };
}

describe('validateMessages and a history that it does not see', () => {
  const untouched: readonly (readonly [string, JsonObject])[] = [
    ['by item_reference', { input: [user, reference('fc_1'), output('a'), user] }],
    ['by a reference without a type', { input: [user, { id: 'fc_1' }, output('a')] }],
    ['by previous_response_id', { previous_response_id: 'resp_1', input: [output('a'), user] }],
    ['by conversation', { conversation: 'conv_1', input: [user, output('a')] }],
    ['by the object of a conversation', { conversation: { id: 'conv_1' }, input: [output('a')] }],
    ['by a reference to one of two calls', { input: [call('a'), reference('fc_2'), output('a'), output('b')] }],
    ['by the history, whose id recurs', { previous_response_id: 'r', input: [output('a'), call('a'), output('a')] }],
    ['by a reference, whose id recurs', { input: [call('a'), output('a'), reference('fc_2'), output('a')] }],
    ['and its output is a reference', { input: [user, call('a'), reference('fco_1'), user] }],
    [
      'in types other than functions',
      { previous_response_id: 'r', input: [{ ...output('a'), type: 'custom_tool_call_output' }] },
    ],
    [
      'in any order of the results',
      { previous_response_id: 'r', input: [output('b'), output('a'), call('c'), output('c')] },
    ],
  ];

  it.each(untouched)('[V-34] leaves a result alone whose call is named %s', async (_, body) => {
    expect(await repaired('input', body)).toEqual({ status: 200, list: body.input, seen: [] });
    expect(await repaired('input', body, 'reject')).toEqual({ status: 200, list: body.input, seen: [] });
  });

  it('[V-34] leaves a chat result alone whose call is in the continued response', async () => {
    const messages = [chatResult('a'), chatResult('b'), user, chatCall('c'), chatResult('c')];
    const body = { previous_response_id: 'resp_1', messages };
    expect(await repaired('messages', body)).toEqual({ status: 200, list: messages, seen: [] });
  });

  it('[V-34] still repairs what the list alone shows', async () => {
    const input = [
      reference('fc_1'),
      output('x'),
      call('a'),
      output('a'),
      { ...output('y'), call_id: undefined },
      call('b'),
    ];
    expect(await repaired('input', { input })).toEqual({
      status: 200,
      list: [reference('fc_1'), output('x'), call('a'), output('a'), call('b'), { ...missing, call_id: 'b' }],
      seen: ['orphan_output 4', 'missing_output 5'],
    });
    const twice = [output('x'), call('a'), output('a'), output('a')];
    expect(await repaired('input', { previous_response_id: 'r', input: twice })).toMatchObject({
      list: twice.slice(0, 3),
      seen: ['duplicate_output 3'],
    });
    expect(await repaired('input', { previous_response_id: null, input: [user, output('a')] })).toMatchObject({
      list: [user],
      seen: ['orphan_output 1'],
    });
    const messages = [chatCall('a'), chatResult('a'), chatResult('a')];
    expect(await repaired('messages', { previous_response_id: 'r', messages })).toMatchObject({
      list: messages.slice(0, 2),
      seen: ['duplicate_output 2'],
    });
  });

  it('[V-34] lets the routers behind it continue a response, by id and by reference', async () => {
    const upstream = await startFakeUpstream();
    closing.push(upstream.close);
    const store = memoryStore();
    const model = chatCompletionsUpstream({ baseURL: upstream.baseURL, apiKey: 'x' });
    const routers = [responsesRouter({ upstream: model, store }), chatCompletionsRouter({ upstream: model, store })];
    const url = await serve(validateMessages(), ...(routers as RequestHandler[]));
    upstream.reply({ body: toolCallStream([{ id: 'call_a', name: 'look', arguments: '{}' }]) });
    upstream.reply(
      { body: toolCallStream([{ id: 'call_a', name: 'look', arguments: '{}' }]) },
      { body: textStream('One.') },
    );
    const first = await post(url, { model: 'm', input: 'Go.', tools: [LOOK] });
    const [item] = first.body.output as readonly JsonObject[];
    const byId = await post(url, { model: 'm', previous_response_id: first.body.id, input: [output('call_a')] });
    const input = [user, reference(String(item?.id)), output('call_a')];
    const byReference = await post(url, { model: 'm', input, tools: [LOOK] });
    expect([first.status, byId.status, byReference.status]).toEqual([200, 200, 200]);
    const asked = upstream.requests.slice(1).map(({ body }) => (body as { messages: readonly JsonObject[] }).messages);
    expect(asked.map((messages) => messages.at(-1))).toEqual([chatResult('call_a'), chatResult('call_a')]);
  });

  it('[V-34] judges such results behind loadHistory, which knows the history', async () => {
    const upstream = await startFakeUpstream();
    closing.push(upstream.close);
    const store = memoryStore();
    const model = chatCompletionsUpstream({ baseURL: upstream.baseURL, apiKey: 'x' });
    upstream.reply({ body: toolCallStream([{ id: 'call_a', name: 'look', arguments: '{}' }]) });
    const made = await serve(responsesRouter({ upstream: model, store }) as RequestHandler);
    const first = await post(made, { model: 'm', input: 'Go.', tools: [LOOK] });
    const url = await serve(loadHistory({ store }), validateMessages(), echo);
    const { id } = first.body;
    const { body } = await post(url, { previous_response_id: id, input: [output('call_x'), output('call_a')] });
    const types = (body.input as readonly JsonObject[]).map((item) => item.call_id ?? item.role);
    expect(types).toEqual(['user', 'call_a', 'call_a']);
  });
});
