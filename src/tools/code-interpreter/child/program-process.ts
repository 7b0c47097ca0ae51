/** The process's side of a program's realm. */
import { join } from 'node:path';
import vm from 'node:vm';
import { CodeRealm } from './code-realm.ts';
import type * as Realm from './program-realm.ts';

/** As `PythonRealm`: memory with the answers, and functions that take strings and return nothing. */
interface ProgramRealm {
  readonly realm: CodeRealm;
  readonly memory: SharedArrayBuffer;
  /** Begins the program, whose setup is JSON. */
  readonly begin: (code: string, setup: string) => void;
  /** Gives it results, as JSON. */
  readonly goOn: (results: string) => void;
}

/** Resolves when the realm is ready for a program. */
export async function programRealm(): Promise<ProgramRealm> {
  const realm = new CodeRealm();
  // The cast: this is the module's own type.
  const inside = (await realm.evaluate(join(import.meta.dirname, 'program-realm.js'))) as typeof Realm;
  inside.ready();
  return {
    realm,
    memory: inside.memory,
    begin(code, setup) {
      inside.prepareProgram(setup);
      const script = compiled(code, inside.refuse);
      try {
        script?.runInContext(realm.context);
      } catch {
        // Nothing that the program has thrown is looked at.
        inside.refuse('The program cannot be read.');
      }
      void inside.settle();
    },
    goOn(results) {
      inside.receive(results);
      void inside.settle();
    },
  };
}

/** The program, or nothing where its text is none: compiling runs nothing of it, so the error is the compiler's own. */
function compiled(code: string, refuse: (error: string) => void): vm.Script | undefined {
  try {
    return new vm.Script(`program(async () => {\n${code.replace(IMPORT, ESCAPED_IMPORT)}\n});`);
  } catch (error) {
    refuse(`SyntaxError: ${error instanceof Error ? error.message : ''}`);
    return undefined;
  }
}

/**
 * Node answers `import()` in any realm with promises and errors of its own. Written with an escape the word is the same in texts, patterns and
 * names, and no keyword any more.
 */
const IMPORT = /(?<![\\\w$])import(?![\w$])/g;
const ESCAPED_IMPORT = '\\u0069mport';
