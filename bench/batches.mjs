/**
 * Batches over a scripted model on processes that share Redis and are killed, one after another, while a batch runs: lines a second,
 * calls that were made again, and the memory of the processes. Fails unless each line is in the results once. Needs `npm run build` and a
 * `redis-server`. `node bench/batches.mjs [lines] [processes] [kills]`; 10,000 lines on 2 processes that are killed 10 times by default.
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
const ENDED = new Set(['completed', 'failed', 'expired', 'cancelled']);

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
  setInterval(() => process.send({ memory: process.memoryUsage().rss }), 50).unref();
  process.on('message', async () => {
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

/** The processes that live, the one that was started last at the end; `most` is the memory of the largest that there was. */
class Nodes {
  constructor(setup) {
    this.setup = setup;
    this.live = [];
    this.most = 0;
  }

  async start() {
    const child = fork(import.meta.filename, { env: { ...process.env, BENCH_NODE: this.setup }, stdio: 'inherit' });
    child.on('message', ({ memory = 0 }) => {
      this.most = Math.max(this.most, memory);
    });
    const [{ url }] = await once(child, 'message');
    this.live.push({ child, url });
  }

  async kill() {
    const { child } = this.live.shift();
    child.kill('SIGKILL');
    await once(child, 'exit');
    await this.start();
  }

  async end() {
    for (const { child } of this.live) {
      const exit = once(child, 'exit');
      if (child.connected) child.send('end');
      await exit;
    }
  }
}

async function run(lines, processes, kills) {
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
  const asked = new Map();
  let calls = 0;
  const model = createServer(async (req, res) => {
    let body = '';
    for await (const piece of req) body += piece;
    const [question] = /Question \d+/.exec(body) ?? [''];
    asked.set(question, (asked.get(question) ?? 0) + 1);
    calls += 1;
    res.writeHead(200, { 'content-type': 'application/json' }).end(answer(calls));
  }).listen(0, '127.0.0.1');
  await once(model, 'listening');
  await pause(500);
  const setup = JSON.stringify({ redisPort, folder, modelURL: `http://127.0.0.1:${model.address().port}/v1` });
  const nodes = new Nodes(setup);
  try {
    for (let count = 0; count < processes; count += 1) await nodes.start();
    const [{ url }] = nodes.live;
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
    let killed = 0;
    while (!ENDED.has(batch.status)) {
      if (killed < kills && asked.size >= (lines * (killed + 1)) / (kills + 1)) {
        killed += 1;
        await nodes.kill();
      }
      await pause(20);
      batch = await (await fetch(`${nodes.live.at(-1).url}/batches/${batch.id}`, { headers })).json();
    }
    const seconds = (performance.now() - began) / 1000;
    const content = await fetch(`${nodes.live.at(-1).url}/files/${batch.output_file_id}/content`, { headers });
    const ids = (await content.text()).split('\n').flatMap((each) => (each === '' ? [] : [JSON.parse(each).custom_id]));
    const { total, completed, failed } = batch.request_counts;
    const isWhole = ids.length === lines && new Set(ids).size === lines && asked.size === lines;
    console.log(`${batch.status}: ${completed} of ${total} lines, ${failed} failed; ${killed} of ${kills} kills`);
    console.log(`each line once in the results: ${isWhole}; ${calls - asked.size} calls of the model made again`);
    console.log(`${(total / seconds).toFixed(0)} lines a second on ${processes} processes (${seconds.toFixed(1)} s)`);
    console.log(`most memory of a process: ${(nodes.most / MIB).toFixed(0)} MiB`);
    if (!isWhole || killed < kills) process.exitCode = 1;
  } finally {
    await nodes.end();
    redis.kill();
    model.close();
    model.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.env.BENCH_NODE) await node(JSON.parse(process.env.BENCH_NODE));
else {
  const [lines = 10_000, processes = 2, kills = 10] = process.argv.slice(2).map(Number);
  await run(lines, processes, kills);
}
