/** Creates the realm that the code runs in: its own intrinsics, and nothing of Node except the modules it is given. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';

/** Node answers `import()` in any realm with promises and errors of its own. */
const DYNAMIC_IMPORT = /(?<![\w$.])import\s*\(/g;
const NO_IMPORT = `(async name => { throw new Error('There is no module ' + name + ' here.'); })(`;

/** A realm, and the modules in it. */
export class CodeRealm {
  // Not even an escape from the realm can compile text to code, in either realm; the host sets the same for the process.
  readonly context = vm.createContext(Object.create(null), { codeGeneration: { strings: false, wasm: true } });
  readonly #modules = new Map<string, vm.SourceTextModule>();

  /** Evaluates a module, and the modules beside it that it imports. */
  async evaluate(path: string): Promise<Record<string, unknown>> {
    const module = this.#moduleAt(path);
    await module.link((name, importer) => this.#moduleAt(join(importer.identifier, '..', name)));
    await module.evaluate();
    // The cast: the exports of a namespace are accessed by name.
    return module.namespace as Record<string, unknown>;
  }

  #moduleAt(path: string): vm.SourceTextModule {
    const cached = this.#modules.get(path);
    if (cached) return cached;
    const text = readFileSync(path, 'utf8').replace(DYNAMIC_IMPORT, NO_IMPORT);
    const module = new vm.SourceTextModule(text, {
      context: this.context,
      identifier: path,
      initializeImportMeta: (meta) => void Object.assign(meta, { url: 'file:///module.mjs' }),
    });
    this.#modules.set(path, module);
    return module;
  }
}
