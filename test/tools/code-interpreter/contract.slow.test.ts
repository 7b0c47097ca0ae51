/** The contract of code runtimes, on Python in its sandbox and on a fake; and that it fails those that break it. */
import { pyodideRuntime } from 'express-open-responses/code-interpreter';
import { codeRuntimeContract } from 'express-open-responses/testing';
import { fakeRuntime } from './fake-runtime.ts';
import { isolation } from './outer.ts';

describe('[B-39] a runtime of the host’s own', () => {
  codeRuntimeContract({ it, describe, create: () => ({ runtime: fakeRuntime() }) });
});

describe.each([...new Set([isolation, 'process-only' as const])])('[B-39] pyodideRuntime, %s', (isolation) => {
  // Python takes seconds to load, and many more on a busy machine.
  const slowly = (name: string, run: () => Promise<void>) => it(name, run, 180_000);
  codeRuntimeContract({ it: slowly, describe, create: () => ({ runtime: pyodideRuntime({ warm: 0, isolation }) }) });
});
