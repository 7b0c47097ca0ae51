/**
 * This package under test, by the second argument: `express`, on bare node:http through the `core`, the `chat` router; with
 * `-tool` a function of the server, with `-mcp` the tools of the MCP server whose URL is the third argument.
 */
import { createServer } from 'node:http';
import { serve } from './serve.mjs';

const [, , , what = 'express', mcpURL] = process.argv;
const [api, tool] = what.split('-');

serve(async (port) => {
  const ours = await import('express-open-responses');
  const baseURL = `http://127.0.0.1:${port}/v1`;
  const upstream = ours.chatCompletionsUpstream({ baseURL, apiKey: 'bench', retries: 0 });
  const options = { upstream, store: ours.memoryStore(), tools: await toolsOf(ours) };
  if (api === 'core') {
    const core = await import('express-open-responses/core');
    return bare(core.createResponses(options));
  }
  const { default: express } = await import('express');
  const router = api === 'chat' ? ours.chatCompletionsRouter(options) : ours.responsesRouter(options);
  return createServer(express().use('/v1', router));
});

async function toolsOf({ functionTools }) {
  if (tool === 'tool') return functionTools({ echo: { parameters: {}, execute: ({ text }) => text } });
  if (tool !== 'mcp') return undefined;
  const { mcpTools } = await import('express-open-responses/mcp');
  return mcpTools({ servers: { bench: { url: mcpURL } } });
}

/** The core without a framework. */
function bare(api) {
  return createServer((req, res) => {
    // A client that has left gets no answer.
    serveBare(api, req, res).catch(() => res.destroy());
  });
}

async function serveBare(api, req, res) {
  const left = new AbortController();
  res.once('close', () => left.abort());
  const { method, headers } = req;
  const path = req.url.slice('/v1'.length);
  const reply = await api.handle({ method, path, headers, bytes: req, signal: left.signal });
  res.writeHead(reply.status, reply.headers);
  if (typeof reply.body === 'string') return res.end(reply.body);
  for await (const frames of reply.body) if (!res.write(frames)) await writable(res);
  res.end();
}

function writable(res) {
  return new Promise((resolve) => {
    const settle = () => resolve(res.off('drain', settle).off('close', settle));
    res.on('drain', settle).on('close', settle);
  });
}
