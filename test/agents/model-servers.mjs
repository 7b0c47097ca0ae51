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
  calls: (id, name, args) => ({ body: toolCallStream([{ id, name, arguments: JSON.stringify(args) }]) }),
  options: (baseURL) => ({ upstream: chatCompletionsUpstream({ baseURL, apiKey }) }),
};

/** The answer in the Messages API: one block, and why it ended. */
function message(block, delta, stop_reason) {
  const start = { id: 'msg_there', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
  return eventStream(
    frames(
      { type: 'message_start', message: { ...start, usage: { input_tokens: 9, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 12 } },
      { type: 'message_stop' },
    ),
  );
}

const anthropic = {
  toolsIn: ({ tools = [] }) => tools.map(({ name }) => name),
  resultsIn: ({ messages = [] }) =>
    messages
      .flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .filter(({ type }) => type === 'tool_result')
      .map(({ content }) => JSON.stringify(content)),
  says: (text) => message({ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn'),
  calls: (id, name, args) =>
    message(
      { type: 'tool_use', id, name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(args) },
      'tool_use',
    ),
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

/** The answer in the Responses API: one item. */
function response(item, begun, delta) {
  const about = { id: 'resp_there', object: 'response', output: [] };
  const usage = { input_tokens: 9, output_tokens: 12, total_tokens: 21 };
  return eventStream(
    frames(
      { type: 'response.created', response: { ...about, status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, ...begun } },
      { output_index: 0, item_id: item.id, ...delta },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { ...about, status: 'completed', usage } },
    ),
  );
}

const responses = {
  toolsIn: ({ tools = [] }) => tools.map(({ name }) => name),
  resultsIn: ({ input = [] }) =>
    input.filter(({ type }) => type === 'function_call_output').map(({ output }) => JSON.stringify(output)),
  says(text) {
    const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
    const item = { id: 'msg_there', type: 'message', role: 'assistant', status: 'completed', content };
    const delta = { type: 'response.output_text.delta', content_index: 0, delta: text, logprobs: [] };
    return response(item, { content: [] }, delta);
  },
  calls(call_id, name, args) {
    const json = JSON.stringify(args);
    const item = { id: `fc_${call_id}`, type: 'function_call', status: 'completed', call_id, name, arguments: json };
    return response(item, { arguments: '' }, { type: 'response.function_call_arguments.delta', delta: json });
  },
  options: (baseURL) => ({ upstream: responsesUpstream({ baseURL, apiKey }) }),
};

/** By the name of the upstream that speaks to it. */
export const modelServers = {
  chatCompletionsUpstream: chat,
  responsesUpstream: responses,
  'anthropicUpstream, passed on': anthropic,
  'anthropicUpstream, with tools': anthropicWithTools,
};
