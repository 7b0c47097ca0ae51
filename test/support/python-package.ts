/** Packages of PyPI, each in an environment of its own under build/, created when a test first needs it. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findProgram } from './services.ts';
import { describeWhere, itWhere } from './skipping.ts';

const INSTALLS_WITHIN_MS = 600_000;

const execute = promisify(execFile);

/** An interpreter that can import the package, and tests that need it. */
export interface PythonPackage {
  /** The interpreter; there may be none. */
  readonly python: string;
  /** `it` where the package is; otherwise a skip whose name says why not. */
  readonly it: typeof it;
  /** The same of `describe`. */
  readonly describe: typeof describe;
}

/** The imported module, if it is not named like the package, and versions of packages that it needs, as `name==version`. */
export interface PythonPackageOptions {
  readonly imported?: string;
  readonly along?: readonly string[];
}

/** Installs the package if it is not there yet. Throws if it cannot be installed where CI=true. */
export async function pythonPackage(
  name: string,
  version: string,
  { imported = name, along = [] }: PythonPackageOptions = {},
): Promise<PythonPackage> {
  const folder = join(import.meta.dirname, `../../build/${name}-python-${version}`);
  const missing = await whyMissing(folder, name, imported, [`${name}==${version}`, ...along]);
  if (missing && process.env.CI === 'true') throw new Error(`CI needs the Python package: ${missing}`);
  return {
    python: join(folder, 'bin/python'),
    it: itWhere(missing === undefined, missing ?? ''),
    describe: describeWhere(missing === undefined, missing ?? ''),
  };
}

async function whyMissing(
  folder: string,
  name: string,
  imported: string,
  wanted: readonly string[],
): Promise<string | undefined> {
  // Written last: without it the environment is incomplete.
  const whole = join(folder, 'lib-is-whole');
  if (existsSync(whole)) return undefined;
  const python = findProgram('python3');
  if (!python) return 'there is no python3 on this machine';
  const lock = `${folder}.lock`;
  if (!(await takesLock(lock, whole))) return undefined;
  try {
    const options = { timeout: INSTALLS_WITHIN_MS };
    const own = join(folder, 'bin/python');
    await rm(folder, { recursive: true, force: true });
    await execute(python, ['-m', 'venv', folder], options);
    const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1'];
    await execute(own, ['-m', 'pip', 'install', ...flags, ...wanted], options);
    await execute(own, ['-c', `import ${imported}; open(${JSON.stringify(whole)}, 'w').close()`], options);
    return undefined;
  } catch (error) {
    // The text may hold parentheses, at which the list of skipped tests ends the reason.
    const [line = ''] = String(error).split('\n').filter(Boolean).slice(-1);
    return `${name} of PyPI cannot be installed: ${line.replaceAll(/[()]/g, '')}`;
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

/** Waits for the right to install, as other processes of Jest may install the same; returns false if one of them has done so. */
async function takesLock(lock: string, whole: string): Promise<boolean> {
  await mkdir(dirname(lock), { recursive: true });
  for (; !existsSync(whole); await pause(200)) {
    if (await isMade(lock)) {
      if (!existsSync(whole)) return true;
      // Its holder has installed it since we looked.
      await rm(lock, { recursive: true, force: true });
      return false;
    }
    const { mtimeMs = Date.now() } = (await stat(lock).catch(() => undefined)) ?? {};
    // Its process was ended.
    if (Date.now() - mtimeMs > 3 * INSTALLS_WITHIN_MS) await rm(lock, { recursive: true, force: true });
  }
  return false;
}

/** Makes the folder; returns false if it is there already. */
async function isMade(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    // The cast: errors of the file system have codes.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
