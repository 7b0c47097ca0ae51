/** What every code runtime must do, as a suite for any test runner that has an `it`. */
import assert from 'node:assert/strict';
import {
  assertLost,
  type CodeRuntimeCase,
  type CodeRuntimeUnderTest,
  codeScript,
  createContainer,
  runScript,
  withoutRemoved,
  writtenFiles,
} from './code-runtime-case.ts';

/** The functions of the test runner, and the runtime's factory. */
export interface CodeRuntimeContract {
  /** Registers one case: `it` or `test` of jest, vitest, node:test or mocha. */
  readonly it: (name: string, run: () => Promise<void>) => unknown;
  /** Groups the cases under one name, if given. */
  readonly describe?: (name: string, body: () => void) => unknown;
  /** Creates the runtime for one case. */
  readonly create: () => CodeRuntimeUnderTest | Promise<CodeRuntimeUnderTest>;
}

/**
 * Registers the contract's cases. Their names cite the requirements they prove; they assert with `node:assert/strict`.
 *
 * @example
 * ```ts
 * import { it } from 'node:test';
 * import { pyodideRuntime } from 'express-open-responses/code-interpreter';
 * import { codeRuntimeContract } from 'express-open-responses/testing';
 *
 * codeRuntimeContract({ it, create: () => ({ runtime: pyodideRuntime() }) });
 * ```
 */
export function codeRuntimeContract({ it, describe = (_name, body) => body(), create }: CodeRuntimeContract): void {
  describe('code runtime contract', () => {
    for (const runtimeCase of cases) it(runtimeCase.name, () => runCodeRuntimeCase(create, runtimeCase));
  });
}

async function runCodeRuntimeCase(create: CodeRuntimeContract['create'], { run }: CodeRuntimeCase): Promise<void> {
  const { runtime, close } = await create();
  try {
    await run(runtime);
  } finally {
    await runtime.close();
    await close?.();
  }
}

const NEVER = new AbortController().signal;

const cases: readonly CodeRuntimeCase[] = [
  {
    name: '[T-11] returns the printed text, the standard error, and the value of the last expression',
    async run(runtime) {
      const container = await createContainer(runtime);
      const printed = { stdout: 'out 🧑‍🚀\n', stderr: 'err\n', result: undefined, error: undefined, files: [] };
      assert.deepEqual(withoutRemoved(await runScript(container, 'print')), printed);
      const value = { stdout: '', stderr: '', result: '42', error: undefined, files: [] };
      assert.deepEqual(withoutRemoved(await runScript(container, 'value')), value);
    },
  },
  {
    name: '[T-11] keeps variables in the container of the code, and in no other',
    async run(runtime) {
      const [one, other] = [await createContainer(runtime), await createContainer(runtime)];
      await runScript(one, 'remember');
      assert.equal((await runScript(one, 'recall')).result, '42');
      assert.match(String((await runScript(other, 'recall')).error), /NameError/);
    },
  },
  {
    name: '[T-11] reports the error that the code raised, and continues',
    async run(runtime) {
      const container = await createContainer(runtime);
      await runScript(container, 'remember');
      const { result, error } = await runScript(container, 'raise');
      assert.equal(result, undefined);
      assert.match(String(error), /^Traceback[\s\S]*ValueError: no such luck\s*$/);
      assert.equal((await runScript(container, 'recall')).result, '42');
    },
  },
  {
    name: '[T-11] accepts files, and returns those that a run wrote, byte for byte and once',
    async run(runtime) {
      const container = await createContainer(runtime);
      await container.put({ name: 'in.txt', data: new TextEncoder().encode('päper') });
      const read = await runScript(container, 'read');
      assert.deepEqual([read.result, read.error, writtenFiles(read)], ["'päper'", undefined, {}]);
      assert.deepEqual(writtenFiles(await runScript(container, 'write')), { 'out.bin': [0, 255, 10] });
      assert.deepEqual(writtenFiles(await runScript(container, 'value')), {});
    },
  },
  {
    name: '[E-01] writes files in folders, and says which files the code has removed, if it can tell',
    async run(runtime) {
      const container = await createContainer(runtime);
      assert.deepEqual(writtenFiles(await runScript(container, 'writeBelow')), { 'plots/out.bin': [1, 2, 3] });
      await container.put({ name: 'in.txt', data: Uint8Array.of(97) });
      const { removed, error } = await runScript(container, 'remove');
      assert.equal(error, undefined);
      if (removed !== undefined) assert.deepEqual(removed, ['in.txt']);
      assert.equal((await runScript(container, 'exists')).result, 'False');
    },
  },
  {
    name: '[E-01] replaces a file of the same name, and removes one, if it can',
    async run(runtime) {
      const container = await createContainer(runtime);
      for (const text of ['old', 'päper'])
        await container.put({ name: 'in.txt', data: new TextEncoder().encode(text) });
      assert.equal((await runScript(container, 'read')).result, "'päper'");
      if (!container.remove) return;
      await container.remove('in.txt');
      await container.remove('in.txt');
      const { result, removed = [] } = await runScript(container, 'exists');
      assert.deepEqual([result, [...removed]], ['False', []]);
    },
  },
  {
    name: '[T-11] runs concurrent requests one after another',
    async run(runtime) {
      const container = await createContainer(runtime);
      await Promise.all(Array.from({ length: 5 }, () => runScript(container, 'append')));
      assert.equal((await container.run('kept', NEVER)).result, "'aaaaa'");
    },
  },
  {
    name: '[T-11] closes the container of an aborted run, and no other',
    async run(runtime) {
      const [one, other] = [await createContainer(runtime), await createContainer(runtime)];
      const leaving = new AbortController();
      const running = one.run(codeScript.endless, leaving.signal);
      // The run has begun by then, because answers arrive in order.
      await runScript(other, 'remember');
      const reason = new Error('left');
      leaving.abort(reason);
      await assert.rejects(running, (error) => error === reason);
      assert.deepEqual([one.alive, other.alive], [false, true]);
      await assertLost(runScript(one, 'value'));
      assert.equal((await runScript(other, 'recall')).result, '42');
    },
  },
  {
    name: '[T-11] does nothing for a signal that has already been aborted',
    async run(runtime) {
      const reason = new Error('left before');
      const gone = AbortSignal.abort(reason);
      await assert.rejects(runtime.create(gone), (error) => error === reason);
      const container = await createContainer(runtime);
      await assert.rejects(container.run(codeScript.value, gone), (error) => error === reason);
      assert.equal((await runScript(container, 'value')).result, '42');
    },
  },
  {
    name: '[T-11] closes a container whatever runs in it, and a second time without an error',
    async run(runtime) {
      const container = await createContainer(runtime);
      const lost = assertLost(runScript(container, 'endless'), 'closed');
      await container.close();
      await container.close();
      await lost;
      assert.equal(container.alive, false);
    },
  },
  {
    name: '[T-11] closes its containers when it is closed, and creates no more',
    async run(runtime) {
      const container = await createContainer(runtime);
      const lost = assertLost(runScript(container, 'endless'), 'closed');
      await runtime.close();
      await runtime.close();
      await lost;
      assert.equal(container.alive, false);
      await assert.rejects(createContainer(runtime));
    },
  },
];
