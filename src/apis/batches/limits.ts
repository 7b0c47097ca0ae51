/** The limits of batches. */
import { checkOptions, milliseconds, positiveInteger } from '../../ports/host/options-check.ts';

/** Every limit; sizes are bytes, times are milliseconds. */
export interface BatchLimits {
  /** The batches of one tenant that have not ended. Default: 16. */
  readonly batches: number;
  /** The lines of one batch. Default: 100,000. */
  readonly lines: number;
  /** The input of one batch. Default: 268,435,456. */
  readonly inputBytes: number;
  /** One line of the input. Default: 8,388,608. */
  readonly lineBytes: number;
  /** The answer to one line. Default: 16,777,216. */
  readonly answerBytes: number;
  /** The answers to all lines of one batch; later lines fail with `output_too_large`. Default: 1,073,741,824. */
  readonly outputBytes: number;
  /** Lines that run at the same time in this process, of all tenants; of several a tenant leaves one to the others. Default: 16. */
  readonly parallelLines: number;
  /** How often a line is tried whose model server is busy or down. Default: 5. */
  readonly lineAttempts: number;
  /** The first pause between two of those attempts; each further one is twice as long, up to a minute. Default: 1,000. */
  readonly retryMs: number;
  /** How long a batch may take: `completion_window` is `24h` in both APIs. Default: 86,400,000. */
  readonly windowMs: number;
  /** How long a batch and its list entry are kept after its window, as far as the store keeps them. Default: 2,592,000,000. */
  readonly keptMs: number;
}

const MIB = 1024 * 1024;
const DAY_MS = 24 * 60 * 60_000;

const DEFAULTS: BatchLimits = {
  batches: 16,
  lines: 100_000,
  inputBytes: 256 * MIB,
  lineBytes: 8 * MIB,
  answerBytes: 16 * MIB,
  outputBytes: 1024 * MIB,
  parallelLines: 16,
  lineAttempts: 5,
  retryMs: 1000,
  windowMs: DAY_MS,
  keptMs: 30 * DAY_MS,
};

/** Some of the limits; the others keep their defaults. */
export type SomeBatchLimits = { readonly [Name in keyof BatchLimits]?: BatchLimits[Name] | undefined };

/** The limits with their defaults. Throws a `TypeError` that names the invalid one. */
export function batchLimits(owner: string, given: SomeBatchLimits = {}): BatchLimits {
  const names = Object.keys(DEFAULTS);
  // Nothing waits for as long as a batch is kept: that time may be longer than a timer's.
  const checkFor = (name: string) => (name.endsWith('Ms') && name !== 'keptMs' ? milliseconds : positiveInteger);
  checkOptions(`${owner}: limits`, given, Object.fromEntries(names.map((name) => [name, checkFor(name)] as const)));
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(set) };
}
