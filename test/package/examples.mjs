/** Copies each example out of the repository, as a reader would, installs it with the packed package and asks it over HTTP and WebSocket. */
import { execFileSync, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { WebSocket } from 'ws';

const START_MS = 60_000;
const ANSWER = 'Hello from the demo model. You wrote "Say hello."';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'express-open-responses-examples-'));
const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });

/** The folder alone: what was installed or built in it stays behind. */
function copied(example) {
  const cwd = join(folder, example);
  const isSource = (path) => !['node_modules', 'dist'].includes(basename(path));
  cpSync(join(root, 'examples', example), cwd, { recursive: true, filter: isSource });
  return cwd;
}

/** Runs `npm start` on a free port; its processes are one group, so that all of them can be stopped. */
async function started(cwd, variables) {
  const env = { ...process.env, PORT: '0', LOG: 'off', UPSTREAM_BASE_URL: '', ...variables };
  const child = spawn('npm', ['start'], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  // Not 'exit': npm may end before the server does, whose output keeps this open.
  const ended = once(child, 'close');
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), START_MS);
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = line.match(/^The Responses API is at (\S+)/) ?? [];
    if (!url) continue;
    clearTimeout(timer);
    child.stdout.resume();
    return { url, stop: () => stopped(child, ended) };
  }
  throw new Error(`npm start in ${cwd} ended with ${await ended}.`);
}

async function stopped(child, ended) {
  process.kill(-child.pid, 'SIGTERM');
  await ended;
}

async function askOverHttp(url) {
  const body = JSON.stringify({ model: 'demo', input: 'Say hello.' });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/responses`, { method: 'POST', headers, body });
  const { output } = await answer.json();
  return output?.at(-1).content[0].text;
}

async function askOverWebSocket(url) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/responses`);
  const request = { type: 'response.create', model: 'demo', input: 'Say hello.' };
  socket.once('open', () => socket.send(JSON.stringify(request)));
  let text = '';
  for await (const [data] of on(socket, 'message', { close: ['close'] })) {
    const event = JSON.parse(String(data));
    if (event.type === 'response.output_text.delta') text += event.delta;
    if (['response.completed', 'response.failed', 'error'].includes(event.type)) socket.close();
  }
  return text;
}

async function tryOut(example, tarball, { ways = [askOverHttp, askOverWebSocket], variables = {} } = {}) {
  const cwd = copied(example);
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', tarball], cwd);
  const app = await started(cwd, variables);
  try {
    const answers = [];
    for (const ask of ways) answers.push(await ask(app.url));
    if (answers.some((answer) => answer !== ANSWER)) throw new Error(`${example} answered ${JSON.stringify(answers)}`);
  } finally {
    await app.stop();
  }
  const isUp = await fetch(app.url).then(
    () => true,
    () => false,
  );
  if (isUp) throw new Error(`${example} goes on after SIGTERM.`);
  console.log(`ok: examples/${example} by itself: ${ways.map((ask) => ask.name).join(' and ')}`);
}

/** The cluster example needs a database: a Redis server of this machine, if there is one. */
async function tryOutCluster(tarball) {
  const port = await freePort();
  const redis = spawn('redis-server', ['--port', port, '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' });
  const isThere = await Promise.race([once(redis, 'spawn').then(() => true), once(redis, 'error').then(() => false)]);
  if (!isThere) return console.log('skipped: examples/cluster, because there is no redis-server on this machine');
  try {
    const variables = { REDIS_URL: `redis://127.0.0.1:${port}`, DATABASE_URL: '', SECRET: '' };
    await tryOut('cluster', tarball, { ways: [askOverHttp], variables });
  } finally {
    redis.kill();
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return String(port);
}

try {
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], root));
  for (const example of ['express', 'koa-adapter', 'hono']) await tryOut(example, join(folder, filename));
  await tryOutCluster(join(folder, filename));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
