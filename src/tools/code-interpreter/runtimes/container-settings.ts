/** The options of `containerRuntime`, checked once. */
import { isLogger, type Logger, warner } from '../../../ports/host/logger.ts';
import {
  checkOptions,
  milliseconds,
  type OptionCheck,
  positiveInteger,
  wholeNumber,
} from '../../../ports/host/options-check.ts';
import { definedFields } from '../../../protocol/record.ts';
import { PYODIDE_LIMITS, type PyodideLimits } from '../sandbox/pyodide-settings.ts';

/** The limits of one container; sizes are in bytes unless stated otherwise. */
export interface ContainerLimits extends PyodideLimits {
  /** The size of `/mnt/data`, in MiB, and the same for `/tmp`. Both are in memory and count towards it. */
  readonly diskMb: number;
  /** Processes and threads. */
  readonly processes: number;
  /** Cores; fractions such as 0.5 are allowed. */
  readonly cpus: number;
}

/** `undefined` means omitted. */
export interface ContainerRuntimeOptions {
  /** An image with `python3` that is already present: nothing is downloaded. */
  readonly image: string;
  /** The program: `docker`, `podman`, or the path of one. Default: `docker`. */
  readonly program?: string | undefined;
  /** The name of a stronger OCI runtime that the program knows, such as `runsc` (gVisor). Default: the program's own. */
  readonly ociRuntime?: string | undefined;
  /** What one container may use. Default: as for `pyodideRuntime`, with `diskMb` 64, `processes` 64 and `cpus` 1. */
  readonly limits?: Partial<ContainerLimits> | undefined;
  /** Containers kept ready. Default: 1. */
  readonly warm?: number | undefined;
  /** Containers at the same time, ready ones included; further calls wait. Default: 8. */
  readonly maxContainers?: number | undefined;
  /** Receives warnings for the host's log, such as that no container could be kept ready. Default: process warnings. */
  readonly logger?: Logger | false | undefined;
}

/** With every default filled in. */
export interface ContainerSettings {
  readonly image: string;
  readonly program: string;
  readonly ociRuntime: string | undefined;
  readonly limits: ContainerLimits;
  readonly warm: number;
  readonly maxContainers: number;
  readonly warn: (message: string) => void;
}

/** The defaults. */
const LIMITS: ContainerLimits = { ...PYODIDE_LIMITS, diskMb: 64, processes: 64, cpus: 1 };

const limitChecks: Readonly<Record<keyof ContainerLimits, OptionCheck>> = {
  runMs: milliseconds,
  memoryMb: positiveInteger,
  outputBytes: positiveInteger,
  fileBytes: positiveInteger,
  files: positiveInteger,
  diskMb: positiveInteger,
  processes: positiveInteger,
  cpus: (value) => (typeof value === 'number' && value > 0 && value <= 1024) || 'a number above 0 and at most 1024',
};

/** A value that starts with a dash would be an option of the program. */
const wordCheck =
  (what: string): OptionCheck =>
  (value) =>
    (typeof value === 'string' && /^[^-\s]\S*$/.test(value)) || what;

/** Fills in the defaults; throws a `TypeError` that names the option. */
export function containerSettings(options: ContainerRuntimeOptions): ContainerSettings {
  checkOptions('containerRuntime', options, {
    image: wordCheck('the name of an image'),
    program: wordCheck("'docker', 'podman' or the path of a program"),
    ociRuntime: wordCheck('the name of an OCI runtime'),
    limits: (value) => (typeof value === 'object' && value !== null) || 'an object',
    warm: wholeNumber(0),
    maxContainers: positiveInteger,
    logger: isLogger,
  });
  const { image, program = 'docker', ociRuntime, limits = {}, warm = 1, maxContainers = 8, logger } = options;
  if (image === undefined) throw new TypeError('containerRuntime: image must be the name of an image, got undefined');
  checkOptions('containerRuntime: limits', limits, limitChecks);
  const all = { ...LIMITS, ...definedFields(limits) };
  return { image, program, ociRuntime, limits: all, warm, maxContainers, warn: warner(logger) };
}
