/** Loads Python in a realm of its own. */
import { randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CodeRealm } from './code-realm.ts';
import type * as Realm from './realm.ts';

/** What Pyodide reads while it loads. */
const LOADED = ['pyodide.asm.wasm', 'python_stdlib.zip'];

/** What the process has of the realm: memory to read answers from, and functions that it calls with strings and that answer nothing. */
interface PythonRealm extends Realm.Questions {
  readonly realm: CodeRealm;
  readonly memory: SharedArrayBuffer;
}

/** Python is still loading when this resolves. No object and no function of this realm goes into that one. */
export async function pythonRealm(folder: string, limits: string): Promise<PythonRealm> {
  const realm = new CodeRealm();
  // The casts: these are the modules' own types.
  const inside = (await realm.evaluate(join(import.meta.dirname, 'realm.js'))) as typeof Realm;
  randomFillSync(inside.seed);
  inside.prepare(limits);
  for (const name of LOADED) give(readFileSync(join(folder, name)), name, inside);
  const { loadPyodide } = (await realm.evaluate(join(folder, 'pyodide.mjs'))) as { loadPyodide: Realm.LoadPyodide };
  const { default: createModule } = await realm.evaluate(join(folder, 'pyodide.asm.mjs'));
  const lockFile = readFileSync(join(folder, 'pyodide-lock.json'), 'utf8');
  const { run, put } = inside.startRealm(limits, lockFile, loadPyodide, createModule);
  return { realm, memory: inside.memory, run, put };
}

/** Into memory of the realm; no code of a stranger runs there yet. */
function give(file: Buffer, name: string, { roomFor }: typeof Realm): void {
  file.copy(roomFor(name, file.length));
}
