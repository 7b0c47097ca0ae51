/** What every background engine must do, as a suite for any test runner that has an `it`. */

import { randomUUID } from 'node:crypto';
import type { BackgroundEngine } from '../../ports/background/background-engine.ts';
import type { EngineCase, EngineContractOptions } from './engine-case.ts';
import { engineCases, sharedEngineCases } from './engine-cases.ts';

/** The functions of the test runner, and the engine's factory. */
export interface BackgroundEngineContract {
  /** Registers one case: `it` or `test` of jest, vitest, node:test or mocha. */
  readonly it: (name: string, run: () => Promise<void>) => unknown;
  /** Groups the cases under one name, if given. */
  readonly describe?: (name: string, body: () => void) => unknown;
  /** Creates one engine; the suite closes it. A case creates several of the same `queueName` to see them share it. */
  readonly createEngine: (options: EngineContractOptions) => BackgroundEngine | Promise<BackgroundEngine>;
  /** Whether the engines take over from each other (`takesOver`), which adds cases. Default: false. */
  readonly takesOver?: boolean;
}

/**
 * Registers the contract's cases. Their names cite the requirements they prove; they assert with `node:assert/strict`.
 *
 * @example
 * ```ts
 * import { it } from 'node:test';
 * import { inProcessEngine } from 'express-open-responses';
 * import { backgroundEngineContract } from 'express-open-responses/testing';
 *
 * backgroundEngineContract({ it, createEngine: () => inProcessEngine() });
 * ```
 */
export function backgroundEngineContract(contract: BackgroundEngineContract): void {
  const { it, describe = (_name, body) => body(), takesOver = false } = contract;
  const cases = takesOver ? [...engineCases, ...sharedEngineCases] : engineCases;
  describe('background engine contract', () => {
    for (const engineCase of cases) it(engineCase.name, () => runEngineCase(contract, engineCase));
  });
}

async function runEngineCase({ createEngine, takesOver = false }: BackgroundEngineContract, { run }: EngineCase) {
  const queueName = `case-${randomUUID()}`;
  const engines: BackgroundEngine[] = [];
  async function create(options: { readonly concurrency?: number } = {}): Promise<BackgroundEngine> {
    const engine = await createEngine({ queueName, ...options });
    engines.push(engine);
    if (engine.takesOver !== takesOver) throw new Error(`takesOver of ${engine.name} is ${engine.takesOver}`);
    return engine;
  }
  try {
    await run({ create });
  } finally {
    await Promise.all(engines.map((engine) => engine.close()));
  }
}
