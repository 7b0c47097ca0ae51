/** The engine of one process keeps the contract of all engines. */
import { once } from 'node:events';
import { inProcessEngine } from '../../../src/index.ts';
import { backgroundEngineContract } from '../../../src/testing/index.ts';

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

  it('[P-10] gives each run a signal of its own, which nothing of it outlives', async () => {
    const engine = inProcessEngine();
    const signals: AbortSignal[] = [];
    engine.start({
      async run({ signal }) {
        signals.push(signal);
        if (!signal.aborted) await once(signal, 'abort');
        return 'released';
      },
      onError: () => {},
    });
    for (let index = 0; index < 20; index += 1) await engine.submit({ scope: 's', id: `resp_${index}` });
    expect(new Set(signals).size).toBe(20);
    await engine.release();
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });
});
