/** The contract of code runtimes fails those that break it, each in the case that is about it. */
import { codeRuntimeContract } from 'express-open-responses/testing';
import type { CodeContainer, CodeRuntime } from '../../../src/ports/hosted-tools/code-runtime.ts';
import { fakeRuntime } from './fake-runtime.ts';

type Wrap = (container: CodeContainer) => Partial<CodeContainer>;

/** Runs the cases whose name has the words; answers how many failed, of how many. */
async function failures(create: () => CodeRuntime, words: string): Promise<readonly [failed: number, of: number]> {
  const cases: (() => Promise<void>)[] = [];
  const it = (name: string, run: () => Promise<void>) => name.includes(words) && cases.push(run);
  codeRuntimeContract({ it, create: () => ({ runtime: create() }) });
  let failed = 0;
  for (const run of cases) {
    await run().catch(() => {
      failed += 1;
    });
  }
  return [failed, cases.length];
}

/** A runtime whose containers differ in what `wrap` gives. */
function flawed(wrap: Wrap): () => CodeRuntime {
  return () => {
    const runtime = fakeRuntime();
    return {
      ...runtime,
      async create(signal) {
        const container = await runtime.create(signal);
        const whole = { run: container.run, put: container.put, close: container.close };
        // Not spread: `alive` is asked each time.
        return Object.assign(Object.create(container), whole, wrap(container));
      },
    };
  };
}

const withRun = (change: (run: CodeContainer['run']) => CodeContainer['run']) =>
  flawed(({ run }) => ({ run: change(run) }));

function sharing(): CodeRuntime {
  const runtime = fakeRuntime();
  let only: Promise<CodeContainer> | undefined;
  return {
    ...runtime,
    create: (signal) => {
      only ??= runtime.create(signal);
      return only;
    },
  };
}

function unclosed(): CodeRuntime {
  const runtime = fakeRuntime();
  return { ...runtime, create: (signal) => runtime.create(signal).catch(() => fakeRuntime().create(signal)) };
}

describe('the contract of code runtimes', () => {
  it('passes a runtime that keeps it', async () => {
    expect(await failures(fakeRuntime, '')).toEqual([0, 11]);
  });

  it.each<readonly [string, () => CodeRuntime, string]>([
    ['shares one container', sharing, 'keeps variables in the container'],
    [
      'forgets what the code kept',
      withRun(
        () => (code, signal) =>
          fakeRuntime()
            .create(signal)
            .then((c) => c.run(code, signal)),
      ),
      'keeps variables in the container',
    ],
    [
      'hides what the code raised',
      withRun((run) => async (...args) => ({ ...(await run(...args)), error: undefined })),
      'reports the error that the code raised',
    ],
    [
      'mixes the streams',
      withRun((run) => async (...args) => ({ ...(await run(...args)), stderr: '' })),
      'returns the printed text, the standard error',
    ],
    [
      'gives no files back',
      withRun((run) => async (...args) => ({ ...(await run(...args)), files: [] })),
      'returns those that a run wrote',
    ],
    [
      'says that other files are removed',
      withRun((run) => async (...args) => ({ ...(await run(...args)), removed: ['other'] })),
      'says which files the code has removed',
    ],
    ['removes nothing', flawed(() => ({ remove: async () => {} })), 'removes one'],
    ['takes no files', flawed(() => ({ put: async () => {} })), 'accepts files'],
    [
      'says another reason',
      withRun(
        (run) =>
          (...args) =>
            run(...args).catch(() => Promise.reject(new Error('no'))),
      ),
      'of an aborted run',
    ],
    [
      'runs though the signal is aborted',
      withRun((run) => (code) => run(code, new AbortController().signal)),
      'has already been aborted',
    ],
    ['makes containers after its close', unclosed, 'closes its containers when it is closed'],
  ])('fails a runtime that %s', async (_name, create, about) => {
    expect(await failures(create, about)).toEqual([1, 1]);
  });
});
