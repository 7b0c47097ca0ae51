/** Very many requests of one tenant at once. */
import { chatCompletion, textStream } from '../../src/testing/index.ts';
import { type BudgetApp, type BudgetAppSetup, startBudgetApp } from './budget-app.ts';

let app: BudgetApp;
afterEach(() => app.close());

const start = async (setup: BudgetAppSetup) => {
  app = await startBudgetApp(setup);
};
const MESSAGES = { messages: [{ role: 'user', content: 'Hi' }] };
const ways = [
  ['/responses', { input: 'Hi' }],
  ['/chat/completions', { ...MESSAGES, stream: true }],
] as const;

describe.each(ways)('[C-28] %s with %j', (path, body) => {
  it('of which 200 come at once lets no more pass than its limit', async () => {
    await start({ budget: { limits: { requests: { points: 7, duration: 60 } } } });
    app.fake.reply({ body: 'stream' in body ? textStream('Hello') : chatCompletion('Hello') });
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const response = await app.post(path, body);
        await response.text();
        return response.status;
      }),
    );
    expect([statuses.filter((status) => status === 200).length, app.fake.requests.length]).toEqual([7, 7]);
    expect(await app.counted(7)).toEqual([[7, 63, 84]]);
  });
});
