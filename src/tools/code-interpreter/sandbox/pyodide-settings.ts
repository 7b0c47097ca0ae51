/** The options of `pyodideRuntime`, checked once. */
import { isLogger, type Logger, warner } from '../../../ports/host/logger.ts';
import {
  checkOptions,
  milliseconds,
  type OptionCheck,
  positiveInteger,
  wholeNumber,
} from '../../../ports/host/options-check.ts';
import { definedFields } from '../../../protocol/record.ts';
import { ISOLATIONS, type IsolationName } from './isolation.ts';

/** The limits of one container; sizes are in bytes unless stated otherwise. */
export interface PyodideLimits {
  /** The time of one run, in milliseconds. */
  readonly runMs: number;
  /** The memory of the container's whole process, in MiB; Python itself takes about 180. */
  readonly memoryMb: number;
  /** The limit for each of stdout, stderr, the result and the traceback of a run; the excess is cut off. */
  readonly outputBytes: number;
  /** The limit for all files that one run returns, and for each input file; files that do not fit are named but omitted. */
  readonly fileBytes: number;
  /** How many files one run returns. */
  readonly files: number;
}

/** `undefined` means omitted. */
export interface PyodideRuntimeOptions {
  /**
   * What one container may use. Default: `runMs` 30,000, `memoryMb` 512, `outputBytes` 1 MiB, `fileBytes` 10 MiB and
   * `files` 32.
   */
  readonly limits?: Partial<PyodideLimits> | undefined;
  /** Containers kept ready, so that a first run need not wait for Python to load. Default: 1. */
  readonly warm?: number | undefined;
  /** Processes at the same time, ready ones included; further calls wait. Default: 8. */
  readonly maxContainers?: number | undefined;
  /**
   * The isolation of each process: a sandbox of the system (Linux with the program `bwrap`), or only the restrictions of Node,
   * which are not made to hold hostile code. Default: `bubblewrap`; without the program, creation throws.
   */
  readonly isolation?: IsolationName | undefined;
  /** Receives warnings for the host's log, such as a layer of the sandbox that this machine refuses. Default: process warnings. */
  readonly logger?: Logger | false | undefined;
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

/** With less, Python would not load. */
const MIN_MEMORY_MB = 256;

const limitChecks: Readonly<Record<keyof PyodideLimits, OptionCheck>> = {
  runMs: milliseconds,
  memoryMb: wholeNumber(MIN_MEMORY_MB, 4096),
  outputBytes: positiveInteger,
  fileBytes: positiveInteger,
  files: positiveInteger,
};

/** Fills in the defaults; throws a `TypeError` that names the option. */
export function pyodideSettings(options: PyodideRuntimeOptions): PyodideSettings {
  checkOptions('pyodideRuntime', options, {
    limits: (value) => (typeof value === 'object' && value !== null) || 'an object',
    warm: wholeNumber(0, 1000),
    maxContainers: positiveInteger,
    isolation: (value) => ISOLATIONS.some((name) => name === value) || "'bubblewrap' or 'process-only'",
    logger: isLogger,
  });
  const { limits = {}, warm = 1, maxContainers = 8, isolation = 'bubblewrap', logger } = options;
  checkOptions('pyodideRuntime: limits', limits, limitChecks);
  const all = { ...PYODIDE_LIMITS, ...definedFields(limits) };
  return { limits: all, warm, maxContainers, isolation, warn: warner(logger) };
}
