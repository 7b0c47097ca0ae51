/** A proxy as an app would write it: the body parsed with `express.json` and sent with undici's `fetch`, the answer piped. */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express from 'express';
import { fetch } from 'undici';
import { serve } from './serve.mjs';

serve((port) => {
  const app = express();
  app.use(express.json({ limit: '32mb' }));
  app.post('/v1/chat/completions', async (req, res) => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(req.body),
    });
    res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') });
    await pipeline(Readable.fromWeb(answer.body), res);
  });
  return createServer(app);
});
