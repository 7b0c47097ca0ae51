/** Loads Python in a realm of its own. */
import { randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CodeRealm } from './code-realm.ts';
import type * as Realm from './realm.ts';

/** The files that Pyodide reads while it loads. */
const LOADED = ['pyodide.asm.wasm', 'python_stdlib.zip'];

/** The process's side of the realm: memory with the answers, and functions that take strings and return nothing. */
interface PythonRealm extends Realm.Questions {
  readonly realm: CodeRealm;
  readonly memory: SharedArrayBuffer;
}

/** Resolves while Python is still loading. No object and no function of this realm goes into the other one. */
export async function pythonRealm(folder: string, limits: string): Promise<PythonRealm> {
  const realm = new CodeRealm();
  // The casts: these are the modules' own types.
  const inside = (await realm.evaluate(join(import.meta.dirname, 'realm.js'))) as typeof Realm;
  randomFillSync(inside.seed);
  inside.prepareRealm(limits);
  for (const name of LOADED) {
    const file = readFileSync(join(folder, name));
    // Writes to memory of the realm, before any untrusted code runs there.
    file.copy(inside.allocateFile(name, file.length));
  }
  const { loadPyodide } = (await realm.evaluate(join(folder, 'pyodide.mjs'))) as { loadPyodide: Realm.LoadPyodide };
  const { default: createModule } = await realm.evaluate(join(folder, 'pyodide.asm.mjs'));
  const lockFile = readFileSync(join(folder, 'pyodide-lock.json'), 'utf8');
  const { run, put, remove } = inside.startRealm(limits, lockFile, loadPyodide, createModule);
  return { realm, memory: inside.memory, run, put, remove };
}
