/** This package under test: in Express, on bare node:http through the core, and the chat router, by the second argument. */
import { createServer } from 'node:http';
import { serve } from './serve.mjs';

const what = process.argv[3] ?? 'express';

serve(async (port) => {
  const ours = await import('express-open-responses');
  const core = await import('express-open-responses/core');
  const upstream = ours.chatCompletionsUpstream({
    baseURL: `http://127.0.0.1:${port}/v1`,
    apiKey: 'bench',
    retries: 0,
  });
  const store = ours.memoryStore();
  const echo = ours.functionTools({ echo: { parameters: {}, execute: ({ text }) => text } });
  const tools = what.endsWith('-tools') ? [echo] : undefined;
  if (what === 'core') return bare(core.createResponses({ upstream, store }));
  const { default: express } = await import('express');
  const options = { upstream, store, tools };
  const router = what.startsWith('chat') ? ours.chatCompletionsRouter(options) : ours.responsesRouter(options);
  return createServer(express().use('/v1', router));
});

/** The core without a framework. */
function bare(api) {
  return createServer(async (req, res) => {
    const left = new AbortController();
    res.once('close', () => left.abort());
    const path = req.url.slice('/v1'.length);
    const { status, headers, body } = await api.handle({
      method: req.method,
      path,
      headers: req.headers,
      bytes: req,
      signal: left.signal,
    });
    res.writeHead(status, headers);
    if (typeof body === 'string') return res.end(body);
    for await (const frames of body)
      if (!res.write(frames)) await new Promise((resolve) => res.once('drain', resolve).once('close', resolve));
    res.end();
  });
}
