/** What a host hears of a background engine or an event log that fails: what to look at, and not that the package has a bug. */
import { type ApiError, type BackgroundEngine, memoryStore } from '../../../src/index.ts';
import { createWebhooks } from '../../../src/webhooks.ts';
import { startApp } from '../../support/app.ts';
import { create, ended, line, startBatchesApp } from '../batches/batches-app.ts';

const cause = new Error('deadlock detected');
const engine: BackgroundEngine = {
  name: 'by hand',
  takesOver: false,
  start: (worker) => worker.onError(cause),
  submit: async () => {},
  release: async () => {},
  close: async () => {},
};
let reported: ApiError[] = [];
const hooks = { onError: (error: ApiError) => void reported.push(error) };

beforeEach(() => {
  reported = [];
});

it('an error of the engine is one of a store, with its cause', async () => {
  const app = await startApp({ options: { background: { engine }, hooks } });
  await app.close();
  expect(reported).toMatchObject([{ code: 'store_error', cause }]);
});

it('[E-10] [E-11] so is one of the engine of batches, or of webhooks', async () => {
  await createWebhooks({ engine, hooks, endpoints: () => [] }).close();
  await (await startBatchesApp({ batches: { engine, hooks } })).close();
  const error = { code: 'store_error', cause };
  expect(reported).toMatchObject([error, error]);
});

it.each(['claim', 'append'] as const)('[E-10] so is one of the log of a batch, in %s', async (name) => {
  const store = memoryStore();
  const { events } = store;
  if (!events) throw new Error('The store has no event log.');
  let hasFailed = false;
  const failing = new Proxy(events, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member);
      if (typeof value !== 'function') return value;
      if (member !== name || hasFailed) return value.bind(target);
      return async () => {
        hasFailed = true;
        throw cause;
      };
    },
  });
  const app = await startBatchesApp({ store: { ...store, events: failing }, batches: { hooks } });
  const client = app.client();
  await ended(client, await create(client, [line('one')]));
  await app.close();
  expect(reported).toMatchObject([{ code: 'store_error', cause }]);
});
