/** The limits of batches. */
import { amountChecks, checkOptions, positiveInteger } from '../../ports/host/options-check.ts';
import { definedFields } from '../../protocol/record.ts';

/** What a tenant may have at once, and a batch may hold; sizes are bytes, times are milliseconds. `undefined` means the default. */
export interface BatchQuota {
  /** The batches of one tenant that have not ended. Default: 16. */
  readonly batches?: number | undefined;
  /** The lines of one batch. Default: 100,000. */
  readonly lines?: number | undefined;
  /** The input of one batch. Default: 268,435,456. */
  readonly inputBytes?: number | undefined;
  /** One line of the input. Default: 8,388,608. */
  readonly lineBytes?: number | undefined;
  /** The answer to one line. Default: 16,777,216. */
  readonly answerBytes?: number | undefined;
  /** The answers to all lines of one batch; later lines fail with `output_too_large`. Default: 1,073,741,824. */
  readonly outputBytes?: number | undefined;
  /** Lines that run at the same time in this process, of all tenants; of several a tenant leaves one to the others. Default: 16. */
  readonly parallelLines?: number | undefined;
  /** How often a line is tried whose model server is busy or down. Default: 5. */
  readonly lineAttempts?: number | undefined;
  /** The first pause between two of those attempts; each further one is twice as long, up to a minute. Default: 1,000. */
  readonly retryMs?: number | undefined;
  /** How long a batch may take: `completion_window` is `24h` in both APIs. Default: 86,400,000. */
  readonly windowMs?: number | undefined;
  /** How long a batch and its list entry are kept after its window, as far as the store keeps them. Default: 2,592,000,000. */
  readonly keptMs?: number | undefined;
}

/** The same with every default filled in. */
export type BatchLimits = { readonly [Name in keyof BatchQuota]-?: number };

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

/** The limits with their defaults. Throws a `TypeError` that names the invalid one. */
export function batchLimits(owner: string, given: BatchQuota = {}): BatchLimits {
  // Nothing waits for as long as a batch is kept: that time may be longer than a timer's.
  checkOptions(`${owner}: quota`, given, { ...amountChecks(DEFAULTS), keptMs: positiveInteger });
  return { ...DEFAULTS, ...definedFields(given) };
}
