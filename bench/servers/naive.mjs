/** A translator as written in an afternoon: Express, fetch, one object, one stringify and one write for each event. */
import { createServer } from 'node:http';
import express from 'express';
import { serve } from './serve.mjs';
import { chatBody, translator, whole } from './translator.mjs';

serve((port) => {
  const app = express();
  app.use(express.json({ limit: '32mb' }));
  app.post('/v1/responses', async (req, res) => {
    const { model, stream } = req.body;
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: chatBody(req.body),
    });
    if (!stream) return res.json(whole(model, await answer.json()));
    res.setHeader('content-type', 'text/event-stream');
    await translate(res, model, answer.body);
  });
  return createServer(app);
});

async function translate(res, model, body) {
  let sequence_number = 0;
  const { take, end } = translator(model, (type, fields) =>
    res.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...fields })}\n\n`),
  );
  for await (const chunk of chunks(body)) take(chunk);
  end();
  res.end();
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
