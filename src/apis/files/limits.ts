/** The limits of uploaded files. */
import { amountChecks, checkOptions, type OptionCheck } from '../../ports/host/options-check.ts';
import { definedFields } from '../../protocol/record.ts';

/** What a tenant may keep, and an upload may hold; sizes are bytes, times are milliseconds. `undefined` means the default. */
export interface FileQuota {
  /** The maximum length of one file. Default: 536,870,912, which is OpenAI's. */
  readonly fileBytes?: number | undefined;
  /** The maximum number of one tenant's files. Default: 10,000. */
  readonly files?: number | undefined;
  /** The total length of one tenant's files; running uploads may take as much again. Default: 10,737,418,240. */
  readonly tenantBytes?: number | undefined;
  /** The maximum number of one tenant's uploads at the same time. Default: 8. */
  readonly uploads?: number | undefined;
  /** The maximum number of parts of one form. Default: 16. */
  readonly parts?: number | undefined;
  /** The maximum length of a form's field other than the file. Default: 1,024. */
  readonly fieldBytes?: number | undefined;
  /** The maximum length of a file's name, in characters. Default: 255. */
  readonly nameLength?: number | undefined;
  /** How long an upload may pause, in milliseconds. Default: 60,000. */
  readonly idleTimeoutMs?: number | undefined;
}

/** The same with every default filled in. */
export type FileLimits = { readonly [Name in keyof FileQuota]-?: number };

const MIB = 1024 * 1024;

const DEFAULTS: FileLimits = {
  fileBytes: 512 * MIB,
  files: 10_000,
  tenantBytes: 10 * 1024 * MIB,
  uploads: 8,
  parts: 16,
  fieldBytes: 1024,
  nameLength: 255,
  idleTimeoutMs: 60_000,
};

const amount: OptionCheck = (value) => (typeof value === 'number' && value > 0) || 'a positive number';

/** The limits with their defaults. Throws a `TypeError` that names the invalid one. */
export function fileLimits(owner: string, given: FileQuota = {}): FileLimits {
  checkOptions(`${owner}: quota`, given, amountChecks(DEFAULTS, amount));
  return { ...DEFAULTS, ...definedFields(given) };
}
