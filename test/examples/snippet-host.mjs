/**
 * What the parts of apps that the documentation shows have around them, as `test/package/features/globals.d.ts` declares it: a process that evaluates the
 * modules of its arguments one after the other, and prints the fault of each.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import express from 'express';
import { chatCompletionsUpstream, inProcessEngine, memoryStore, responsesRouter } from 'express-open-responses';
import { batchesRouter } from 'express-open-responses/batches';
import { pyodideRuntime } from 'express-open-responses/code-interpreter';
import { containersRouter } from 'express-open-responses/containers';
import { filesRouter, memoryFiles } from 'express-open-responses/files';
import { mcpTools } from 'express-open-responses/mcp';
import { startDemoModel } from 'express-open-responses/testing';
import Database from 'libsql';
import OpenAI from 'openai';

/** An answer that a promise nobody waits for needs to fail. */
const SETTLE_MS = 100;

const demo = await startDemoModel();
const uploaded = memoryFiles();
const responses = responsesRouter({
  upstream: chatCompletionsUpstream({ baseURL: demo.baseURL }),
  store: memoryStore(),
});
const served = express()
  .use('/v1', filesRouter({ files: uploaded }))
  .use('/v1', containersRouter({ runtime: pyodideRuntime({ warm: 0 }) }))
  .use('/v1', batchesRouter({ files: uploaded, apis: [responses], store: memoryStore() }), responses);
await new Promise((resolve) => served.listen(Number(process.env.APP_PORT), '127.0.0.1', resolve));
const client = new OpenAI({ baseURL: `http://127.0.0.1:${process.env.APP_PORT}/v1`, apiKey: 'any', maxRetries: 0 });
const stream = await client.responses.create({ model: 'demo', input: 'Say hello.', background: true, stream: true });
let id = '';
for await (const event of stream) id ||= event.response?.id ?? '';

const container = await client.containers.create({ name: 'charts' });
const chart = new File(['a picture'], 'chart.png');
const citation = {
  container_id: container.id,
  file_id: (await client.containers.files.create(container.id, { file: chart })).id,
};

writeFileSync('sales.csv', 'month,sales\n1,7\n');
writeFileSync('report.pdf', '%PDF-1.7');
writeFileSync(
  'requests.jsonl',
  '{"custom_id":"1","method":"POST","url":"/v1/responses","body":{"model":"demo","input":"Say hello."}}',
);
writeFileSync('mcp.json', '{"mcpServers":{}}');
writeFileSync('servers_config.json', '{"mcpServers":{}}');
mkdirSync('skills/greet', { recursive: true });
writeFileSync('skills/greet/SKILL.md', '---\nname: greet\ndescription: Greets.\n---\nSay hello.\n');

const pass = (_req, _res, next) => next();
Object.assign(process.env, { OPENAI_BASE_URL: demo.baseURL, OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' });
Object.assign(globalThis, {
  app: express(),
  mcp: mcpTools(),
  tools: mcpTools(),
  database: new Database(':memory:'),
  files: memoryFiles(),
  embeddings: { baseURL: demo.baseURL, model: 'demo' },
  client,
  citation,
  model: 'demo',
  id,
  lastSequenceNumber: 0,
  show() {},
  log: console,
  index: { find: async () => [] },
  myUpstream: ({ baseURL, apiKey }) => chatCompletionsUpstream({ baseURL, apiKey }),
  myEngine: () => inProcessEngine(),
  // The cases of a contract are only registered: each contract has tests of its own.
  describe: (_name, body) => body(),
  it() {},
  companyAuth: pass,
  proxy: pass,
});

let fault = '';
const noted = (error) => {
  fault ||= error?.stack ?? String(error);
};
process.on('unhandledRejection', noted).on('uncaughtException', noted);

for (const path of process.argv.slice(2)) {
  fault = '';
  await import(path).catch(noted);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  console.log(`\n${JSON.stringify({ path, fault })}`);
}
process.exit(0);
