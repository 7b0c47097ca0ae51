/** What the inspector shows of containers. */

import type { InspectorOptions } from '../../../src/observe/inspector/index.ts';
import { codeInterpreter, containers } from '../../../src/tools/code-interpreter/index.ts';
import { says } from '../../engine/tools/support.ts';
import { ASKING, javascriptRuntime, runs } from '../../tools/code-interpreter/interpreter.ts';
import { startInspected } from './inspected-app.ts';

/** An app whose model runs the code, and what the inspector shows of its containers. */
async function shown(code: string, options: InspectorOptions = {}) {
  const kept = containers({ runtime: javascriptRuntime() });
  const tools = codeInterpreter({ containers: kept });
  const app = await startInspected({ containers: kept, ...options }, { tools });
  app.fake.reply(runs(code), says('Done.'));
  await app.post({ model: 'm', input: 'Go.', ...ASKING }, { authorization: 'Bearer a' });
  const view = (await app.seen('containers')) as { readonly containers: readonly unknown[] };
  const about = await app.seen('about');
  app.inspector.close();
  const after = await app.seen('containers');
  await app.close();
  await kept.close();
  return { view, about, after };
}

describe('the inspector', () => {
  it('[E-05] shows a container: what ran in it, what it printed, and its files', async () => {
    const { view, about, after } = await shown("print('out'); write('a/b.txt', 'text'); 7");
    expect(about.hasContainers).toBe(true);
    expect(view.containers).toEqual([
      {
        id: expect.stringMatching(/^cntr_/),
        tenant: expect.any(String),
        name: 'auto',
        status: 'running',
        createdAt: expect.any(Number),
        lastActiveAt: expect.any(Number),
        expiresAfterMs: 1_200_000,
        network: 'disabled',
        domains: [],
        memoryLimit: null,
        fileCount: 1,
        bytes: 4,
        files: [{ name: 'a/b.txt', bytes: 4, source: 'assistant', createdAt: expect.any(Number) }],
        runs: [
          {
            kind: 'code',
            at: expect.any(Number),
            durationMs: expect.any(Number),
            input: { text: "print('out'); write('a/b.txt', 'text'); 7", cut: 0 },
            stdout: { text: 'out\n', cut: 0 },
            stderr: { text: '', cut: 0 },
            result: { text: '7', cut: 0 },
            error: { text: '', cut: 0 },
            files: ['a/b.txt'],
          },
        ],
      },
    ]);
    expect(after).toEqual({ containers: [] });
  });

  it('[E-05] keeps a bounded part of each text, and none where the host redacts items', async () => {
    const code = "print('x'.repeat(1000000))";
    const bounded = await shown(code);
    expect(bounded.view.containers).toMatchObject([{ runs: [{ stdout: { text: 'x'.repeat(8192), cut: 991_809 } }] }]);
    const redacted = await shown(code, { redact: ({ value }: { readonly value?: unknown }) => value });
    expect(redacted.view.containers).toMatchObject([
      { runs: [{ input: { text: '', cut: code.length }, stdout: { text: '', cut: 1_000_001 } }] },
    ]);
  });

  it('[E-05] shows those of several runtimes', async () => {
    const others = containers({ runtime: javascriptRuntime() });
    const own = containers({ runtime: javascriptRuntime() });
    const app = await startInspected({ containers: [own, others] });
    for (const [id, each] of Object.entries({ cntr_a: own, cntr_b: others }))
      await each.run({ scope: 's', id }, "write('a.txt', 'x')", [], new AbortController().signal);
    const { containers: seen } = (await app.seen('containers')) as { readonly containers: readonly unknown[] };
    const files = [{ name: 'a.txt' }];
    expect(seen).toMatchObject([
      { id: 'cntr_b', files },
      { id: 'cntr_a', files },
    ]);
    await app.close();
    await Promise.all([own.close(), others.close()]);
  });

  it('[E-05] says that it has no containers, unless its option is set', async () => {
    const app = await startInspected();
    expect([await app.seen('containers'), (await app.seen('about')).hasContainers]).toEqual([
      { error: 'The inspector has no containers: set its option containers.' },
      false,
    ]);
    await app.close();
  });
});
