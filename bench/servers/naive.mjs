/** What is written in an afternoon: Express, fetch, one object, one stringify and one write for each event. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import express from 'express';
import { serve } from './serve.mjs';

serve((port) => {
  const app = express();
  app.use(express.json({ limit: '32mb' }));
  app.post('/v1/responses', async (req, res) => {
    const messages = [{ role: 'user', content: req.body.input }];
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: req.body.model, messages, stream: true }),
    });
    res.setHeader('content-type', 'text/event-stream');
    let sequence_number = 0;
    const say = (type, fields) =>
      res.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...fields })}\n\n`);
    const response = {
      id: `resp_${randomUUID()}`,
      object: 'response',
      model: req.body.model,
      status: 'in_progress',
      output: [],
    };
    const item_id = `msg_${randomUUID()}`;
    const where = { item_id, output_index: 0, content_index: 0 };
    say('response.created', { response });
    say('response.in_progress', { response });
    say('response.output_item.added', {
      output_index: 0,
      item: { id: item_id, type: 'message', role: 'assistant', content: [] },
    });
    say('response.content_part.added', { ...where, part: { type: 'output_text', text: '', annotations: [] } });
    let whole = '';
    for await (const chunk of chunks(answer.body)) {
      const delta = chunk.choices[0]?.delta?.content;
      if (!delta) continue;
      whole += delta;
      say('response.output_text.delta', { ...where, delta, logprobs: [] });
    }
    const part = { type: 'output_text', text: whole, annotations: [], logprobs: [] };
    const item = { id: item_id, type: 'message', role: 'assistant', status: 'completed', content: [part] };
    say('response.output_text.done', { ...where, text: whole });
    say('response.content_part.done', { ...where, part });
    say('response.output_item.done', { output_index: 0, item });
    say('response.completed', { response: { ...response, status: 'completed', output: [item] } });
    res.end();
  });
  return createServer(app);
});

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
