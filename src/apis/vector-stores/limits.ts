/** The limits of vector stores. */
import { checkOptions, positiveInteger } from '../../ports/host/options-check.ts';

/** Every limit; all are numbers of things. */
export interface VectorStoreLimits {
  /** The vector stores of one tenant. Default: 100. */
  readonly stores: number;
  /** The files of one vector store. Default: 10,000. */
  readonly files: number;
  /** The files of one batch. Default: 2,000. */
  readonly batchFiles: number;
  /** The queries of one search. Default: 8. */
  readonly queries: number;
  /** The length of one query, in characters. Default: 4,096. */
  readonly queryLength: number;
}

const DEFAULTS: VectorStoreLimits = { stores: 100, files: 10_000, batchFiles: 2000, queries: 8, queryLength: 4096 };

/** Some of the limits; the others keep their defaults. */
export type SomeVectorStoreLimits = {
  readonly [Name in keyof VectorStoreLimits]?: VectorStoreLimits[Name] | undefined;
};

/** The limits with their defaults. Throws a `TypeError` that names the invalid one. */
export function vectorStoreLimits(owner: string, given: SomeVectorStoreLimits = {}): VectorStoreLimits {
  checkOptions(
    `${owner}: limits`,
    given,
    Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, positiveInteger])),
  );
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(set) };
}
