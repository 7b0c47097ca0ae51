/** What a host hears of a background engine that fails: what to look at, and not that the package has a bug. */
import type { ApiError, BackgroundEngine } from '../../../src/index.ts';
import { startApp } from '../../support/app.ts';

it('an error of the engine is one of a store, with its cause', async () => {
  const reported: ApiError[] = [];
  const cause = new Error('deadlock detected');
  const engine: BackgroundEngine = {
    name: 'by hand',
    takesOver: false,
    start: (worker) => worker.onError(cause),
    submit: async () => {},
    release: async () => {},
    close: async () => {},
  };
  const hooks = { onError: (error: ApiError) => reported.push(error) };
  const app = await startApp({ options: { background: { engine }, hooks } });
  await app.close();
  expect(reported).toMatchObject([{ code: 'store_error', cause }]);
});
