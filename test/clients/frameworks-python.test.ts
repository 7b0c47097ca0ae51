/** Frameworks and programs in Python that need the address alone: each asks the demo model through its own APIs, and calls a tool. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import express from 'express';
import { chatCompletionsRouter, chatCompletionsUpstream, memoryStore, responsesRouter } from '../../src/index.ts';
import { type DemoModel, startDemoModel } from '../../src/testing/index.ts';
import { type Listening, listening } from '../support/listening.ts';
import { pythonPackage } from '../support/python-package.ts';

const ANSWER = 'Hello from the demo model. You wrote "Say hello."';
const WITHIN_MS = 120_000;

const clients = [
  ['llm', await pythonPackage('llm', '0.36')],
  ['agno', await pythonPackage('agno', '3.1.10', { along: ['openai==3.54.0'] })],
] as const;

let demo: DemoModel;
let api: Listening;
beforeAll(async () => {
  demo = await startDemoModel();
  const options = { upstream: chatCompletionsUpstream({ baseURL: demo.baseURL }), store: memoryStore() };
  const app = express().use('/v1', responsesRouter(options)).use('/v1', chatCompletionsRouter(options));
  api = await listening(createServer(app));
});
afterAll(async () => {
  await api.close();
  await demo.close();
});

/** What the script of this client prints: the texts that it was answered with, and the tools that the model called. */
async function printedBy(client: string, python: string): Promise<unknown> {
  const script = join(import.meta.dirname, `python/${client}_client.py`);
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', OPENAI_API_KEY: 'client-key' };
  const { stdout } = await promisify(execFile)(python, [script, `${api.url}/v1`], { timeout: WITHIN_MS, env });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

for (const [name, { it: itInstalled, python }] of clients)
  itInstalled(
    `[K-13] ${name} reads answers, whole and streamed, and calls of tools`,
    async () => {
      const { texts, calls } = (await printedBy(name, python)) as {
        texts: readonly string[];
        calls: readonly string[];
      };
      expect([new Set(texts), calls]).toEqual([new Set([ANSWER]), ['weather']]);
    },
    WITHIN_MS,
  );
