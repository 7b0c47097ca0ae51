/** Batches of embeddings: their lines are bound by the places, budgets and guards of their tenant, as all others are. */

import { tokenBudget } from '../../../src/policies/budgets/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { type BatchesApp, create, ended, line, results, startBatchesApp } from './batches-app.ts';

const EMBEDDINGS = '/v1/embeddings';
const ANSWER = { object: 'list', data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 40, total_tokens: 40 } };

let app: BatchesApp | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

function lines(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => line(`${index}`, {}, EMBEDDINGS));
}

it('[E-10] [C-28] keep to the requests of a budget, and to its tokens as the model server reports them', async () => {
  for (const limit of ['requests', 'tokens'] as const) {
    const budget = tokenBudget({ limits: { [limit]: { points: limit === 'requests' ? 3 : 100, duration: 172_800 } } });
    app = await startBatchesApp({ router: { budget }, batches: { quota: { lineAttempts: 1, parallelLines: 1 } } });
    const client = app.client();
    app.model.reply(() => ({ body: JSON.stringify(ANSWER) }));
    const over = await ended(client, await create(client, lines(6), EMBEDDINGS));
    expect([limit, over.request_counts, app.model.requests.length]).toEqual([
      limit,
      { total: 6, completed: 3, failed: 3 },
      3,
    ]);
    await app.close();
  }
  app = undefined;
});

it('[E-10] that are none are an error, after further attempts', async () => {
  app = await startBatchesApp({ batches: { quota: { lineAttempts: 2 } } });
  const client = app.client();
  for (const body of ['<html>Sign in</html>', '', '[1]']) {
    app.model.reply({ body }, { body });
    const batch = await ended(client, await create(client, [line('one', {}, '/v1/embeddings')], '/v1/embeddings'));
    const [result] = await results(client, batch.error_file_id);
    expect([batch.request_counts, result?.response.status_code, result?.response.body.error.code]).toEqual([
      { total: 1, completed: 0, failed: 1 },
      502,
      'upstream_error',
    ]);
  }
});

it('[E-10] are read behind a byte order mark, and counted by a budget', async () => {
  const budget = tokenBudget({ limits: { tokens: { points: 60, duration: 172_800 } } });
  app = await startBatchesApp({ router: { budget }, batches: { quota: { lineAttempts: 1, parallelLines: 1 } } });
  const client = app.client();
  app.model.reply(() => ({ body: `\ufeff${JSON.stringify(ANSWER)}` }));
  const over = await ended(client, await create(client, lines(3), EMBEDDINGS));
  expect(over.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
});

it('[E-10] with any error in a good answer are answered with it, and do not hold up the others', async () => {
  app = await startBatchesApp();
  const client = app.client();
  for (const answer of [
    { error: { code: { toString: 1 } }, output: [] },
    { error: {}, output: [null] },
  ]) {
    app.model.reply({ body: JSON.stringify(answer) });
    const batch = await ended(client, await create(client, lines(1), EMBEDDINGS));
    const [result] = await results(client, batch.output_file_id);
    expect([batch.request_counts?.completed, result?.response.body]).toEqual([1, answer]);
  }
});

it('[E-10] take places of turns, and give them back', async () => {
  app = await startBatchesApp({ router: { limits: { turns: { concurrentTurns: 2, queuedTurns: 100 } } } });
  const running: number[] = [];
  let atOnce = 0;
  app.model.reply(async () => {
    atOnce += 1;
    running.push(atOnce);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    atOnce -= 1;
    return { body: JSON.stringify(ANSWER) };
  });
  const client = app.client();
  const over = await ended(client, await create(client, lines(12), EMBEDDINGS));
  expect([over.request_counts?.completed, Math.max(...running), (await app.turns()).inFlight]).toEqual([12, 2, 0]);
});

it('[E-10] are guarded, whatever the model server would make of them', async () => {
  app = await startBatchesApp({ router: { guards: { input: [pii({ mode: 'redact' })] } } });
  app.model.reply({ body: JSON.stringify(ANSWER) });
  const client = app.client();
  const own = line('mail', { input: 'Write to ann@example.com.' }, EMBEDDINGS);
  const [embedded] = await results(
    client,
    (await ended(client, await create(client, [own], EMBEDDINGS))).output_file_id,
  );
  expect(embedded?.response.status_code).toBe(200);
  expect(JSON.stringify(app.model.requests.at(-1)?.body)).not.toContain('ann@example.com');
});

it('[E-10] have no path of their own for clients', async () => {
  app = await startBatchesApp();
  const answer = await fetch(`${app.url}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer alice' },
    body: JSON.stringify({ model: 'm', input: 'x' }),
  });
  expect([answer.status, app.model.requests]).toEqual([404, []]);
});
