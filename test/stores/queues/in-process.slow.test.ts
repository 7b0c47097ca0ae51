/** The engine of one process keeps the contract of all engines. */
import { getMaxListeners } from 'node:events';
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

  it('runs as many responses at once as it is given, without a warning of Node’s about their signal', async () => {
    const engine = inProcessEngine();
    const signals = new Set<AbortSignal>();
    engine.start({
      async run({ signal }) {
        signals.add(signal);
        return 'ended';
      },
      onError: () => {},
    });
    for (let index = 0; index < 20; index += 1) await engine.submit({ scope: 's', id: `resp_${index}` });
    // Each run listens to its signal: of one with Node's own limit, more than ten listeners are reported as a leak.
    expect([...signals].map((signal) => getMaxListeners(signal))).toEqual([Number.POSITIVE_INFINITY]);
  });
});
