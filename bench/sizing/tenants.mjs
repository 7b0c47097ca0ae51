/** Tenants of one process: memory, and the time of an answer after each of them has sent requests. */

import { bodyOf } from '../answers.mjs';
import { answerOf, stopped } from '../processes.mjs';
import { concurrently, microseconds, shown, slopeThrough, table } from './figures.mjs';

const STEPS = [1, 100, 500, 1000];
const RESPONSES = 5;
const TIMES = 200;

export const tenants = {
  about: `tenants that have stored ${RESPONSES} responses each; 16 requests at a time`,
  async run({ start, scaled }) {
    const { port: modelPort } = await answerOf(start('upstream.mjs'));
    const server = start('servers/ours.mjs', [modelPort, 'express']);
    const { port } = await answerOf(server);
    const ask = async (tenant, body = bodyOf('responses', 'json:8', { stream: false })) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer tenant-${tenant}` };
      const answer = await fetch(`http://127.0.0.1:${port}/v1/responses`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      if (answer.status !== 200) throw new Error(`status ${answer.status}: ${await answer.text()}`);
      return answer.json();
    };
    await concurrently(scaled(2000), 16, () => ask('warm-up'));
    const rows = [];
    let known = 0;
    for (const step of STEPS.map(scaled)) {
      const from = known;
      await concurrently((step - from) * RESPONSES, 16, (index) => ask(from + (index % (step - from))));
      known = Math.max(known, step);
      const took = await microseconds(scaled(TIMES), (round) => ask(round % known));
      const { rss, heap } = await answerOf(server, { ask: 'collected' });
      rows.push({ known, rss: rss / 2 ** 20, heap: heap / 2 ** 20, took: took / 1000 });
    }
    await stopped(server);
    const slope = (name, digits, factor = 1) =>
      shown(slopeThrough(rows.map((row) => [row.known, row[name]])) * factor, digits);
    const lines = rows.map(({ known, rss, heap, took }) => [shown(known), shown(rss), shown(heap), shown(took, 2)]);
    const last = [
      'slope for each tenant',
      `${slope('rss', 1, 1024)} KB`,
      `${slope('heap', 1, 1024)} KB`,
      `${slope('took', 2, 1000)} µs`,
    ];
    return table(['tenants', 'RSS, MB', 'heap, MB', 'one request, ms'], [...lines, last]);
  },
};
