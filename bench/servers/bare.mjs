/**
 * The same translation with nothing around it: undici, one parse, one template for deltas, one write for each tick; no
 * limits, heartbeats, checks, store, backpressure or error handling.
 */
import { createServer } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import express from 'express';
import { Pool } from 'undici';
import { serve } from './serve.mjs';
import { chatBody, translator, whole } from './translator.mjs';

serve((port) => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { headersTimeout: 0, bodyTimeout: 0 });
  const app = express();
  app.use(express.json({ limit: '32mb' }));
  app.post('/v1/responses', async (req, res) => {
    const { model, stream } = req.body;
    const headers = { 'content-type': 'application/json' };
    const asked = { method: 'POST', path: '/v1/chat/completions', headers, body: chatBody(req.body) };
    const { body } = await pool.request(asked);
    if (!stream) return res.json(whole(model, await body.json()));
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    translate(res, model, body);
  });
  return createServer(app);
});

function translate(res, model, body) {
  let sequence = 0;
  let frames = '';
  const flush = () => {
    res.write(frames);
    frames = '';
  };
  const { take, end } = translator(model, (type, fields) => {
    if (frames === '') process.nextTick(flush);
    frames += frameOf(type, sequence++, fields);
  });
  const decoder = new StringDecoder('utf8');
  const parser = createParser({ onEvent: ({ data }) => data !== '[DONE]' && take(JSON.parse(data)) });
  body.on('data', (bytes) => parser.feed(decoder.write(bytes)));
  body.on('end', () => {
    end();
    process.nextTick(() => res.end());
  });
}

function frameOf(type, sequence, fields) {
  const { item_id, delta, logprobs } = fields;
  if (type !== 'response.output_text.delta' || logprobs.length > 0)
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}\n\n`;
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},"item_id":"${item_id}","output_index":0,"content_index":0,"delta":${JSON.stringify(delta)},"logprobs":[]}\n\n`;
}
