/** What is compared by `bench/passed.mjs`, by the second argument: `ours` with `passThroughRouter`, or `plain`, which pipes both ways in Express. */
import { request as ask, createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import express from 'express';
import { serve } from './serve.mjs';

const [, , , what = 'ours'] = process.argv;

const session = new Session();
session.connect();
const SAMPLING = {
  samplingInterval: 512,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
};

/** What is allocated on the heap between the two, in bytes, by samples: collected objects too. */
const allocations = {
  async beginAllocations() {
    await session.post('HeapProfiler.startSampling', SAMPLING);
    return {};
  },
  async allocations() {
    const { profile } = await session.post('HeapProfiler.stopSampling');
    const sum = ({ selfSize, children }) => children.reduce((bytes, child) => bytes + sum(child), selfSize);
    return { bytes: sum(profile.head) };
  },
};

async function make(port) {
  if (what === 'plain') return createServer(express().use('/v1', piping(port)));
  const { chatCompletionsUpstream, passThroughRouter } = await import('express-open-responses');
  const upstream = chatCompletionsUpstream({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'bench', retries: 0 });
  return createServer(express().use('/v1', passThroughRouter({ upstream })));
}

serve(make, allocations);

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
