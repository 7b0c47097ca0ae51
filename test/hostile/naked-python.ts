/** Plain Pyodide, whose Python can reach all of Node's objects, in the system's sandbox. */
import { NODE } from '../../src/tools/code-interpreter/sandbox/bubblewrap.ts';
import { startChild } from '../../src/tools/code-interpreter/sandbox/start-child.ts';
import { outerLaunch, scriptFile } from '../tools/code-interpreter/outer.ts';

const SCRIPT = `
import { writeSync } from 'node:fs';
import { loadPyodide } from '/pyodide/pyodide.mjs';
globalThis.require = (await import('node:module')).createRequire('/script.mjs');
const python = await loadPyodide({ indexURL: '/pyodide/' });
python.setStdout({ batched: () => {} });
python.setStderr({ batched: () => {} });
const [from, codes] = process.argv.slice(2).map((text) => JSON.parse(text));
const say = (index, text) => writeSync(1, '\\n' + JSON.stringify({ index, text: text.slice(-2000) }) + '\\n');
say(-1, 'ready');
for (let index = from; index < codes.length; index += 1) {
  try {
    say(index, 'DONE ' + String(await python.runPythonAsync('import os; os.makedirs("/mnt/data", exist_ok=True); os.chdir("/mnt/data")\\n' + codes[index])));
  } catch (error) {
    say(index, 'REFUSED ' + String(error));
  }
}
process.exit();
`;

/** One of the codes may take this long. */
const ATTEMPT_MS = 10_000;
const LOAD_MS = 60_000;

/** The outcome of each piece of code; one that ends the process is LOST, and the next ones run in a new process. */
export async function nakedPython(codes: readonly string[]): Promise<readonly string[]> {
  const { file, remove } = scriptFile(SCRIPT);
  const outcomes: string[] = [];
  try {
    while (outcomes.length < codes.length) {
      const args = [JSON.stringify(outcomes.length), JSON.stringify(codes)];
      const before = outcomes.length;
      const launch = await outerLaunch([NODE, '--no-warnings', '/script.mjs', ...args], [[file, '/script.mjs']]);
      const { ready, words } = await collect(launch, outcomes);
      if (!ready) throw new Error(`Python could not be loaded in the sandbox: ${words}`);
      if (outcomes.length < codes.length) outcomes.push(`LOST after ${outcomes.length - before}: ${words}`);
    }
  } finally {
    remove();
  }
  return outcomes;
}

async function collect(launch: Parameters<typeof startChild>[0], outcomes: string[]) {
  const { child } = startChild(launch);
  let ready = false;
  let words = '';
  let rest = '';
  let timer = setTimeout(() => child.kill('SIGKILL'), LOAD_MS);
  child.stdin.on('error', () => {}).end();
  child.stderr.on('data', (chunk) => {
    words = (words + chunk).slice(-1000);
  });
  child.stdout.on('data', (chunk) => {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [, index, text] = /^\{"index":(-?\d+),"text":(".*")\}$/.exec(line) ?? [];
      if (index === undefined) continue;
      ready = true;
      clearTimeout(timer);
      timer = setTimeout(() => child.kill('SIGKILL'), ATTEMPT_MS);
      if (Number(index) === outcomes.length) outcomes.push(JSON.parse(text ?? '""'));
    }
  });
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  return { ready, words };
}
