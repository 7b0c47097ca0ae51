/** The parts of the code runtime contract's cases: the code that they run, and the helpers that they share. */
import assert from 'node:assert/strict';
import type { CodeContainer, CodeRun, CodeRuntime } from '../ports/hosted-tools/code-runtime.ts';

/** The Python of every case, so that a runtime without Python can simulate it. */
export const codeScript = {
  /** An expression whose value is 42. */
  value: '6 * 7',
  /** Writes to both outputs. */
  print: "import sys\nprint('out 🧑‍🚀')\nprint('err', file=sys.stderr)",
  /** Sets a variable. */
  remember: 'kept = 41',
  /** Reads the variable of `remember`: the value is 42. */
  recall: 'kept + 1',
  /** Raises an error. */
  raise: "raise ValueError('no such luck')",
  /** Reads the file `in.txt`. */
  read: "open('in.txt').read()",
  /** Writes three bytes to the file `out.bin`. */
  write: "with open('out.bin', 'wb') as file:\n    file.write(bytes([0, 255, 10]))",
  /** Writes three bytes to a file in a folder. */
  writeBelow:
    "import os\nos.makedirs('plots', exist_ok=True)\nwith open('plots/out.bin', 'wb') as file:\n    file.write(bytes([1, 2, 3]))",
  /** Removes the file `in.txt`. */
  remove: "import os\nos.remove('in.txt')",
  /** The value is `True` if there is a file `in.txt`. */
  exists: "import os\nos.path.exists('in.txt')",
  /** Adds a letter to a variable. */
  append: "kept = globals().get('kept', '') + 'a'",
  /** Never ends. */
  endless: 'while True: pass',
} as const;

/** A runtime under test and how to release it. */
export interface CodeRuntimeUnderTest {
  /** The subject. */
  readonly runtime: CodeRuntime;
  /** Releases what was created for the runtime; the suite closes the runtime itself. */
  close?(): unknown;
}

/** One case of the contract. */
export interface CodeRuntimeCase {
  /** A sentence that cites the requirements it proves. */
  readonly name: string;
  run(runtime: CodeRuntime): Promise<void>;
}

const NEVER = new AbortController().signal;

/** Creates a fresh container. */
export async function createContainer(runtime: CodeRuntime): Promise<CodeContainer> {
  return runtime.create(NEVER);
}

/** Runs the code to its end. */
export async function runScript(container: CodeContainer, code: keyof typeof codeScript): Promise<CodeRun> {
  return container.run(codeScript[code], NEVER);
}

/** Asserts that the promise rejects with an error of this name, and of this reason if given. */
export async function assertLost(work: Promise<unknown>, reason?: string): Promise<void> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  // Not by `instanceof`: the runtime may be built with another copy of this package.
  assert.ok(error instanceof Error && error.name === 'ContainerLostError', `not a ContainerLostError: ${error}`);
  if (reason !== undefined) assert.equal('reason' in error && error.reason, reason);
}

/** The run, without what not every runtime can tell. */
export function withoutRemoved({ removed: _, ...run }: CodeRun): Omit<CodeRun, 'removed'> {
  return run;
}

/** The files by their names, their bytes as numbers. */
export function writtenFiles({ files }: CodeRun): Readonly<Record<string, readonly number[]>> {
  return Object.fromEntries(files.map(({ name, data }) => [name, [...data]]));
}
