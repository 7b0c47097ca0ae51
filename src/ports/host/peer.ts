/** Loads packages that hosts install only if they need them, and reports what to install if one is missing. */
import { requirePackage } from './package-files.cjs';

/**
 * The module at `path` of the package `name`. It is not an `import`, whose failure gives the host no explanation: it
 * fails before any code of this package runs, and `await import` would break `require` of this package. Throws an
 * `Error` that names the package to install.
 */
export function requirePeer<Module>(entry: string, name: string, path: string = name): Module {
  return requireInstalled<Module>(name, path, (cause) => {
    throw new Error(`${entry} needs the package '${name}', which is not installed. Install it: npm install ${name}`, {
      cause,
    });
  });
}

/** The same for a package that is not needed: undefined if it is not installed. */
export function optionalPeer<Module>(name: string, path: string = name): Module | undefined {
  return requireInstalled<Module | undefined>(name, path, () => undefined);
}

function requireInstalled<Module>(name: string, path: string, onMissing: (cause: unknown) => Module): Module {
  try {
    // The cast: the package exports this type at that path.
    return requirePackage(path) as Module;
  } catch (cause) {
    // The cast: an error of Node's own `require`.
    const { code, message } = cause as { readonly code?: unknown; readonly message?: unknown };
    const isMissing = code === 'MODULE_NOT_FOUND' && String(message).startsWith(`Cannot find module '${name}`);
    // The package may be present, and one of its own dependencies missing.
    if (isMissing) return onMissing(cause);
    throw cause;
  }
}
