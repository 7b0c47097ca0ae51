/** What a suite opened is closed, or it would keep the worker of jest running until that is ended by force. */
import { gate } from './gate.ts';
import { openPerSuite } from './suite-resources.ts';

/** The hooks that a suite registers, to be run by the test as jest would. */
function suite(open: Parameters<typeof openPerSuite>[0]) {
  const run: Record<'start' | 'finish', () => unknown> = { start: () => {}, finish: () => {} };
  const hooks = {
    beforeAll: (hook: () => unknown) => {
      run.start = hook;
    },
    afterAll: (hook: () => unknown) => {
      run.finish = hook;
    },
  };
  // The cast: stand-ins for jest's own, which would register hooks here.
  openPerSuite(open, hooks as unknown as Parameters<typeof openPerSuite>[1]);
  return run;
}

describe('the resources of a suite', () => {
  it('are closed after the tests, the last first', async () => {
    const closed: string[] = [];
    const { start, finish } = suite(async (closeLater) => {
      closeLater(() => closed.push('server'));
      closeLater(async () => closed.push('client'));
    });
    await start();
    await finish();
    expect(closed).toEqual(['client', 'server']);
  });

  it('are closed if they open only after the time of the hook is over', async () => {
    const closed: string[] = [];
    const started = gate();
    const { start, finish } = suite(async (closeLater) => {
      await started.opened;
      closeLater(() => closed.push('server'));
    });
    const opening = start();
    // As jest does when the hook takes too long.
    const closing = finish();
    started.open();
    await Promise.all([opening, closing]);
    expect(closed).toEqual(['server']);
  });

  it('are closed if the next one cannot be opened', async () => {
    const closed: string[] = [];
    const { start, finish } = suite(async (closeLater) => {
      closeLater(() => closed.push('server'));
      throw new Error('no client');
    });
    await expect(start()).rejects.toThrow('no client');
    await finish();
    expect(closed).toEqual(['server']);
  });

  it('are closed if another one does not close, which fails the suite', async () => {
    const closed: string[] = [];
    const { start, finish } = suite(async (closeLater) => {
      closeLater(() => closed.push('server'));
      closeLater(() => {
        throw new Error('the client hangs');
      });
    });
    await start();
    await expect(finish()).rejects.toThrow('the client hangs');
    expect(closed).toEqual(['server']);
  });

  it('need no closing where nothing was opened', async () => {
    const { finish } = suite(async () => {});
    await expect(finish()).resolves.toBeUndefined();
  });
});
