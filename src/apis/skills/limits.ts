/** The limits of skills. */
import { amountChecks, checkOptions } from '../../ports/host/options-check.ts';
import type { BundleLimits } from '../../ports/skills/bundle.ts';
import { definedFields } from '../../protocol/record.ts';
import type { FormLimits, UploadLimits } from '../endpoint/forms/form-limits.ts';

/** What a tenant may keep, and a skill may hold; sizes are bytes, times are milliseconds. `undefined` means the default. */
export interface SkillQuota {
  /** The skills of one tenant. Default: 100. */
  readonly skills?: number | undefined;
  /** The versions of one skill. Default: 50. */
  readonly versions?: number | undefined;
  /** The files of one version. Default: 500. */
  readonly files?: number | undefined;
  /** The upload of one version: a zip, or all of its files. Default: 52,428,800. */
  readonly uploadBytes?: number | undefined;
  /** One file, unpacked. Default: 26,214,400. */
  readonly fileBytes?: number | undefined;
  /** All files of one version, unpacked. Default: 67,108,864. */
  readonly unpackedBytes?: number | undefined;
  /** All skills of one tenant, as zips. Default: 1,073,741,824. */
  readonly tenantBytes?: number | undefined;
  /** The uploads of one tenant at the same time, each of which is held in memory. Default: 2. */
  readonly uploads?: number | undefined;
  /** How long an upload may pause. Default: 60,000. */
  readonly idleTimeoutMs?: number | undefined;
}

/** The limits in force. */
export interface SkillLimits {
  readonly skills: number;
  readonly versions: number;
  readonly bundle: BundleLimits;
  /** Of the forms in which skills arrive, and of what they take as files. */
  readonly forms: FormLimits & UploadLimits;
}

const MIB = 1024 * 1024;

const DEFAULTS: { readonly [Name in keyof SkillQuota]-?: number } = {
  skills: 100,
  versions: 50,
  files: 500,
  uploadBytes: 50 * MIB,
  fileBytes: 25 * MIB,
  unpackedBytes: 64 * MIB,
  tenantBytes: 1024 * MIB,
  uploads: 2,
  idleTimeoutMs: 60_000,
};
/** Parts of a form besides its files. */
const MAX_FIELDS = 4;
const FIELD_BYTES = 1024;

/** The limits with their defaults. Throws a `TypeError` that names the invalid one. */
export function skillLimits(owner: string, given: SkillQuota = {}): SkillLimits {
  checkOptions(`${owner}: quota`, given, amountChecks(DEFAULTS));
  const quota = { ...DEFAULTS, ...definedFields(given) };
  const { skills, versions, files, uploadBytes, fileBytes, unpackedBytes, tenantBytes, uploads, idleTimeoutMs } = quota;
  return {
    ...{ skills, versions, bundle: { files, fileBytes, unpackedBytes } },
    forms: {
      ...{ fileBytes: uploadBytes, parts: files + MAX_FIELDS, fieldBytes: FIELD_BYTES, idleTimeoutMs },
      ...{ uploads, files: skills * versions, tenantBytes },
    },
  };
}
