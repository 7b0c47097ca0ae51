/** Runs a script of a skill in a new container of the code runtime, which is removed afterwards. */
import { basename } from 'node:path';
import type { CodeContainer, CodeRun, CodeRuntime } from '../../ports/hosted-tools/code-runtime.ts';
import { bytesBelow, namesBelow, SkillFault, textBelow } from './skill-files.ts';

/** A script, its arguments and its limits. */
interface ScriptRun {
  /** The skill's folder. */
  readonly folder: string;
  /** The script's name below it. */
  readonly script: string;
  readonly args: readonly string[];
  /** The largest file, and the most bytes of all files, that the container receives. */
  readonly maxBytes: number;
}

/** The maximum number of characters of each output that the model receives. */
const MAX_OUTPUT_LENGTH = 20_000;

/** Runs the script and returns its printed text for the model. The skill's other files are in the same folder. */
export async function runScript(runtime: CodeRuntime, run: ScriptRun, signal: AbortSignal): Promise<string> {
  const { folder, script, args, maxBytes } = run;
  if (!script.endsWith('.py')) throw new SkillFault('Only Python files, whose names end in .py, are run.');
  const data = Buffer.from(await textBelow(folder, script, maxBytes));
  const container = await runtime.create(signal);
  try {
    await copyFiles(container, folder, maxBytes);
    await container.put({ name: basename(script), data });
    return scriptOutput(await container.run(pythonCode([basename(script), ...args]), signal));
  } finally {
    await container.close();
  }
}

/** A JSON string of ASCII characters is also a string literal of Python. */
function pythonCode(argv: readonly string[]): string {
  const text = JSON.stringify(JSON.stringify(argv)).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `import json, runpy, sys\nsys.path.insert(0, '.')\nsys.argv = json.loads(${text})\nrunpy.run_path(sys.argv[0], run_name='__main__')\nNone`;
}

/** Copies as many files as fit and the runtime takes; a script that needs another file reports it as missing. */
async function copyFiles(container: CodeContainer, folder: string, maxBytes: number): Promise<void> {
  let bytesLeft = maxBytes;
  for (const path of await namesBelow(folder)) {
    const data = await bytesBelow(folder, path, bytesLeft).catch(() => undefined);
    if (!data) continue;
    bytesLeft -= data.length;
    await container.put({ name: basename(path), data }).catch((error: unknown) => {
      if (!container.alive) throw error;
    });
  }
}

function scriptOutput({ stdout, stderr, error, files }: CodeRun): string {
  const names = files.map(({ name }) => name).slice(0, 100);
  const parts = [
    stdout.slice(0, MAX_OUTPUT_LENGTH),
    stderr === '' ? '' : `Standard error:\n${stderr.slice(0, MAX_OUTPUT_LENGTH)}`,
    error === undefined ? '' : `The script failed:\n${error.slice(-MAX_OUTPUT_LENGTH)}`,
    names.length === 0 ? '' : `It wrote files, which were removed with its container: ${names.join(', ')}`,
  ];
  return parts.filter((part) => part !== '').join('\n') || '(The script printed nothing.)';
}
