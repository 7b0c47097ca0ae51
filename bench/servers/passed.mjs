/** What is compared by `bench/passed.mjs`, by the second argument: `ours` with `passThroughRouter`, or `plain`, which pipes both ways in Express. */
import { request as ask, createServer } from 'node:http';
import express from 'express';
import { serve } from './serve.mjs';

const [, , , what = 'ours'] = process.argv;

serve(async (port) => {
  if (what === 'plain') return createServer(express().use('/v1', piping(port)));
  const { chatCompletionsUpstream, passThroughRouter } = await import('express-open-responses');
  const upstream = chatCompletionsUpstream({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'bench', retries: 0 });
  return createServer(express().use('/v1', passThroughRouter({ upstream })));
});

function piping(port) {
  return function pipingHandler(req, res) {
    const { authorization: _, host: __, ...headers } = req.headers;
    const passed = { ...headers, authorization: 'Bearer bench' };
    const there = ask({ port, method: req.method, path: req.originalUrl, headers: passed }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.pipe(res);
    });
    req.pipe(there);
  };
}
