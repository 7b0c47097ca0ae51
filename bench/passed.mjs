/**
 * What `passThroughRouter` costs against a proxy in Express that pipes both ways: an audio upload of 200 MB, and 1,000 embeddings requests, each
 * after 20,000 others, since code that has not run often is not compiled yet. Memory is the highest above that before, and of embeddings what a
 * request allocates, since garbage collection may come before, within or after a thousand of them.
 * `npm run build && node bench/passed.mjs [rounds]`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as ask, createServer } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const MB = 1e6;
const UPLOAD_BYTES = 200 * MB;
const REQUESTS = 1000;
/** Times 1,000: V8 compiles the code of a path that has been taken 10,000 times, not before. */
const WARM_UPS = 20;
const AT_ONCE = 16;
const PIECE = Buffer.alloc(64 * 1024, 'x');
const HEAD = Buffer.from(
  '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n',
);
const TAIL = Buffer.from('\r\n--b--\r\n');
const ANSWER = JSON.stringify({
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: Array.from({ length: 1024 }, (_, at) => at / 1024) }],
  model: 'e',
  usage: { prompt_tokens: 8, total_tokens: 8 },
});
const EMBED = JSON.stringify({ model: 'e', input: 'word '.repeat(200) });
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
const rounds = Number(process.argv[2] ?? 3);

const model = createServer((req, res) => {
  req.resume().once('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER));
});
model.listen(0, '127.0.0.1');
await once(model, 'listening');

function start(what) {
  const file = join(import.meta.dirname, 'servers/passed.mjs');
  const child = fork(file, [String(model.address().port), what], { execArgv: ['--expose-gc'] });
  const replies = [];
  child.on('message', (message) => replies.shift()?.(message));
  const reply = () => new Promise((resolve) => replies.push(resolve));
  return { child, reply };
}

async function usage({ child, reply }, query = 'usage') {
  const answered = reply();
  child.send({ ask: query });
  return answered;
}

function send(port, path, headers, write) {
  return new Promise((resolve, reject) => {
    const req = ask({ port, path: `/v1${path}`, method: 'POST', agent, headers }, (res) => {
      res
        .resume()
        .once('end', () => (res.statusCode === 200 ? resolve() : reject(new Error(`Got ${res.statusCode}.`))));
    });
    req.once('error', reject);
    write(req);
  });
}

async function upload(port) {
  const pieces = Math.ceil(UPLOAD_BYTES / PIECE.length);
  const length = HEAD.length + pieces * PIECE.length + TAIL.length;
  const headers = { 'content-type': 'multipart/form-data; boundary=b', 'content-length': length };
  await send(port, '/audio/transcriptions', headers, async (req) => {
    req.write(HEAD);
    for (let sent = 0; sent < pieces; sent += 1) if (!req.write(PIECE)) await once(req, 'drain');
    req.end(TAIL);
  });
}

async function embed(port) {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(EMBED) };
  const worker = async (count) => {
    for (let sent = 0; sent < count; sent += 1) await send(port, '/embeddings', headers, (req) => req.end(EMBED));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, () => worker(Math.ceil(REQUESTS / AT_ONCE))));
}

/** Seconds, and seconds of CPU. Nothing is collected before: V8 drops compiled code when it is told to collect. */
async function measured(server, port, work) {
  const before = await usage(server);
  const began = performance.now();
  await work(port);
  const seconds = (performance.now() - began) / 1000;
  const after = await usage(server);
  return { seconds, cpu: (after.cpu - before.cpu) / 1e6 };
}

/** The highest resident memory above that before, in MB. */
async function highest(server, port, work) {
  const before = await usage(server, 'collected');
  let peak = before.rss;
  const watch = setInterval(() => usage(server).then(({ rss }) => (peak = Math.max(peak, rss))), 50);
  await work(port);
  clearInterval(watch);
  const after = await usage(server);
  return (Math.max(peak, after.rss) - before.rss) / MB;
}

/** What a request allocates, in KB. */
async function allocated(server, port, work) {
  await usage(server, 'beginAllocations');
  await work(port);
  const { bytes } = await usage(server, 'allocations');
  return bytes / REQUESTS / 1000;
}

const WORKS = [
  ['1,000 embeddings', REQUESTS, embed, allocated],
  ['upload of 200 MB', UPLOAD_BYTES / MB, upload, highest],
];
const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
const found = new Map();
for (let round = 0; round < rounds; round += 1) {
  for (const what of ['plain', 'ours']) {
    const server = start(what);
    const { port } = await server.reply();
    for (let warmUp = 0; warmUp < WARM_UPS; warmUp += 1) await embed(port);
    for (const [name, , work, memoryOf] of WORKS) {
      const key = `${name}, ${what}`;
      await work(port);
      const figures = { ...(await measured(server, port, work)), memory: await memoryOf(server, port, work) };
      found.set(key, [...(found.get(key) ?? []), figures]);
    }
    server.child.disconnect();
  }
}
const middle = (key, field) => median(found.get(key).map((figures) => figures[field]));
console.log('| | seconds | MB/s or requests/s | CPU, s | × plain | memory, MB, or KB a request | × plain |');
console.log('| --- | --- | --- | --- | --- | --- | --- |');
for (const [name, amount] of WORKS) {
  for (const what of ['plain', 'ours']) {
    const [seconds, cpu, memory] = ['seconds', 'cpu', 'memory'].map((field) => middle(`${name}, ${what}`, field));
    const [plainCpu, plainMemory] = ['cpu', 'memory'].map((field) => middle(`${name}, plain`, field));
    const row = [
      seconds.toFixed(2),
      (amount / seconds).toFixed(0),
      cpu.toFixed(2),
      (cpu / plainCpu).toFixed(2),
      memory.toFixed(0),
      (memory / plainMemory).toFixed(2),
    ];
    console.log(`| ${name}, ${what} | ${row.join(' | ')} |`);
  }
}
agent.destroy();
model.close();
