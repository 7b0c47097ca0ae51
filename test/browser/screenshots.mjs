/** Writes the pictures of docs/inspector.md: the built example with its demo model, and an app with traces, batches, webhooks and containers, looked at in Debian's Chromium. */
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import express from 'express';
import { chromium } from 'playwright-core';
import { start } from '../../build/examples/express/start.js';
import { batchesApi } from '../../dist/esm/batches.js';
import { containers } from '../../dist/esm/containers.js';
import { filesApi, memoryFiles } from '../../dist/esm/files.js';
import { chatCompletionsUpstream, openResponses } from '../../dist/esm/index.js';
import { createInspector } from '../../dist/esm/observe/inspector/index.js';
import { startFakeUpstream, textStream, toolCallStream } from '../../dist/esm/testing/index.js';
import { codeInterpreter, pyodideRuntime } from '../../dist/esm/tools/code-interpreter/index.js';
import { tracesApi } from '../../dist/esm/traces.js';
import { createWebhooks } from '../../dist/esm/webhooks.js';

const folder = join(import.meta.dirname, '../../docs/images');
mkdirSync(folder, { recursive: true });
const example = await start({ PORT: '0', LOG: 'off' });

/** Sends a request as a user of this key; resolves with the answer. */
async function ask(user, body) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${user}` };
  const answer = await fetch(`${example.url}/v1/responses`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'demo', ...body }),
  });
  return answer.json();
}

const { id } = await ask('ada', { input: 'Use the echo tool, please.' });
await ask('ada', { input: 'And what is six times seven?', previous_response_id: id });
await ask('ada', { input: 'Or rather: what is the capital of France?', previous_response_id: id });
await ask('bob', { input: 5 });
await ask('bob', { input: 'Say hello.' });

/** What the model of `startOffice` runs. */
const CODE =
  'total = sum([120, 80, 95])\nprint(f"Total: {total}")\nopen("/mnt/data/total.csv", "w").write(f"total\\n{total}\\n")';

/** An app in which an agent's run is traced, code has run, a batch is done and its webhook delivered. */
async function startOffice() {
  const model = await startFakeUpstream({
    models: ['my-model'],
    reply: ({ body }) => {
      const isDone = body?.messages?.some(({ role }) => role === 'tool') || !body?.tools;
      const call = { id: 'call_1', name: 'code_interpreter', arguments: JSON.stringify({ code: CODE }) };
      return { body: isDone ? textStream('The total is 295.') : toolCallStream([call]) };
    },
  });
  const files = memoryFiles();
  const runtime = pyodideRuntime();
  const shared = containers({ runtime });
  const batches = batchesApi({ files });
  const receiver = createServer(async (req, res) => {
    const { data } = JSON.parse(await text(req));
    res.end(JSON.stringify({ challenge: data.challenge }));
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  const endpoint = { url: 'https://hooks.example.com/batches', secret };
  const endpoints = [];
  const webhooks = createWebhooks({
    endpoints: () => endpoints,
    secret: 'of the pictures, and of nothing else',
    // Nothing leaves this machine.
    // Nothing leaves this machine.
    guard: { check() {}, fetch: (_url, init) => fetch(`http://127.0.0.1:${receiver.address().port}`, init) },
  });
  endpoints.push({ ...endpoint, verification: await webhooks.verify('ada', endpoint) });
  const inspector = createInspector({ batches, webhooks, containers: shared });
  const api = openResponses({
    ...{ upstream: chatCompletionsUpstream({ baseURL: model.baseURL }), inspector, webhooks, scope: () => 'ada' },
    tools: codeInterpreter({ containers: shared }),
    apis: [filesApi({ files }), batches, tracesApi({ receivers: [inspector] })],
  });
  const server = createServer(express().use('/v1', api.router).use('/inspect', inspector.router)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  const post = async (path, body) => {
    const isForm = body instanceof FormData;
    const headers = isForm ? {} : { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/v1${path}`, {
      method: 'POST',
      headers,
      body: isForm ? body : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  };

  const begin = Date.now();
  const tools = [{ type: 'code_interpreter', container: { type: 'auto' } }];
  const { id } = await post('/responses', {
    model: 'my-model',
    input: 'What is the total of the three orders?',
    tools,
  });
  const at = (ms) => new Date(begin + ms).toISOString();
  const span = (name, parent_id, from, to, data) => ({
    ...{ object: 'trace.span', id: `span_${name}`, trace_id: 'trace_orders', parent_id, error: null },
    ...{ started_at: at(from), ended_at: at(to), span_data: data },
  });
  await post('/traces/ingest', {
    data: [
      { object: 'trace', id: 'trace_orders', workflow_name: 'Orders of the day', group_id: null, metadata: null },
      span('agent', null, 0, 2400, {
        type: 'agent',
        name: 'Accountant',
        handoffs: [],
        tools: ['find_orders'],
        output_type: 'str',
      }),
      span('guard', 'span_agent', 20, 140, { type: 'guardrail', name: 'Only orders', triggered: false }),
      span('find', 'span_agent', 150, 610, {
        type: 'function',
        name: 'find_orders',
        input: '{"day":"today"}',
        output: '3 orders',
      }),
      span('ask', 'span_agent', 640, 2380, { type: 'response', response_id: id }),
    ],
  });
  const lines = ['north', 'south', 'west'].map((region) => ({
    ...{ custom_id: region, method: 'POST', url: '/v1/responses' },
    body: { model: 'my-model', input: `Summarise the orders of the ${region}.` },
  }));
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([lines.map((line) => JSON.stringify(line)).join('\n')]), 'orders.jsonl');
  const { id: input_file_id } = await post('/files', form);
  await post('/batches', { input_file_id, endpoint: '/v1/responses', completion_window: '24h' });

  async function close() {
    await api.close({ server });
    await shared.close();
    await runtime.close();
    receiver.close();
    await model.close();
  }

  return { url, close };
}

const office = await startOffice();
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });

/** Takes a picture of a page as soon as it shows what `ready` waits for. */
async function take(name, url, ready, height = 780) {
  const page = await browser.newPage({ viewport: { width: 1200, height } });
  await page.goto(url);
  await ready(page);
  await page.waitForLoadState('networkidle').catch(() => {});
  await page.screenshot({ path: join(folder, `inspector-${name}.png`) });
  await page.close();
}

const table = (page) => page.locator('main table').first().waitFor();
await take('requests', `${example.url}/inspect/#/`, table);
await take('response', `${example.url}/inspect/#/responses/1`, table);
await take(
  'traces',
  `${office.url}/inspect/#/responses/1`,
  async (page) => {
    const heading = page.getByRole('heading', { name: 'Traces' });
    await heading.waitFor();
    await heading.evaluate((element) => element.scrollIntoView());
  },
  420,
);
await take(
  'jobs',
  `${office.url}/inspect/#/jobs`,
  async (page) => {
    const show = page.getByRole('button', { name: 'Show' });
    await page.getByLabel('Tenant').fill('ada');
    // The batch runs in the background, and its webhook goes out after it.
    for (let round = 0; round < 100; round += 1) {
      await show.click();
      const delivered = page.getByText('batch.completed');
      if (
        await delivered.waitFor({ timeout: 500 }).then(
          () => true,
          () => false,
        )
      )
        break;
    }
  },
  420,
);
await take(
  'containers',
  `${office.url}/inspect/#/containers`,
  async (page) => {
    await page.locator('main summary').first().click();
    await page.getByText('Total: 295').first().waitFor();
  },
  640,
);
await browser.close();
await office.close();
await example.close();
process.exit();
