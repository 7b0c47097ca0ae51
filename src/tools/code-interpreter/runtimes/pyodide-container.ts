/** A container on top of a Pyodide process. */

import type { CodeContainer, CodeFile, CodeRun } from '../../../ports/hosted-tools/code-runtime.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import type { PyodideLimits } from '../sandbox/pyodide-settings.ts';
import type { SandboxProcess } from '../sandbox/sandbox-process.ts';
import type { Answer } from '../shared/answers.ts';
import { isFileName } from '../shared/file-name.ts';
import { brokenDown } from '../shared/lost.ts';
import { turns } from '../shared/turns.ts';

/** The container owns the process. */
export function pyodideContainer(process: SandboxProcess, limits: PyodideLimits): CodeContainer {
  const inTurn = turns();
  return {
    run(code, signal) {
      const ran = async () =>
        runIn(process, await process.request([['code', Buffer.from(code)]], limits.runMs, signal));
      return untilAborted(signal, () => inTurn(ran));
    },
    async put(file) {
      checkFile(file, limits);
      // A signal of its own: listeners of many calls on one signal would cause a warning.
      const never = new AbortController().signal;
      const fields = [['name', Buffer.from(file.name)] as const, ['data', Buffer.from(file.data)] as const];
      await inTurn(async () => {
        const { refused } = (await process.request(fields, limits.runMs, never)).texts;
        if (refused !== undefined) throw new Error(`The file '${file.name}' could not be put there: ${refused}`);
      });
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

/** The result of the answer; a process that refuses to run code has a broken Python. */
function runIn(process: SandboxProcess, { texts, files }: Answer): CodeRun {
  if (texts.refused !== undefined) {
    process.end();
    throw brokenDown();
  }
  const { stdout = '', stderr = '', result, error } = texts;
  return { stdout, stderr, result, error, files: files.filter(({ name }) => isFileName(name)) };
}

function checkFile({ name, data }: CodeFile, { fileBytes }: PyodideLimits): void {
  if (!isFileName(name)) throw new TypeError(`A file in a container cannot be named ${JSON.stringify(name)}.`);
  if (data.byteLength > fileBytes)
    throw new RangeError(`The file '${name}' has ${data.byteLength} bytes; a container takes at most ${fileBytes}.`);
}
