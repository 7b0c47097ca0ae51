/** What every vector index must do, as a suite for any test runner that has an `it`. */
import type { MaybePromise } from '../../ports/store.ts';
import type { VectorIndex } from '../../ports/vectors/vector-index.ts';
import type { StoreContractClock } from '../stores/store-case.ts';
import { claimCases } from './claim-cases.ts';
import { searchCases } from './search-cases.ts';
import { storeCases } from './store-cases.ts';
import type { VectorCase } from './vector-case.ts';

/** An index under test and how to release it. */
export interface VectorIndexUnderTest {
  /** The subject; it is empty and reads `clock`. */
  readonly index: VectorIndex;
  /** Releases the index and what was created for it; without it the suite calls the index's own `close`. */
  close?(): unknown;
}

/** The functions of the test runner, and the index's factory. */
export interface VectorIndexContract {
  /** Registers one case: `it` or `test` of jest, vitest, node:test or mocha. */
  readonly it: (name: string, run: () => Promise<void>) => unknown;
  /** Groups the cases under one name, if given. */
  readonly describe?: (name: string, body: () => void) => unknown;
  /** Creates an empty index for one case. The index reads the time from `clock`. */
  readonly create: (options: { readonly clock: StoreContractClock }) => MaybePromise<VectorIndexUnderTest>;
}

/** Registers the contract's cases. Their names cite the requirements they prove; they assert with `node:assert/strict`. */
export function vectorIndexContract(contract: VectorIndexContract): void {
  const { describe = (_name, body) => body(), it } = contract;
  describe('vector index contract', () => {
    for (const vectorCase of [...storeCases, ...claimCases, ...searchCases])
      it(vectorCase.name, () => runVectorCase(contract, vectorCase));
  });
}

async function runVectorCase({ create }: VectorIndexContract, { run }: VectorCase): Promise<void> {
  let added = 0;
  const clock: StoreContractClock = {
    now: () => Date.now() + added,
    advance(ms) {
      added += ms;
    },
  };
  const { index, close = () => index.close?.() } = await create({ clock });
  try {
    await run({ index, clock });
  } finally {
    await close();
  }
}
