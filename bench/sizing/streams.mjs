/** Open streams in one process: memory, open files, and the time of a short answer meanwhile. */
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { bodyOf } from '../answers.mjs';
import { answerOf, stopped } from '../processes.mjs';
import { shown, slopeThrough, table } from './figures.mjs';

const STEPS = [0, 1000, 2000, 5000, 10_000];
/** Two files for a stream, and some for everything else. */
const OTHER_FILES = 200;
const SETTLES_MS = 1000;

async function measured({ start, scaled }) {
  const model = start('upstream.mjs');
  const { port: modelPort } = await answerOf(model);
  const server = start('servers/ours.mjs', [modelPort, 'express']);
  const { port } = await answerOf(server);
  const clients = start('load.mjs');
  const where = { host: '127.0.0.1', port, path: '/v1/responses' };
  const ask = (turns) =>
    answerOf(clients, { kind: 'ask', connections: 4, turns, bodies: [bodyOf('responses', 'short:8')], ...where });
  await ask(scaled(3000));
  const most = Math.floor((Number(process.env.SIZING_FILES) - OTHER_FILES) / 2) || STEPS.at(-1);
  const rows = [];
  let open = 0;
  for (const step of STEPS.map((step) => Math.min(scaled(step), most))) {
    if (step > open)
      await answerOf(clients, {
        kind: 'hold',
        connections: step - open,
        bodies: [bodyOf('responses', 'idle')],
        ...where,
      });
    open = step;
    await sleep(SETTLES_MS);
    const { rss, heap } = await answerOf(server, { ask: 'collected' });
    const files = readdirSync(`/proc/${server.pid}/fd`).length;
    const { whole } = await ask(scaled(400));
    rows.push({ open, rss: rss / 2 ** 20, heap: heap / 2 ** 20, files, p50: whole.p50, p99: whole.p99 });
  }
  for (const child of [clients, server, model]) await stopped(child);
  return rows;
}

export const streams = {
  about: 'streams that are open in one process, whose model has sent one word; a short answer beside them, 4 at a time',
  async run(bench) {
    const rows = await measured(bench);
    const slope = (name, digits, factor = 1) =>
      shown(slopeThrough(rows.map((row) => [row.open, row[name]])) * factor, digits);
    const lines = rows.map(({ open, rss, heap, files, p50, p99 }) => [
      ...[shown(open), shown(rss), shown(heap), shown(files), shown(p50, 1), shown(p99, 1)],
    ]);
    const per = `${slope('rss', 1, 1024)} KB`;
    const last = [
      'slope for each stream',
      per,
      `${slope('heap', 1, 1024)} KB`,
      slope('files', 2),
      `${slope('p50', 2, 1000)} µs`,
      `${slope('p99', 2, 1000)} µs`,
    ];
    return table(
      ['open streams', 'RSS, MB', 'heap, MB', 'open files', 'short answer p50, ms', 'p99, ms'],
      [...lines, last],
    );
  },
};
