/** The model servers that may stand behind the API: what each was asked, how it answers, and how the API reaches it. */
import { chatCompletionsUpstream, functionTools } from '../../dist/esm/index.js';
import { textStream, toolCallStream } from '../../dist/esm/testing/index.js';
import { anthropicUpstream } from '../../dist/esm/upstreams/anthropic/anthropic-upstream.js';
import { responsesUpstream } from '../../dist/esm/upstreams/responses/responses-upstream.js';

const apiKey = 'upstream-key';

/** Events with their names, as the Messages API and the Responses API write them. */
function frames(...events) {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

function eventStream(body) {
  return { body, headers: { 'content-type': 'text/event-stream' } };
}

const chat = {
  toolsIn: ({ tools = [] }) => tools.map((tool) => tool.function.name),
  resultsIn: ({ messages = [] }) => messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
  says: (text) => ({ body: textStream(text) }),
  calls: (list) => ({ body: toolCallStream(list) }),
  options: (baseURL) => ({ upstream: chatCompletionsUpstream({ baseURL, apiKey }) }),
};

/** With a tool that the company runs for its agents. */
const chatWithTools = {
  ...chat,
  options: (baseURL) => ({
    ...chat.options(baseURL),
    tools: functionTools({ company_weather: { execute: () => 'Sunny in Bonn.' } }),
  }),
};

/** The answer in the Messages API: blocks, each with all that is added to it, and why it ended. */
function message(blocks, stop_reason) {
  const start = { id: 'msg_there', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
  return eventStream(
    frames(
      { type: 'message_start', message: { ...start, usage: { input_tokens: 9, output_tokens: 1 } } },
      ...blocks.flatMap(([content_block, delta], index) => [
        { type: 'content_block_start', index, content_block },
        { type: 'content_block_delta', index, delta },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 12 } },
      { type: 'message_stop' },
    ),
  );
}

function useOf({ id, name, arguments: json }) {
  return [
    { type: 'tool_use', id, name, input: {} },
    { type: 'input_json_delta', partial_json: json },
  ];
}

const anthropic = {
  toolsIn: ({ tools = [] }) => tools.map(({ name }) => name),
  resultsIn: ({ messages = [] }) =>
    messages
      .flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .filter(({ type }) => type === 'tool_result')
      .map(({ content }) => JSON.stringify(content)),
  says: (text) =>
    message(
      [
        [
          { type: 'text', text: '' },
          { type: 'text_delta', text },
        ],
      ],
      'end_turn',
    ),
  calls: (list) => message(list.map(useOf), 'tool_use'),
  options: (baseURL) => ({ upstream: anthropicUpstream({ baseURL, apiKey }) }),
};

/** With a tool of the server's own, requests are run here instead of passed on. */
const anthropicWithTools = {
  ...anthropic,
  options: (baseURL) => ({
    ...anthropic.options(baseURL),
    tools: functionTools({ never_called: { execute: () => '' } }),
  }),
};

/** The answer in the Responses API: items, each as it begins and with all that is added to it. */
function response(items) {
  const about = { id: 'resp_there', object: 'response', output: [] };
  const usage = { input_tokens: 9, output_tokens: 12, total_tokens: 21 };
  return eventStream(
    frames(
      { type: 'response.created', response: { ...about, status: 'in_progress' } },
      ...items.flatMap(([item, begun, delta], output_index) => [
        { type: 'response.output_item.added', output_index, item: { ...item, ...begun } },
        { output_index, item_id: item.id, ...delta },
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response: { ...about, status: 'completed', usage } },
    ),
  );
}

function callItem({ id, ...call }) {
  const item = { id: `fc_${id}`, type: 'function_call', status: 'completed', call_id: id, ...call };
  return [item, { arguments: '' }, { type: 'response.function_call_arguments.delta', delta: call.arguments }];
}

const responses = {
  toolsIn: ({ tools = [] }) => tools.map(({ name }) => name),
  resultsIn: ({ input = [] }) =>
    input.filter(({ type }) => type === 'function_call_output').map(({ output }) => JSON.stringify(output)),
  says(text) {
    const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
    const item = { id: 'msg_there', type: 'message', role: 'assistant', status: 'completed', content };
    const delta = { type: 'response.output_text.delta', content_index: 0, delta: text, logprobs: [] };
    return response([[item, { content: [] }, delta]]);
  },
  calls: (list) => response(list.map(callItem)),
  options: (baseURL) => ({ upstream: responsesUpstream({ baseURL, apiKey }) }),
};

/** By the name of the upstream that speaks to it. */
export const modelServers = {
  chatCompletionsUpstream: chat,
  'chatCompletionsUpstream, with tools': chatWithTools,
  responsesUpstream: responses,
  'anthropicUpstream, passed on': anthropic,
  'anthropicUpstream, with tools': anthropicWithTools,
};
