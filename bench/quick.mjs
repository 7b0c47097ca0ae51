/** A quick look at one scenario: `node bench/quick.mjs burst:500 32 400 ours-express pass-through`. */
import { fork } from 'node:child_process';

const [plan = 'burst:500', connections = '32', requests = '400', ...names] = process.argv.slice(2);
const SERVERS = {
  'pass-through': ['pass-through.mjs'],
  express: ['ours.mjs', 'express'],
  core: ['ours.mjs', 'core'],
  chat: ['ours.mjs', 'chat'],
  'chat-tools': ['ours.mjs', 'chat-tools'],
  naive: ['naive.mjs'],
};
const here = new URL('.', import.meta.url);
const started = [];
const run = (file, args, execArgv = []) => {
  const child = fork(new URL(file, here), args, { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  started.push(child);
  return child;
};
const told = (child, message) => new Promise((resolve) => {
  child.once('message', resolve);
  if (message) child.send(message);
});
const model = run('upstream.mjs', []);
const { port } = await told(model);
const client = run('load.mjs', []);
const servers = {};
for (const name of names.length ? names : Object.keys(SERVERS)) {
  const [file, ...args] = SERVERS[name];
  const child = run(`servers/${file}`, [String(port), ...args], process.env.PROF ? ['--cpu-prof', '--cpu-prof-dir=/tmp/prof', '--cpu-prof-interval=200'] : []);
  servers[name] = { child, ...(await told(child)) };
}
const deltas = Number(plan.split(':')[1]);
const results = {};
for (let round = 0; round < 5; round += 1) {
  for (const [name, { child, port: at }] of Object.entries(servers)) {
    const chat = name.startsWith('chat') || name === 'pass-through';
    const body = chat ? { model: plan, stream: true, messages: [{ role: 'user', content: 'Hi' }] } : { model: plan, stream: !plan.startsWith('json'), input: 'Hi', store: true };
    const job = { port: at, path: chat ? '/v1/chat/completions' : '/v1/responses', body, connections: Number(connections), requests: Number(requests) };
    const before = await told(child, { ask: 'usage' });
    const { done } = await told(client, job);
    const after = await told(child, { ask: 'usage' });
    const cpu = after.cpu - before.cpu;
    (results[name] ??= []).push({ event: cpu / done.answers / deltas, request: cpu / done.answers, failed: done.failed, ms: done.ms });
  }
}
for (const [name, rounds] of Object.entries(results)) {
  const kept = rounds.slice(1).map(({ event }) => event).sort((a, b) => a - b);
  const median = kept[Math.floor(kept.length / 2)];
  console.log(name.padEnd(14), 'µs/event', median.toFixed(2), `(${kept[0].toFixed(2)}–${kept.at(-1).toFixed(2)})`, 'µs/request', (median * deltas).toFixed(0), 'failed', rounds.reduce((sum, { failed }) => sum + failed, 0));
}
for (const child of started) child.kill('SIGINT');
