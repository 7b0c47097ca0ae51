/** Clients in a process of their own: each begins a response on one node and reads its events from the other. */
import { begin, eventsOf } from './nodes.mjs';

process.on('message', (job) => {
  readAll(job)
    .catch((error) => ({ error: String(error) }))
    .then((answer) => process.send(answer));
});
process.once('disconnect', () => process.exit());

/** Returns how many streams have finished, how many events arrived, in how many seconds, and the delays of their deltas in ms. */
async function readAll({ nodes, count, model }) {
  const bases = nodes.map(({ host, port }) => ({ base: `http://${host}:${port}/v1` }));
  const seen = { finished: 0, events: 0, delays: [] };
  const began = performance.now();
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const id = await begin(bases[index % 2], { model, input: 'Hi' });
      await readOne(eventsOf(bases[(index + 1) % 2], id), seen);
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  const { delays, ...counts } = seen;
  return { ...counts, seconds, delay: quantiles(delays) };
}

async function readOne(pieces, seen) {
  let rest = '';
  for await (const piece of pieces) {
    const now = Number(process.hrtime.bigint() / 1000n);
    const lines = (rest + piece).split('\n');
    rest = lines.pop();
    for (const line of lines) readLine(line, now, seen);
  }
}

/** Skips events that repeat the text, and with it the times in it. */
function readLine(line, now, seen) {
  if (!line.startsWith('data: {')) return;
  seen.events += 1;
  if (line.includes('"type":"response.completed"')) seen.finished += 1;
  if (!line.includes('"type":"response.output_text.delta"')) return;
  for (const [, stamp] of line.matchAll(/@(\d+)@/g)) seen.delays.push((now - Number(stamp)) / 1000);
}

function quantiles(times) {
  const sorted = Float64Array.from(times).sort();
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return { p50: at(0.5), p99: at(0.99) };
}
