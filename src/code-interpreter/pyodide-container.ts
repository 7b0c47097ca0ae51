/** A container over a process of Pyodide. */
import { z } from 'zod';
import type { CodeContainer, CodeFile, CodeRun } from '../ports/code-runtime.ts';
import { untilAborted } from '../streams/until-aborted.ts';
import type { Frame } from './answers.ts';
import { isFileName } from './file-name.ts';
import { brokenDown } from './lost.ts';
import type { PyodideLimits } from './pyodide-settings.ts';
import type { SandboxProcess } from './sandbox-process.ts';
import { turns } from './turns.ts';

/** The process is the container's own. */
export function pyodideContainer(process: SandboxProcess, limits: PyodideLimits): CodeContainer {
  const inTurn = turns();
  return {
    run(code, signal) {
      const ran = async () => runIn(process, await process.ask({ type: 'run', code }, limits.runMs, signal));
      return untilAborted(signal, () => inTurn(ran));
    },
    async put(file) {
      checkFile(file, limits);
      // Its own: listeners of many calls on one signal would be warned of.
      const never = new AbortController().signal;
      const data = Buffer.from(file.data).toString('base64');
      await inTurn(async () => {
        const { refused } = await process.ask({ type: 'put', name: file.name, data }, limits.runMs, never);
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

const ranFrame = z.object({
  stdout: z.string(),
  stderr: z.string(),
  result: z.string().optional(),
  error: z.string().optional(),
  files: z.array(z.object({ name: z.string(), data: z.string() })),
});

/** What the frame says; one that does not say it comes from a Python that has broken down. */
function runIn(process: SandboxProcess, frame: Frame): CodeRun {
  const { success, data } = ranFrame.safeParse(frame);
  if (!success) {
    process.end();
    throw brokenDown();
  }
  const { stdout, stderr, result, error, files } = data;
  return { stdout, stderr, result, error, files: files.filter(({ name }) => isFileName(name)).map(fileIn) };
}

function fileIn({ name, data }: { readonly name: string; readonly data: string }): CodeFile {
  return { name, data: Buffer.from(data, 'base64') };
}

function checkFile({ name, data }: CodeFile, { fileBytes }: PyodideLimits): void {
  if (!isFileName(name)) throw new TypeError(`A file in a container cannot be named ${JSON.stringify(name)}.`);
  if (data.byteLength > fileBytes)
    throw new RangeError(`The file '${name}' has ${data.byteLength} bytes; a container takes at most ${fileBytes}.`);
}
