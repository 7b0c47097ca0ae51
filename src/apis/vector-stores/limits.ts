/** The limits of vector stores. */
import { amountChecks, checkOptions } from '../../ports/host/options-check.ts';
import { definedFields } from '../../protocol/record.ts';

/** What a tenant may keep, and ask at once; all are numbers of things. `undefined` means the default. */
export interface VectorStoreQuota {
  /** The vector stores of one tenant. Default: 100. */
  readonly stores?: number | undefined;
  /** The files of one vector store. Default: 10,000. */
  readonly files?: number | undefined;
  /** The files of one batch. Default: 2,000. */
  readonly batchFiles?: number | undefined;
  /** The queries of one search. Default: 8. */
  readonly queries?: number | undefined;
  /** The length of one query, in characters. Default: 4,096. */
  readonly queryLength?: number | undefined;
}

/** The same with every default filled in. */
export type VectorStoreLimits = { readonly [Name in keyof VectorStoreQuota]-?: number };

const DEFAULTS: VectorStoreLimits = { stores: 100, files: 10_000, batchFiles: 2000, queries: 8, queryLength: 4096 };

/** The limits with their defaults. Throws a `TypeError` that names the invalid one. */
export function vectorStoreLimits(owner: string, given: VectorStoreQuota = {}): VectorStoreLimits {
  checkOptions(`${owner}: quota`, given, amountChecks(DEFAULTS));
  return { ...DEFAULTS, ...definedFields(given) };
}
