/** What every upstream must do, whatever its API, as a suite for any test runner that has an `it`. */
import type { UpstreamCase, UpstreamExtra, UpstreamPlay, UpstreamUnderTest } from './upstream-case.ts';
import { upstreamCases } from './upstream-cases.ts';
import { upstreamExtraCases } from './upstream-extra-cases.ts';

/** The functions of the test runner, and the upstream's factory. */
export interface UpstreamContract {
  /** Registers one case: `it` or `test` of jest, vitest, node:test or mocha. */
  readonly it: (name: string, run: () => Promise<void>) => unknown;
  /** Groups the cases under one name, if given. */
  readonly describe?: (name: string, body: () => void) => unknown;
  /** Creates an upstream with its own options, including retries, over a server of its own that plays the scenario. */
  readonly create: (play: UpstreamPlay) => UpstreamUnderTest | Promise<UpstreamUnderTest>;
  /** The features of the API that not every API has; cases about others are omitted. Default: none. */
  readonly extras?: readonly UpstreamExtra[];
}

/**
 * Registers the contract's cases. Their names cite the requirements they prove; they assert with `node:assert/strict`.
 *
 * @example
 * ```ts
 * import { it } from 'node:test';
 * import { type UpstreamUnderTest, upstreamContract } from 'express-open-responses/testing';
 *
 * declare function startMyServer(scenario: string): Promise<UpstreamUnderTest>;
 * upstreamContract({ it, create: ({ scenario }) => startMyServer(scenario) });
 * ```
 */
export function upstreamContract({
  it,
  describe = (_name, body) => body(),
  create,
  extras = [],
}: UpstreamContract): void {
  const wanted = upstreamExtraCases.filter(({ needs }) => needs && extras.includes(needs));
  describe('upstream contract', () => {
    for (const upstreamCase of [...upstreamCases, ...wanted])
      it(upstreamCase.name, () => runUpstreamCase(create, upstreamCase));
  });
}

async function runUpstreamCase(create: UpstreamContract['create'], { plays, run }: UpstreamCase): Promise<void> {
  const subjects: UpstreamUnderTest[] = [];
  try {
    for (const play of plays) subjects.push(await create(play));
    await run(...subjects);
  } finally {
    await Promise.all(subjects.map((subject) => subject.close()));
  }
}
