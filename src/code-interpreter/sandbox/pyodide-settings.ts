/** The options of `pyodideRuntime`, checked once. */
import {
  checkOptions,
  isFunction,
  milliseconds,
  type OptionCheck,
  positiveInteger,
} from '../../ports/host/options-check.ts';
import { warner } from '../../ports/host/warner.ts';
import { ISOLATIONS, type IsolationName } from './isolation.ts';

/** What one container may take; sizes are bytes where they do not say otherwise. */
export interface PyodideLimits {
  /** One run, in milliseconds. */
  readonly runMs: number;
  /** All of the container's process, in MiB; Python itself takes about 180. */
  readonly memoryMb: number;
  /** Each of what a run prints, its errors, its result and its traceback; what is more is cut off. */
  readonly outputBytes: number;
  /** All files that one run gives back, and any file that is put in; files that do not fit are named but left out. */
  readonly fileBytes: number;
  /** How many files one run gives back. */
  readonly files: number;
}

/** `undefined` means omitted. */
export interface PyodideRuntimeOptions {
  readonly limits?: Partial<PyodideLimits> | undefined;
  /** Containers kept ready, so that a first run need not wait for Python to load. Default: 1. */
  readonly warm?: number | undefined;
  /** Processes at the same time, ready ones included; further calls wait. Default: 8. */
  readonly maxContainers?: number | undefined;
  /**
   * What stands around each process: a sandbox of the system (Linux with the program `bwrap`), or nothing but Node's own walls,
   * which are not made to hold hostile code. Default: `bubblewrap`; where that is not there, creation throws.
   */
  readonly isolation?: IsolationName | undefined;
  /** Told of what the host should know, such as a layer of the sandbox that this machine refuses. Default: a process warning. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** With every default filled in. */
interface PyodideSettings {
  readonly limits: PyodideLimits;
  readonly warm: number;
  readonly maxContainers: number;
  readonly isolation: IsolationName;
  readonly warn: (message: string) => void;
}

const MIB = 1024 * 1024;

/** The defaults. */
export const PYODIDE_LIMITS: PyodideLimits = {
  runMs: 30_000,
  memoryMb: 512,
  outputBytes: MIB,
  fileBytes: 10 * MIB,
  files: 32,
};

/** Less, and Python would not load. */
const LEAST_MEMORY_MB = 256;

const checks: Readonly<Record<keyof PyodideLimits, OptionCheck>> = {
  runMs: milliseconds,
  memoryMb: (value) =>
    (Number.isInteger(value) && within(value, LEAST_MEMORY_MB, 4096)) ||
    `a whole number from ${LEAST_MEMORY_MB} to 4096`,
  outputBytes: positiveInteger,
  fileBytes: positiveInteger,
  files: positiveInteger,
};

/** Fills in the defaults; throws a `TypeError` that names the option. */
export function pyodideSettings(options: PyodideRuntimeOptions): PyodideSettings {
  checkOptions('pyodideRuntime', options, {
    limits: (value) => (typeof value === 'object' && value !== null) || 'an object',
    warm: (value) => (Number.isInteger(value) && within(value, 0, 1000)) || 'a whole number from 0 to 1000',
    maxContainers: positiveInteger,
    isolation: (value) => ISOLATIONS.some((name) => name === value) || "'bubblewrap' or 'process-only'",
    onWarning: isFunction,
  });
  const { limits = {}, warm = 1, maxContainers = 8, isolation = 'bubblewrap', onWarning } = options;
  checkOptions('pyodideRuntime: limits', limits, checks);
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  const all = { ...PYODIDE_LIMITS, ...Object.fromEntries(given) };
  return { limits: all, warm, maxContainers, isolation, warn: warner(onWarning) };
}

function within(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}
