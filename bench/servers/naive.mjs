/** What is written in an afternoon: Express, fetch, one object, one stringify and one write for each event. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import express from 'express';
import { serve } from './serve.mjs';

serve((port) => {
  const app = express();
  app.use(express.json({ limit: '32mb' }));
  app.post('/v1/responses', async (req, res) => {
    const { model, input, tools, stream = false } = req.body;
    const asked = {
      ...{ model, stream, messages: [{ role: 'user', content: input }] },
      tools: tools?.map(({ type, ...tool }) => ({ type, function: tool })),
    };
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    if (!stream) return res.json(whole(model, await answer.json()));
    res.setHeader('content-type', 'text/event-stream');
    await translate(res, model, answer.body);
  });
  return createServer(app);
});

function responseOf(model) {
  return { id: `resp_${randomUUID()}`, object: 'response', model, status: 'in_progress', output: [] };
}

function whole(model, { choices, usage }) {
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

async function translate(res, model, body) {
  let sequence_number = 0;
  const say = (type, fields) =>
    res.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...fields })}\n\n`);
  const response = responseOf(model);
  say('response.created', { response });
  say('response.in_progress', { response });
  let writer;
  let usage;
  for await (const chunk of chunks(body)) {
    const { delta, logprobs } = chunk.choices[0] ?? {};
    const call = delta?.tool_calls?.[0];
    if (chunk.usage) usage = usageOf(chunk.usage);
    if (delta?.content || call) writer ??= call ? callWriter(say, call) : messageWriter(say);
    if (delta?.content) writer.take(delta.content, logprobs?.content ?? []);
    if (call?.function.arguments) writer.take(call.function.arguments);
  }
  const output = writer ? [writer.end()] : [];
  say('response.completed', { response: { ...response, status: 'completed', output, usage } });
  res.end();
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

async function* chunks(body) {
  const decoder = new TextDecoder();
  let buffer = '';
  for await (const bytes of body) {
    buffer += decoder.decode(bytes, { stream: true });
    const lines = buffer.split('\n');
    buffer = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data: ') && line !== 'data: [DONE]') yield JSON.parse(line.slice(6));
    }
  }
}
