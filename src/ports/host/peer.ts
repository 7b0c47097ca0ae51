/** Loads packages that hosts install only if they need them, and reports what to install if one is missing. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Used to resolve the package; a host that bundles this file as CommonJS has no `import.meta.url`. */
const load: (path: string) => unknown = createRequire(import.meta.url ?? join(process.cwd(), 'index.js'));

/**
 * The module at `path` of the package `name`. It is not an `import`, whose failure gives the host no explanation: it
 * fails before any code of this package runs, and `await import` would break `require` of this package. Throws an
 * `Error` that names the package to install.
 */
export function peer<Module>(entry: string, name: string, path: string = name): Module {
  try {
    // The cast: the package exports this type at that path.
    return load(path) as Module;
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    throw new Error(`${entry} needs the package '${name}', which is not installed. Install it: npm install ${name}`, {
      cause,
    });
  }
}

/** Not if the package is present and one of its own dependencies is missing. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return code === 'MODULE_NOT_FOUND' && String(message).startsWith(`Cannot find module '${name}`);
}
