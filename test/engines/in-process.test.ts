/** The engine of one process keeps the contract of all engines. */
import { inProcessEngine } from '../../src/index.ts';
import { backgroundEngineContract } from '../../src/testing/index.ts';

describe('inProcessEngine', () => {
  backgroundEngineContract({ describe, it, createEngine: () => inProcessEngine() });

  it('runs a response before submit resolves, and rejects one before it has a worker', async () => {
    const engine = inProcessEngine();
    const key = { scope: 's', id: 'resp_1' };
    await expect(engine.submit(key)).rejects.toThrow(
      'inProcessEngine: the engine has no worker; call start before submit',
    );
    const ran: unknown[] = [];
    engine.start({
      async run(claimed) {
        ran.push(claimed.key);
        return 'ended';
      },
      onError: () => {},
    });
    await engine.submit(key);
    expect(ran).toEqual([key]);
  });
});
