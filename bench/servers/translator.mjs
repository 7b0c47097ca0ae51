/** The events of both translators of the bench, which differ only in how they read and write. */
import { randomUUID } from 'node:crypto';

function responseOf(model) {
  return { id: `resp_${randomUUID()}`, object: 'response', model, status: 'in_progress', output: [] };
}

/** A whole answer as a response. */
export function whole(model, { choices, usage }) {
  const message = messageOf(`msg_${randomUUID()}`, choices[0].message.content);
  return { ...responseOf(model), status: 'completed', output: [message], usage: usageOf(usage) };
}

function messageOf(id, text) {
  const part = { type: 'output_text', text, annotations: [], logprobs: [] };
  return { id, type: 'message', role: 'assistant', status: 'completed', content: [part] };
}

function usageOf({ prompt_tokens, completion_tokens, total_tokens }) {
  return { input_tokens: prompt_tokens, output_tokens: completion_tokens, total_tokens };
}

/** Takes the chunks of the model; `say` receives the type and the fields of each event. */
export function translator(model, say) {
  const response = responseOf(model);
  say('response.created', { response });
  say('response.in_progress', { response });
  let writer;
  let usage;
  return {
    take(chunk) {
      const { delta, logprobs } = chunk.choices[0] ?? {};
      const call = delta?.tool_calls?.[0];
      if (chunk.usage) usage = usageOf(chunk.usage);
      if (delta?.content || call) writer ??= call ? callWriter(say, call) : messageWriter(say);
      if (delta?.content) writer.take(delta.content, logprobs?.content ?? []);
      if (call?.function.arguments) writer.take(call.function.arguments);
    },
    end() {
      const output = writer ? [writer.end()] : [];
      say('response.completed', { response: { ...response, status: 'completed', output, usage } });
    },
  };
}

/** The body for the model server. */
export function chatBody({ model, input, tools, stream = false }) {
  return JSON.stringify({
    ...{ model, stream, messages: [{ role: 'user', content: input }] },
    tools: tools?.map(({ type, ...tool }) => ({ type, function: tool })),
  });
}

function messageWriter(say) {
  const item_id = `msg_${randomUUID()}`;
  const where = { item_id, output_index: 0, content_index: 0 };
  let text = '';
  say('response.output_item.added', { output_index: 0, item: { ...messageOf(item_id, ''), content: [] } });
  say('response.content_part.added', { ...where, part: { type: 'output_text', text: '', annotations: [] } });
  return {
    take(delta, logprobs) {
      text += delta;
      say('response.output_text.delta', { ...where, delta, logprobs });
    },
    end() {
      const item = messageOf(item_id, text);
      say('response.output_text.done', { ...where, text });
      say('response.content_part.done', { ...where, part: item.content[0] });
      say('response.output_item.done', { output_index: 0, item });
      return item;
    },
  };
}

function callWriter(say, { id: call_id, function: { name } }) {
  const id = `fc_${randomUUID()}`;
  const where = { item_id: id, output_index: 0 };
  const call = { id, type: 'function_call', call_id, name };
  let text = '';
  say('response.output_item.added', { output_index: 0, item: { ...call, arguments: '' } });
  return {
    take(delta) {
      text += delta;
      say('response.function_call_arguments.delta', { ...where, delta });
    },
    end() {
      const item = { ...call, arguments: text, status: 'completed' };
      say('response.function_call_arguments.done', { ...where, arguments: text });
      say('response.output_item.done', { output_index: 0, item });
      return item;
    },
  };
}
