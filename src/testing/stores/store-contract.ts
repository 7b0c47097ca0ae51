/** What every response store must do, as a suite for any test runner that has an `it`. */
import type { ResponseStore } from '../../ports/store.ts';
import { appendBoundCases, appendCases } from './store-append-cases.ts';
import { chainBoundCases, conversationBoundCases } from './store-bound-cases.ts';
import type { StoreCase, StoreContractClock } from './store-case.ts';
import { chainCases } from './store-chain-cases.ts';
import { conversationCases } from './store-conversation-cases.ts';
import { eventCases } from './store-event-cases.ts';
import { eventReadCases } from './store-event-read-cases.ts';
import { expiryCases } from './store-expiry-cases.ts';
import { keepingCases } from './store-keeping-cases.ts';
import { pageCases } from './store-page-cases.ts';
import { replaceCases } from './store-replace-cases.ts';
import { scopeCases } from './store-scope-cases.ts';

/** The options of the store for one case; an omitted option leaves the store's own default. */
export interface StoreContractOptions {
  /** How long the store keeps a response, in milliseconds. Default: the store's own. */
  readonly ttlMs?: number;
}

/** A store under test and how to release it. */
export interface StoreUnderTest {
  /** The subject. */
  readonly store: ResponseStore;
  /** Releases the store and what was created for it; without it the suite calls the store's own `close`. */
  close?(): unknown;
  /** The clock that the store reads; without one, the cases about expiry wait for the real time to pass. */
  readonly clock?: StoreContractClock;
}

/** The functions of the test runner, and the store's factory. */
export interface StoreContract {
  /** Registers one case: `it` or `test` of jest, vitest, node:test or mocha. */
  readonly it: (name: string, run: () => Promise<void>) => unknown;
  /** Groups the cases under one name, if given. */
  readonly describe?: (name: string, body: () => void) => unknown;
  /** Creates the store for one case. No two cases share a scope, so stores on one database need no clean-up in between. */
  readonly create: (options: StoreContractOptions) => StoreUnderTest | Promise<StoreUnderTest>;
  /** The shortest time to live that the store distinguishes: 1000 if it counts whole seconds; 1 by default. */
  readonly ttlGranularityMs?: number;
  /** `false` omits the cases about conversations, for a store that has none; true by default. */
  readonly conversations?: boolean;
  /** `true` adds the cases about `maxBytes`, for a store that enforces it; false by default. */
  readonly bounded?: boolean;
}

const responseCases = [...keepingCases, ...scopeCases, ...chainCases, ...replaceCases, ...expiryCases];

// If it were shorter, a response could expire on a slow machine before it was read once.
const SHORTEST_UNIT_MS = 200;

/**
 * Registers the contract's cases. Their names cite the requirements they prove; they assert with `node:assert/strict`.
 *
 * @example
 * ```ts
 * import { it } from 'node:test';
 * import { memoryStore } from 'express-open-responses';
 * import { storeContract } from 'express-open-responses/testing';
 *
 * storeContract({ it, create: ({ ttlMs }) => ({ store: memoryStore({ ttlMs }) }) });
 * ```
 */
export function storeContract(contract: StoreContract): void {
  const { conversations = true, bounded = false, describe = (_name, body) => body(), it } = contract;
  const ofResponses = bounded ? [...responseCases, ...chainBoundCases] : responseCases;
  const ofBounds = bounded ? [...conversationBoundCases, ...appendBoundCases] : [];
  const ofConversations = [...conversationCases, ...appendCases, ...pageCases, ...ofBounds];
  const register = (storeCase: StoreCase) => it(storeCase.name, () => runStoreCase(contract, storeCase));
  describe('response store contract', () => ofResponses.forEach(register));
  describe('event log contract', () => [...eventCases, ...eventReadCases].forEach(register));
  if (conversations) describe('conversation store contract', () => ofConversations.forEach(register));
}

async function runStoreCase(
  { create, ttlGranularityMs = 1 }: StoreContract,
  { run, ttlUnits }: StoreCase,
): Promise<void> {
  const unitMs = Math.max(ttlGranularityMs, SHORTEST_UNIT_MS);
  const { store, clock, close = () => store.close?.() } = await create(ttlUnits ? { ttlMs: ttlUnits * unitMs } : {});
  try {
    await run({ store, clock, unitMs });
  } finally {
    await close();
  }
}
