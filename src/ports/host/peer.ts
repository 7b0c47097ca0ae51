/** Loads packages that hosts install only where they need them, and says what to install where one is missing. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** What the package names; a host that bundles this file as CommonJS has no `import.meta.url`. */
const load: (path: string) => unknown = createRequire(import.meta.url ?? join(process.cwd(), 'index.js'));

/**
 * The module at `path` of the package `name`. Not an `import`, whose failure nobody could explain to the host: it fails
 * before any code of ours runs, and `await import` would take `require` of this package away. Throws an `Error` that says what to install.
 */
export function peer<Module>(entry: string, name: string, path: string = name): Module {
  try {
    // The cast: this is what the package has at that path.
    return load(path) as Module;
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    throw new Error(`${entry} needs the package '${name}', which is not installed. Install it: npm install ${name}`, {
      cause,
    });
  }
}

/** Not where the package is there and something that it needs is missing. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return code === 'MODULE_NOT_FOUND' && String(message).startsWith(`Cannot find module '${name}`);
}
