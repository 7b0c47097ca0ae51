/** What runs inside the realm of the code: Pyodide, and the answers to the host's frames. */
import type { AskFrame, ChildLimits, Door } from './door.ts';
import { FOLDER, type MemoryFs, type WorkFolder, workFolder } from './files.ts';
import { forgetLoading } from './globals.ts';
import { type Output, output } from './output.ts';
import { RUNNER } from './runner.ts';

export { defineGlobals } from './globals.ts';

/** What we use of Pyodide. */
interface Pyodide {
  readonly FS: MemoryFs;
  runPython(code: string): unknown;
  readonly globals: { get(name: string): unknown; delete(name: string): void };
  setStdout(options: Output): void;
  setStderr(options: Output): void;
}

/** What the package exports. */
export interface PyodideModules {
  readonly loadPyodide: (options: object) => Promise<Pyodide>;
  readonly createPyodideModule: unknown;
}

/** `run` of the Python side; what it answers must be freed. */
type Runner = (code: string, limit: number) => Promise<{ toJs(): readonly (string | undefined)[]; destroy(): void }>;

/** Loads Python and tells the host; answers where the host's frames go. */
export function startRealm(door: Door, limits: ChildLimits, modules: PyodideModules): (frame: string) => void {
  const send = (frame: object) => door.send(JSON.stringify(frame));
  const loading = loaded(door, limits, modules);
  loading.then(
    () => send({ type: 'ready' }),
    (error) => send({ type: 'failed', message: String(error) }),
  );

  return function receive(frame) {
    const ask: AskFrame = JSON.parse(frame);
    loading
      .then((answer) => answer(ask))
      .then(
        (fields) => send({ id: ask.id, ...fields }),
        (error) => send({ id: ask.id, refused: String(error) }),
      );
  };
}

async function loaded(door: Door, limits: ChildLimits, { loadPyodide, createPyodideModule }: PyodideModules) {
  const python = await loadPyodide({
    indexURL: '/',
    createPyodideModule,
    // Neither `js` nor a list of packages to download: what Python can import is what is there.
    jsglobals: Object.create(null),
    lockFileContents: { ...JSON.parse(door.read('pyodide-lock.json')), packages: {} },
    env: { HOME: FOLDER },
  });
  forgetLoading();
  const stdout = output(limits.outputBytes, door);
  const stderr = output(limits.outputBytes, door);
  python.setStdout(stdout);
  python.setStderr(stderr);
  const run = runnerOf(python);
  const folder = workFolder(python.FS, limits, door);
  const ran = async (code: string) => {
    const [result, error] = await outcome(run, code, limits.outputBytes);
    const { files, note } = folder.changes();
    return { stdout: stdout.take(), stderr: stderr.take() + note, result, error, files };
  };
  return async (ask: AskFrame) => (ask.type === 'run' ? ran(ask.code) : put(folder, ask));
}

/** The runner's names are kept out of the code's. */
function runnerOf(python: Pyodide): Runner {
  // The casts: these are the functions that the Python text defines.
  const define = python.runPython(DEFINE) as (text: string) => Runner;
  const run = define(RUNNER);
  python.globals.delete('_define');
  return run;
}

const DEFINE = `
def _define(text):
    names = {"__name__": "runner"}
    exec(text, names)
    return names["run"]
_define`;

async function outcome(run: Runner, code: string, limit: number) {
  const pair = await run(code, limit);
  const texts = pair.toJs();
  pair.destroy();
  return texts;
}

function put(folder: WorkFolder, ask: AskFrame & { readonly type: 'put' }): object {
  folder.put(ask);
  return {};
}
