/** Responses over WebSocket wait for their place, and are charged. */
import { tokenBudget } from '../../../src/policies/budgets/index.ts';
import { textStream } from '../../../src/testing/index.ts';
import { outcomeOf, type SocketApp, startSocketApp } from '../../hosts/websocket/support.ts';

let app: SocketApp;
afterEach(() => app.close());

it('[C-28] [S-15] are charged, and refused past the limit', async () => {
  const budget = tokenBudget({ limits: { requests: { points: 2, duration: 60 } } });
  app = await startSocketApp({ budget, authorize: () => ({ scope: 'a' }) });
  app.fake.reply({ body: textStream('Hello') });
  const talk = await app.connect();
  const outcomes = [await talk.ask(), await talk.ask(), await talk.ask()].map(outcomeOf);
  const rows = await budget.report({ scope: 'a' });
  expect([outcomes, rows.map((row) => [row.requests, row.inputTokens, row.outputTokens])]).toEqual([
    ['completed', 'completed', 'rate_limit_exceeded'],
    [[2, 18, 24]],
  ]);
});

it('[C-28] [S-15] cost nothing where no answer is wanted', async () => {
  const budget = tokenBudget({ limits: { requests: { points: 1, duration: 60 } } });
  app = await startSocketApp({ budget, authorize: () => ({ scope: 'a' }) });
  const talk = await app.connect();
  const outcomes = [await talk.ask({ generate: false }), await talk.ask({ generate: false })].map(outcomeOf);
  expect([outcomes, await budget.report({ scope: 'a' })]).toEqual([['completed', 'completed'], []]);
});

it('[P-10] [S-15] wait for a place, each in its lane', async () => {
  app = await startSocketApp({ limits: { turns: { concurrentTurns: 1, queuedTurns: 10 } } });
  app.fake.reply({ body: textStream('Hello'), firstByteDelayMs: 30 });
  const talk = await app.connect();
  for (const stream_id of ['a', 'b', 'c']) talk.create({ stream_id });
  const outcomes = [];
  for (const lane of ['a', 'b', 'c']) outcomes.push(outcomeOf(await talk.response(lane)));
  expect(outcomes).toEqual(['completed', 'completed', 'completed']);
});
