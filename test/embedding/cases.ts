/** Each middleware alone and the whole stack: what a client sends, and the plain OpenAI request that a proxy is to see. */

import type OpenAI from 'openai';
import {
  functionTools,
  heartbeat,
  injectTools,
  loadHistory,
  memoryStore,
  type ResponseStore,
  recordTurn,
  validateMessages,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import type { Stage } from './hosts.ts';

type ChatParams = OpenAI.Chat.Completions.ChatCompletionCreateParams;
type ResponseParams = OpenAI.Responses.ResponseCreateParams;

/** One middleware, or several. */
export interface Case {
  readonly name: string;
  stages(): readonly Stage[];
  /** By dialect. The types are OpenAI's own: what a proxy sees must be one of theirs. */
  readonly chat: { readonly sent: JsonObject; readonly seen: ChatParams };
  readonly responses: { readonly sent: JsonObject; readonly seen: ResponseParams };
}

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } };

/** A tool of the server's. */
export const weather = functionTools({
  weather: { description: 'The weather.', parameters: PARAMETERS, execute: () => 'Sunny.' },
});

const chatTool: OpenAI.Chat.Completions.ChatCompletionTool = {
  type: 'function',
  function: { name: 'weather', description: 'The weather.', parameters: PARAMETERS },
};
const responsesTool: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  description: 'The weather.',
  parameters: PARAMETERS,
  strict: null,
};

const SCOPE = 'everyone';

/** The turn that the stores here hold. */
export const EARLIER = 'resp_00000000000000000000000000000001';

const EARLIER_QUESTION = {
  type: 'message' as const,
  id: 'msg_1',
  role: 'user' as const,
  content: [{ type: 'input_text' as const, text: 'Earlier?' }],
};
const EARLIER_ANSWER = {
  type: 'message' as const,
  id: 'msg_2',
  role: 'assistant' as const,
  status: 'completed' as const,
  content: [{ type: 'output_text' as const, text: 'Before.', annotations: [] }],
};

/** A store with the turn of the question "Earlier?" in it. */
export function seededStore(scope: string): ResponseStore {
  const store = memoryStore();
  const turn = { input: [EARLIER_QUESTION], output: [EARLIER_ANSWER], resource: { id: EARLIER } };
  store.put({ scope, id: EARLIER, createdAt: Date.now(), ...turn });
  return store;
}

const chatSent = { model: 'm', messages: [{ role: 'user', content: 'Hi.' }] };
const chatSeen: ChatParams = { model: 'm', messages: [{ role: 'user', content: 'Hi.' }] };
const sent = { model: 'm', input: 'Hi.' };

// A call nobody answered, and an answer nobody asked for.
const CALL = { id: 'call_1', type: 'function', function: { name: 'own', arguments: '{}' } } as const;
const NO_OUTPUT = '(no output was recorded)';
const brokenMessages = [
  { role: 'user', content: 'Hi.' },
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'call_lost', content: 'Lost.' },
];
const repairedMessages: ChatParams['messages'] = [
  { role: 'user', content: 'Hi.' },
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'call_1', content: NO_OUTPUT },
];
const CALL_ITEM = { type: 'function_call', call_id: 'call_1', name: 'own', arguments: '{}' } as const;
const brokenInput = [
  { type: 'message', role: 'user', content: 'Hi.' },
  CALL_ITEM,
  { type: 'function_call_output', call_id: 'call_lost', output: 'Lost.' },
];
const repairedInput: OpenAI.Responses.ResponseInputItem[] = [
  { type: 'message', role: 'user', content: 'Hi.' },
  CALL_ITEM,
  { type: 'function_call_output', call_id: 'call_1', output: NO_OUTPUT },
];

const earlierMessages: ChatParams['messages'] = [
  { role: 'user', content: 'Earlier?' },
  { role: 'assistant', content: 'Before.' },
];
const earlierInput: OpenAI.Responses.ResponseInputItem[] = [EARLIER_QUESTION, EARLIER_ANSWER];
const hi: OpenAI.Responses.ResponseInputItem = { type: 'message', role: 'user', content: 'Hi.' };

/** Every middleware that stands in front of a proxy; `runTools` calls it and has tests of its own. */
export const cases: readonly Case[] = [
  {
    name: 'injectTools',
    stages: () => [injectTools({ tools: weather })],
    chat: { sent: chatSent, seen: { ...chatSeen, tools: [chatTool] } },
    responses: { sent, seen: { ...sent, tools: [responsesTool] } },
  },
  {
    name: 'loadHistory',
    stages: () => [loadHistory({ store: seededStore(SCOPE), scope: () => SCOPE })],
    chat: {
      sent: { ...chatSent, previous_response_id: EARLIER },
      seen: { model: 'm', messages: [...earlierMessages, ...chatSeen.messages] },
    },
    responses: { sent: { ...sent, previous_response_id: EARLIER }, seen: { model: 'm', input: [...earlierInput, hi] } },
  },
  {
    name: 'validateMessages',
    stages: () => [validateMessages()],
    chat: { sent: { model: 'm', messages: brokenMessages }, seen: { model: 'm', messages: repairedMessages } },
    responses: { sent: { model: 'm', input: brokenInput }, seen: { model: 'm', input: repairedInput } },
  },
  {
    name: 'heartbeat',
    stages: () => [heartbeat()],
    chat: { sent: chatSent, seen: chatSeen },
    responses: { sent, seen: sent },
  },
  {
    name: 'recordTurn',
    stages: () => [recordTurn({ store: memoryStore() })],
    chat: { sent: chatSent, seen: chatSeen },
    responses: { sent, seen: sent },
  },
  {
    name: 'the whole stack',
    stages() {
      const options = { tools: weather, store: seededStore(SCOPE), scope: () => SCOPE };
      return [injectTools, loadHistory, validateMessages, recordTurn]
        .map((factory): Stage => factory(options))
        .concat(heartbeat());
    },
    chat: {
      sent: { model: 'm', messages: brokenMessages, previous_response_id: EARLIER },
      seen: { model: 'm', messages: [...earlierMessages, ...repairedMessages], tools: [chatTool] },
    },
    responses: {
      sent: { model: 'm', input: brokenInput, previous_response_id: EARLIER },
      seen: { model: 'm', input: [...earlierInput, ...repairedInput], tools: [responsesTool] },
    },
  },
];
