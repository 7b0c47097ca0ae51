/** Loads packages that hosts install only if they need them, and reports what to install if one is missing. */
import { requirePackage } from './package-files.cjs';

/**
 * The module at `path` of the package `name`. It is not an `import`, whose failure gives the host no explanation: it
 * fails before any code of this package runs, and `await import` would break `require` of this package. Throws an
 * `Error` that names the package to install.
 */
export function peer<Module>(entry: string, name: string, path: string = name): Module {
  return found<Module>(name, path, (cause) => {
    throw new Error(`${entry} needs the package '${name}', which is not installed. Install it: npm install ${name}`, {
      cause,
    });
  });
}

/** The same for a package that is not needed: undefined if it is not installed. */
export function optionalPeer<Module>(name: string, path: string = name): Module | undefined {
  return found<Module | undefined>(name, path, () => undefined);
}

function found<Module>(name: string, path: string, otherwise: (cause: unknown) => Module): Module {
  try {
    // The cast: the package exports this type at that path.
    return requirePackage(path) as Module;
  } catch (cause) {
    if (isMissing(cause, name)) return otherwise(cause);
    throw cause;
  }
}

/** Not if the package is present and one of its own dependencies is missing. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return code === 'MODULE_NOT_FOUND' && String(message).startsWith(`Cannot find module '${name}`);
}
