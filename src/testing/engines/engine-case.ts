/** The parts of the background engine contract's cases, and the worker that records what it runs. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { BackgroundEngine, BackgroundWorker, ClaimedRun } from '../../ports/background/background-engine.ts';
import type { ResponseKey } from '../../ports/background/response-key.ts';

/** How a case wants its engine; an omitted option leaves the engine's own default. */
export interface EngineContractOptions {
  /** Engines of the same name share one queue; each case has a name of its own, of small letters, digits and hyphens. */
  readonly queueName: string;
  /** The most responses that run at the same time. An engine without such a bound ignores it. */
  readonly concurrency?: number;
}

/** The subject of a case: creates engines on one queue, which the suite closes. */
interface EngineSubject {
  create(options?: { readonly concurrency?: number }): Promise<BackgroundEngine>;
}

/** One case of the contract. */
export interface EngineCase {
  /** A sentence that cites the requirements it proves. */
  readonly name: string;
  run(subject: EngineSubject): Promise<void>;
}

/** What a worker answers. */
type Outcome = Awaited<ReturnType<BackgroundWorker['run']>>;

/** How long a case waits for an expected event; an engine that polls needs some seconds. */
const PATIENCE_MS = 60_000;

/** A worker that records what it runs and what is reported to it. */
export class RecordingWorker implements BackgroundWorker {
  readonly keys: ResponseKey[] = [];
  readonly errors: unknown[] = [];
  running = 0;
  mostRunning = 0;
  finished = 0;
  private readonly waiting = new Set<() => void>();
  private readonly body: (claimed: ClaimedRun) => Promise<Outcome>;

  constructor(body: (claimed: ClaimedRun) => Promise<Outcome> = async () => 'ended') {
    this.body = body;
  }

  /** The ids that were run, sorted. */
  get ids(): readonly string[] {
    return this.keys.map(({ id }) => id).toSorted();
  }

  async run(claimed: ClaimedRun): Promise<Outcome> {
    this.keys.push(claimed.key);
    this.running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    this.changed();
    try {
      return await this.body(claimed);
    } finally {
      this.running -= 1;
      this.finished += 1;
      this.changed();
    }
  }

  onError(error: unknown): void {
    this.errors.push(error);
    this.changed();
  }

  /** Resolves once the condition holds; rejects with what was run if that takes too long. */
  async until(isSo: () => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!isSo()) {
      const left = deadline - performance.now();
      assert.ok(
        left > 0,
        `The condition was not met in time. Run: ${this.ids.join(', ')}. Errors: ${this.errors.join('; ')}`,
      );
      await this.change(left);
    }
  }

  private async change(withinMs: number): Promise<void> {
    // Not Promise.withResolvers, which Node 20 does not have.
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      this.waiting.add(wake);
    });
  }

  private changed(): void {
    for (const wake of this.waiting) wake();
  }
}

/** Runs until the signal is aborted. */
export async function untilAborted({ signal }: ClaimedRun): Promise<Outcome> {
  if (!signal.aborted) await once(signal, 'abort');
  return 'released';
}

/** A key that no other case uses. */
export function freshKey(id = 'resp_1'): ResponseKey {
  return { scope: `scope-${randomUUID()}`, id };
}

/** So many keys of one scope. */
export function freshKeys(count: number): readonly ResponseKey[] {
  const { scope } = freshKey();
  return Array.from({ length: count }, (_, index) => ({ scope, id: `resp_${String(index).padStart(4, '0')}` }));
}
