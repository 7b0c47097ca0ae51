/** Runs inside the code's realm: Pyodide, and the answers to the host's questions. */

import type { ChildLimits } from '../shared/child-limits.ts';
import type { Kind } from '../shared/kinds.ts';
import { FOLDER, type MemoryFs, type WorkFile, workFolder } from './files.ts';
import { defineGlobals, forgetLoading } from './globals.ts';
import { concatBytes, type Output, output } from './output.ts';
import { SEED_BYTES } from './random.ts';
import { RUNNER } from './runner.ts';
import { openChannel } from './shared-memory-channel.ts';
import { encodeUtf8, latin1Bytes } from './text-coding.ts';

export { allocateFile } from './globals.ts';

/** The part of Pyodide that we use. */
interface Pyodide {
  readonly FS: MemoryFs;
  readonly _module: { handle_js_error(error: unknown): void };
  runPython(code: string): unknown;
  readonly globals: { get(name: string): unknown; delete(name: string): void };
  setStdout(options: Output): void;
  setStderr(options: Output): void;
}

/** The exports of the package. */
export type LoadPyodide = (options: object) => Promise<Pyodide>;

/** `run` of the Python side; its result must be freed. */
type Runner = (code: string, limit: number) => Promise<{ toJs(): readonly (string | undefined)[]; destroy(): void }>;

type Field = readonly [kind: Kind, data: Uint8Array];

/** The functions that the process calls, with strings only; the answers go through the channel. */
export interface Questions {
  readonly run: (code: string) => void;
  /** The bytes are a string of one character each. */
  readonly put: (name: string, bytes: string) => void;
  readonly remove: (name: string) => void;
}

const channel = openChannel();

/** The memory from which the process reads the answers. */
export const memory = channel.memory;

/** The memory into which the process first puts the seed of the random numbers. */
export const seed = new Uint8Array(SEED_BYTES);

/** Prepares the realm for Pyodide's modules; the limits are JSON, so that no object enters. */
export function prepareRealm(limits: string): void {
  defineGlobals(JSON.parse(limits), seed);
}

/** Loads Python, which answers question 0, and accepts questions from then on. */
export function startRealm(
  settings: string,
  lockFile: string,
  loadPyodide: LoadPyodide,
  createPyodideModule: unknown,
): Questions {
  // The cast: the host has written it.
  const limits = JSON.parse(settings) as ChildLimits;
  const loading = loadPyodide({
    indexURL: '/',
    createPyodideModule,
    // Neither `js` nor a list of packages to download: Python can import only what is installed.
    jsglobals: Object.create(null),
    lockFileContents: { ...JSON.parse(lockFile), packages: {} },
    env: { HOME: FOLDER },
  }).then((python) => preparePython(python, limits));
  const answer = (work: (python: PreparedPython) => Promise<readonly Field[]>) => void sendAnswer(loading.then(work));
  answer(async () => []);

  return {
    run: (code) => answer(({ run }) => run(code)),
    put: (name, bytes) => answer(async ({ put }) => put({ name, data: latin1Bytes(bytes) })),
    remove: (name) => answer(async ({ remove }) => remove(name)),
  };
}

async function sendAnswer(work: Promise<readonly Field[]>): Promise<void> {
  const fields = await work.catch((error): readonly Field[] => [['refused', encodeUtf8(String(error))]]);
  for (const [kind, data] of fields) await channel.send(kind, data);
  await channel.send('done', new Uint8Array());
}

type PreparedPython = ReturnType<typeof preparePython>;

function preparePython(python: Pyodide, limits: ChildLimits) {
  forgetLoading();
  // Pyodide does not recognise an error without a stack, and reports `a value that was thrown` to Python; there are no stacks here.
  const { _module } = python;
  const handle = _module.handle_js_error;
  _module.handle_js_error = function withStack(error) {
    if (error instanceof Error && error.stack === undefined) Reflect.set(error, 'stack', '');
    return handle(error);
  };
  const stdout = output(limits.outputBytes);
  const stderr = output(limits.outputBytes);
  python.setStdout(stdout);
  python.setStderr(stderr);
  // The casts: these are the functions that the Python text defines. It keeps the runner's names apart from the code's.
  const define = python.runPython(DEFINE) as (text: string) => Runner;
  const run = define(RUNNER);
  python.globals.delete('_define');
  const folder = workFolder(python.FS, limits);
  return {
    put(file: WorkFile): readonly Field[] {
      folder.put(file);
      return [];
    },
    remove(name: string): readonly Field[] {
      folder.remove(name);
      return [];
    },
    async run(code: string): Promise<readonly Field[]> {
      const pair = await run(code, limits.outputBytes);
      const [result, error] = pair.toJs();
      pair.destroy();
      const { files, removed, note } = folder.changes();
      return [
        ['stdout', stdout.take()],
        ['stderr', concatBytes([stderr.take(), encodeUtf8(note)])],
        ...textField('result', result),
        ...textField('error', error),
        ...textField('remove', removed.length === 0 ? undefined : removed.join('\n')),
        ...files.flatMap(({ name, data }): readonly Field[] => [
          ['name', encodeUtf8(name)],
          ['data', data],
        ]),
      ];
    },
  };
}

function textField(kind: Kind, text: string | undefined): readonly Field[] {
  return text === undefined ? [] : [[kind, encodeUtf8(text)]];
}

const DEFINE = `
def _define(text):
    names = {"__name__": "runner"}
    exec(text, names)
    return names["run"]
_define`;
