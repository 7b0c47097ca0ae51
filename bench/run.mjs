/**
 * Everything side by side in one run on this machine: `node bench/run.mjs [--only burst,short] [--rounds 5]`.
 * Each server, the model and the clients are processes of their own; it stops by itself.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { only: { type: 'string' }, rounds: { type: 'string', default: '5' } },
});
const ROUNDS = Number(values.rounds);
const WARM_UP = 1;

/** The servers under test, in the order of the table; the first is the yardstick. */
const SERVERS = [
  ['pass-through', 'pass-through.mjs', [], 'chat'],
  ['pass-through in Express', 'pass-through-express.mjs', [], 'chat'],
  ['ours in Express', 'ours.mjs', ['express'], 'responses'],
  ['ours on node:http', 'ours.mjs', ['core'], 'responses'],
  ['ours, chat', 'ours.mjs', ['chat'], 'chat'],
  ['ours, chat, tools', 'ours.mjs', ['chat-tools'], 'chat'],
  ['naive', 'naive.mjs', [], 'responses'],
];

/** What is asked: the model's plan, clients at once, requests in a round, and events in an answer. */
const SCENARIOS = {
  burst: { plan: 'burst:500', connections: 32, requests: 300, events: 500 },
  padded: { plan: 'padded:500', connections: 32, requests: 200, events: 500 },
  short: { plan: 'short:8', connections: 64, requests: 3000, events: 8 },
  json: { plan: 'json:50', connections: 64, requests: 2000, events: 1, json: true },
  paced: { plan: 'paced:50:20', connections: 200, requests: 400, events: 50 },
};

const here = new URL('.', import.meta.url);
const children = [];

function run(file, args) {
  const child = fork(new URL(file, here), args, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  children.push(child);
  return child;
}

async function told(child, message) {
  const answer = once(child, 'message');
  if (message) child.send(message);
  return (await answer)[0];
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function bodyFor(api, { plan, json }) {
  const stream = !json;
  return api === 'chat'
    ? { model: plan, stream, messages: [{ role: 'user', content: 'Hi' }] }
    : { model: plan, stream, input: 'Hi' };
}

const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses' };

/** One round of one server: its CPU time in microseconds for each event and each request. */
async function measure(client, server, scenario) {
  const { connections, requests, events } = scenario;
  const job = {
    port: server.port,
    path: PATHS[server.api],
    body: bodyFor(server.api, scenario),
    connections,
    requests,
  };
  const before = await told(server.child, { ask: 'usage' });
  const { done } = await told(client, job);
  const after = await told(server.child, { ask: 'usage' });
  const cpu = after.cpu - before.cpu;
  const first = median(done.firsts);
  return {
    event: cpu / done.answers / events,
    request: cpu / done.answers,
    first,
    failed: done.failed,
    rss: after.rss,
  };
}

async function compare(name, scenario, model, client) {
  const servers = [];
  for (const [label, file, args, api] of SERVERS) {
    const child = run(`servers/${file}`, [String(model), ...args]);
    servers.push({ label, api, child, rounds: [], ...(await told(child)) });
  }
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    for (const server of servers) {
      const seen = await measure(client, server, scenario);
      if (round >= WARM_UP) server.rounds.push(seen);
    }
  }
  report(name, servers);
  for (const { child } of servers) child.kill('SIGINT');
}

function report(name, servers) {
  console.log(`\n## ${name}\n`);
  console.log('| server | CPU µs/event (min–max) | × pass-through | CPU µs/request | first byte p50 ms | failed |');
  console.log('| --- | --- | --- | --- | --- | --- |');
  const yardstick = median(servers[0].rounds.map(({ event }) => event));
  for (const { label, rounds } of servers) {
    const events = rounds.map(({ event }) => event);
    const middle = median(events);
    const range = `${middle.toFixed(2)} (${Math.min(...events).toFixed(2)}–${Math.max(...events).toFixed(2)})`;
    const request = median(rounds.map(({ request }) => request)).toFixed(0);
    const first = median(rounds.map(({ first }) => first)).toFixed(2);
    const failed = rounds.reduce((sum, { failed }) => sum + failed, 0);
    console.log(`| ${label} | ${range} | ${(middle / yardstick).toFixed(2)} | ${request} | ${first} | ${failed} |`);
  }
}

const wanted = values.only?.split(',') ?? Object.keys(SCENARIOS);
try {
  const { port } = await told(run('upstream.mjs', []));
  const client = run('load.mjs', []);
  const [{ model = 'unknown' } = {}] = cpus();
  console.log(`Node ${process.version}, ${cpus().length} × ${model}, ${ROUNDS} rounds, medians`);
  for (const name of wanted) await compare(name, SCENARIOS[name], port, client);
} finally {
  for (const child of children) child.kill('SIGINT');
}
