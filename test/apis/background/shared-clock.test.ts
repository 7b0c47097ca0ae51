/** A process whose clock is wrong begins no responses that others would take for over, whatever engine runs them. */
import { memoryStore, type ResponseStore, type Upstream } from '../../../src/index.ts';
import { type App, startApp } from '../../support/app.ts';

let app: App;
afterEach(() => app.close());

async function statuses(
  store: ResponseStore,
  ...requests: readonly object[]
): Promise<readonly (readonly unknown[])[]> {
  let asked = 0;
  const upstream: Upstream = {
    name: 'counted',
    async *stream() {
      asked += 1;
      yield [
        { type: 'text-delta', text: 'Hello.' },
        { type: 'finish', reason: 'stop' },
      ];
    },
  };
  app = await startApp({ options: { upstream, store, logger: false } });
  const answers = [];
  for (const request of requests) {
    const body = JSON.stringify({ model: 'm', input: 'Hi.', ...request });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${app.url}/responses`, { method: 'POST', headers, body });
    // The cast: an answer is an object.
    const { error } = (await answer.json()) as {
      readonly error?: { readonly code?: string; readonly message?: string } | null;
    };
    answers.push([answer.status, error?.code, asked]);
  }
  return answers;
}

it.each([
  ['ahead', 3_600_000],
  ['behind', -3_600_000],
])(
  '[G-13] refuses a response in the background where its clock is %s of the store’s, and answers others',
  async (_, offset) => {
    const store = { ...memoryStore(), time: () => Date.now() - offset };
    expect(await statuses(store, { background: true }, {})).toEqual([
      [500, 'store_error', 0],
      [200, undefined, 1],
    ]);
  },
);

it('[G-13] takes it again once the clocks agree, and asks the store for its time only now and then', async () => {
  let [offset, asked] = [3_600_000, 0];
  const time = () => {
    asked += 1;
    const now = Date.now() + offset;
    offset = 0;
    return now;
  };
  const seen = await statuses(
    { ...memoryStore(), time },
    { background: true },
    { background: true },
    { background: true },
  );
  expect([seen.map(([status]) => status), asked]).toEqual([[500, 200, 200], 2]);
});
