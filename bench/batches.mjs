/**
 * Batches over a scripted model on two processes that share Redis: lines a second, and the memory of each process. Needs `npm run build`
 * and a `redis-server`. `node bench/batches.mjs [lines] [processes]`; 10,000 lines on 2 processes by default. Asserts nothing.
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const MIB = 1024 * 1024;

/** One process: a router, files and batches over Redis; reports its memory. */
async function node({ redisPort, modelURL, folder }) {
  const { createClient } = await import('redis');
  const { default: express } = await import('express');
  const { chatCompletionsUpstream, responsesRouter } = await import('express-open-responses');
  const { batchesRouter } = await import('express-open-responses/batches');
  const { bullmqEngine } = await import('express-open-responses/engines/bullmq');
  const { diskFiles, filesRouter } = await import('express-open-responses/files');
  const { redisStore } = await import('express-open-responses/stores/redis');
  const client = await createClient({ url: `redis://127.0.0.1:${redisPort}` }).connect();
  const store = redisStore({ client });
  const files = diskFiles({ folder });
  const upstream = chatCompletionsUpstream({ baseURL: modelURL, apiKey: 'key' });
  const responses = responsesRouter({ upstream, logger: false });
  const engine = bullmqEngine({ connection: client, queueName: 'batches', lockMs: 5000 });
  const batches = batchesRouter({
    files,
    store,
    engine,
    secret: 'a key of sixteen bytes',
    apis: [responses],
    logger: false,
  });
  const server = express().use('/v1', filesRouter({ files }), batches, responses).listen(0, '127.0.0.1');
  await once(server, 'listening');
  let most = 0;
  setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 50).unref();
  process.on('message', async (message) => {
    if (message === 'memory') process.send({ most });
    if (message !== 'end') return;
    await batches.drain();
    process.exit(0);
  });
  process.send({ url: `http://127.0.0.1:${server.address().port}/v1` });
}

/** A free port. */
async function freePort() {
  const server = createSocket().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function message(child, name) {
  for (;;) {
    const [value] = await once(child, 'message');
    if (value[name] !== undefined) return value[name];
  }
}

async function run(lines, processes) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-batches-'));
  const redisPort = await freePort();
  const redis = spawn(
    'redis-server',
    ['--port', String(redisPort), '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1'],
    { stdio: 'ignore' },
  );
  const answer = (id) =>
    JSON.stringify({
      ...{ id: `chatcmpl-${id}`, object: 'chat.completion', created: 0, model: 'scripted' },
      choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(500) }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 20, completion_tokens: 100, total_tokens: 120 },
    });
  let asked = 0;
  const model = createServer(async (req, res) => {
    for await (const _ of req);
    asked += 1;
    res.writeHead(200, { 'content-type': 'application/json' }).end(answer(asked));
  }).listen(0, '127.0.0.1');
  await once(model, 'listening');
  await pause(500);
  const setup = JSON.stringify({ redisPort, folder, modelURL: `http://127.0.0.1:${model.address().port}/v1` });
  const nodes = Array.from({ length: processes }, () =>
    fork(import.meta.filename, { env: { ...process.env, BENCH_NODE: setup }, stdio: 'inherit' }),
  );
  try {
    const [url] = await Promise.all(nodes.map((child) => message(child, 'url')));
    const headers = { authorization: 'Bearer bench' };
    const input = Array.from({ length: lines }, (_, index) =>
      JSON.stringify({
        custom_id: `${index}`,
        method: 'POST',
        url: '/v1/responses',
        body: { model: 'scripted', input: `Question ${index}` },
      }),
    ).join('\n');
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([input]), 'input.jsonl');
    const file = await (await fetch(`${url}/files`, { method: 'POST', headers, body: form })).json();
    const began = performance.now();
    const body = JSON.stringify({ input_file_id: file.id, endpoint: '/v1/responses', completion_window: '24h' });
    const type = { 'content-type': 'application/json' };
    let batch = await (
      await fetch(`${url}/batches`, { method: 'POST', headers: { ...headers, ...type }, body })
    ).json();
    while (!['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) {
      await pause(50);
      batch = await (await fetch(`${url}/batches/${batch.id}`, { headers })).json();
    }
    const seconds = (performance.now() - began) / 1000;
    const memory = await Promise.all(
      nodes.map((child) => {
        const most = message(child, 'most');
        child.send('memory');
        return most;
      }),
    );
    const { total, completed, failed } = batch.request_counts;
    console.log(`${batch.status}: ${completed} of ${total} lines, ${failed} failed, ${asked} calls of the model`);
    console.log(`${(total / seconds).toFixed(0)} lines a second on ${processes} processes (${seconds.toFixed(1)} s)`);
    console.log(`most memory: ${memory.map((bytes) => `${(bytes / MIB).toFixed(0)} MiB`).join(', ')}`);
  } finally {
    for (const child of nodes) child.connected && child.send('end');
    await Promise.all(nodes.map((child) => child.exitCode === null && once(child, 'exit')));
    redis.kill();
    model.close();
    model.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.env.BENCH_NODE) await node(JSON.parse(process.env.BENCH_NODE));
else await run(Number(process.argv[2] ?? 10_000), Number(process.argv[3] ?? 2));
