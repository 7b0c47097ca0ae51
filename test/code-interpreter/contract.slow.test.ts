/** The contract of code runtimes, on Python in its sandbox and on a fake; and that it fails those that break it. */
import { pyodideRuntime } from 'express-open-responses/code-interpreter';
import { codeRuntimeContract } from 'express-open-responses/testing';
import { fakeRuntime } from './fake-runtime.ts';

describe('a fake', () => {
  codeRuntimeContract({ it, describe, create: () => ({ runtime: fakeRuntime() }) });
});

describe('pyodideRuntime', () => {
  // Python takes seconds to load, and many more on a busy machine.
  const slowly = (name: string, run: () => Promise<void>) => it(name, run, 180_000);
  codeRuntimeContract({ it: slowly, describe, create: () => ({ runtime: pyodideRuntime({ warm: 0 }) }) });
});
