/** A container on top of a Pyodide process. */

import { isFileName } from '../../../ports/containers/file-name.ts';
import type { CodeContainer, CodeRun } from '../../../ports/hosted-tools/code-runtime.ts';
import { ContainerLostError } from '../../../ports/hosted-tools/code-runtime.ts';
import { serialQueue } from '../../../ports/queues/serial-queue.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import type { PyodideLimits } from '../sandbox/pyodide-settings.ts';
import type { SandboxProcess } from '../sandbox/sandbox-process.ts';

/** The container owns the process. */
export function processContainer(process: SandboxProcess, limits: PyodideLimits): CodeContainer {
  const enqueue = serialQueue();
  return {
    run(code, signal) {
      const runCode = async (): Promise<CodeRun> => {
        const { texts, files } = await process.request([['code', Buffer.from(code)]], limits.runMs, signal);
        // A process that refuses to run code has a broken Python.
        if (texts.refused !== undefined) {
          process.end();
          throw new ContainerLostError('crash', 'The code broke Python down; its container is gone.');
        }
        const { stdout = '', stderr = '', result, error, remove = '' } = texts;
        const removed = remove.split('\n').filter(isFileName);
        return { stdout, stderr, result, error, files: files.filter(({ name }) => isFileName(name)), removed };
      };
      return untilAborted(signal, () => enqueue(runCode));
    },
    async put({ name, data }) {
      const { fileBytes, runMs } = limits;
      if (!isFileName(name)) throw new TypeError(`A file in a container cannot be named ${JSON.stringify(name)}.`);
      if (data.byteLength > fileBytes)
        throw new RangeError(
          `The file '${name}' has ${data.byteLength} bytes; a container takes at most ${fileBytes}.`,
        );
      // A signal of its own: listeners of many calls on one signal would cause a warning.
      const never = new AbortController().signal;
      const fields = [['name', Buffer.from(name)] as const, ['data', Buffer.from(data)] as const];
      await enqueue(async () => {
        const { refused } = (await process.request(fields, runMs, never)).texts;
        if (refused !== undefined) throw new Error(`The file '${name}' could not be put there: ${refused}`);
      });
    },
    async remove(name) {
      if (!isFileName(name)) throw new TypeError(`A file in a container cannot be named ${JSON.stringify(name)}.`);
      const never = new AbortController().signal;
      await enqueue(() => process.request([['remove', Buffer.from(name)]], limits.runMs, never));
    },
    get alive() {
      return !process.life.aborted;
    },
    async close() {
      process.end();
      await process.gone;
    },
  };
}
