/** What every file store must do, as a suite for any test runner that has an `it`. */
import type { FileStore } from '../../ports/files/file-store.ts';
import type { MaybePromise } from '../../ports/store.ts';
import type { StoreContractClock } from '../stores/store-case.ts';
import type { FileCase } from './file-case.ts';
import { readingCases } from './reading-cases.ts';
import { tenantCases } from './tenant-cases.ts';
import { uploadCases } from './upload-cases.ts';

/** A store under test and how to release it. */
export interface FileStoreUnderTest {
  /** The subject; it reads `clock`. */
  readonly files: FileStore;
  /** The bytes that the store occupies, including uploads in progress; without it the cases do not count them. */
  readonly footprint?: () => MaybePromise<number>;
  /** Releases the store and what was created for it; without it the suite calls the store's own `close`. */
  close?(): unknown;
}

/** The functions of the test runner, and the store's factory. */
export interface FileStoreContract {
  /** Registers one case: `it` or `test` of jest, vitest, node:test or mocha. */
  readonly it: (name: string, run: () => Promise<void>) => unknown;
  /** Groups the cases under one name, if given. */
  readonly describe?: (name: string, body: () => void) => unknown;
  /** Creates the store for one case. No two cases share a scope. The store reads the time from `clock`. */
  readonly create: (options: { readonly clock: StoreContractClock }) => MaybePromise<FileStoreUnderTest>;
}

/**
 * Registers the contract's cases. Their names cite the requirements they prove; they assert with `node:assert/strict`.
 *
 * @example
 * ```ts
 * import { it } from 'node:test';
 * import { memoryFiles } from 'express-open-responses/files';
 * import { fileStoreContract } from 'express-open-responses/testing';
 *
 * fileStoreContract({ it, create: ({ clock }) => ({ files: memoryFiles({ now: clock.now }) }) });
 * ```
 */
export function fileStoreContract(contract: FileStoreContract): void {
  const { describe = (_name, body) => body(), it } = contract;
  describe('file store contract', () => {
    for (const fileCase of [...uploadCases, ...readingCases, ...tenantCases])
      it(fileCase.name, () => runFileCase(contract, fileCase));
  });
}

async function runFileCase({ create }: FileStoreContract, { run }: FileCase): Promise<void> {
  const clock = movableClock();
  const { files, footprint, close = () => files.close?.() } = await create({ clock });
  try {
    await run({ files, clock, footprint });
  } finally {
    await close();
  }
}

/** The real time, plus what a case has added to it. */
function movableClock(): StoreContractClock {
  let added = 0;
  return {
    now: () => Date.now() + added,
    advance(ms) {
      added += ms;
    },
  };
}
