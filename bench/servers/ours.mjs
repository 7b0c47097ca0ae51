/**
 * This package under test, by the second argument: `express`, on bare node:http through the `core`, the `chat` and the `messages` router; with
 * `-tool` a function of the server, with `-mcp` the tools of the MCP server whose URL is the third argument, with `-balanced`
 * the model server as the only one of `balanced`, with `-responses` a model server of the Responses API, with `-aiSdk` a provider
 * of the AI SDK, with `-early` streams that are opened after a millisecond, with `-pii` a guard of the output, with `-inspector` an inspector.
 */
import { createServer } from 'node:http';
import { serve } from './serve.mjs';

const [, , , what = 'express', mcpURL] = process.argv;
const [api, tool] = what.split('-');

serve(async (port) => {
  const ours = await import('express-open-responses');
  const baseURL = `http://127.0.0.1:${port}/v1`;
  const upstream = await upstreamOf(ours, { baseURL, apiKey: 'bench', retries: 0 });
  const options = await withOption({ upstream, store: ours.memoryStore(), tools: await toolsOf(ours) });
  if (api === 'core') {
    const core = await import('express-open-responses/core');
    return bare(core.openResponses(options));
  }
  const { default: express } = await import('express');
  const routers = { chat: ours.chatCompletionsRouter, messages: ours.messagesRouter, express: ours.responsesRouter };
  return createServer(express().use('/v1', routers[api](options)));
});

async function upstreamOf({ chatCompletionsUpstream }, settings) {
  if (tool === 'responses') {
    const { responsesUpstream } = await import('express-open-responses/upstreams/responses');
    return responsesUpstream(settings);
  }
  if (tool === 'aiSdk') {
    const { aiSdkUpstream } = await import('express-open-responses/upstreams/ai-sdk');
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    return aiSdkUpstream(createOpenAICompatible({ name: 'bench', includeUsage: true, ...settings }));
  }
  const server = chatCompletionsUpstream(settings);
  if (tool !== 'balanced') return server;
  const { balanced } = await import('express-open-responses/routing');
  return balanced([server]);
}

async function withOption(options) {
  if (tool === 'early') return { ...options, limits: { model: { openAfterMs: 1 } } };
  if (tool === 'pii') {
    const { pii } = await import('express-open-responses/guards');
    return { ...options, guards: { output: [pii()] } };
  }
  if (tool !== 'inspector') return options;
  const { createInspector } = await import('express-open-responses/inspector');
  return createInspector().observe(options);
}

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
