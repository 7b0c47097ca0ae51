/** A provider of the AI SDK in Express, whose parts are written as they come. */
import { createServer } from 'node:http';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import express from 'express';
import { serve } from './serve.mjs';

serve((port) => {
  const baseURL = `http://127.0.0.1:${port}/v1`;
  const provider = createOpenAICompatible({ name: 'bench', baseURL, apiKey: 'bench', includeUsage: true });
  const app = express();
  app.use(express.json({ limit: '32mb' }));
  app.post('/v1/chat/completions', async (req, res) => {
    const prompt = [{ role: 'user', content: [{ type: 'text', text: req.body.messages[0].content }] }];
    const { stream } = await provider(req.body.model).doStream({ prompt });
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for await (const part of stream) {
      if (part.type === 'text-delta') write(res, { choices: [{ delta: { content: part.delta } }] });
      if (part.type === 'finish') write(res, { choices: [], usage: usageOf(part.usage) });
    }
    res.end();
  });
  return createServer(app);
});

function write(res, chunk) {
  res.write(`data: ${JSON.stringify(chunk)}\n\n`);
}

function usageOf({ inputTokens, outputTokens }) {
  return { prompt_tokens: inputTokens.total ?? inputTokens, completion_tokens: outputTokens.total ?? outputTokens };
}
