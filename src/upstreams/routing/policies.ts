/** The policies of one server: its circuit breaker, and the number of calls that it may have at once. */
import type * as Cockatiel from 'cockatiel';
import type { BulkheadPolicy, CircuitBreakerPolicy, IPolicy } from 'cockatiel';
import { requirePeer } from '../../ports/host/peer.ts';
import type { ModelServerStatus } from '../../ports/upstream.ts';

/** Which policies a server has. */
export interface PolicySettings {
  /** The function that the host called, for messages. */
  readonly owner: string;
  /** Undefined for no circuit breaker. */
  readonly breaker: { readonly failures: number; readonly resetMs: number } | undefined;
  /** The calls that a server may have at once; undefined for any number. */
  readonly calls: number | undefined;
  /** Whether a 429 is about the client's key, and says nothing about the server. */
  readonly clientKeys?: boolean;
  /** Receives each change of the server's state. */
  readonly onState?: ((server: ModelServerStatus) => void) | undefined;
}

/** How a call ended: well, by a fault of the server, or in a way that shows nothing about the server. */
export type Outcome = 'done' | 'failed' | 'left';

/** One call that was let through. */
export interface Pass {
  /** Whether it tries a server that rested. */
  readonly isTrial: boolean;
  /** A trial need not last until the end of a long answer; for the others a stream that is cut is a failure. */
  answered(): void;
  end(outcome: Outcome): void;
}

/**
 * The circuit breaker and the bulkhead of one server; `changed` runs when the circuit has changed. Throws a `TypeError` if the
 * package cockatiel is missing.
 */
export class ServerPolicies {
  private readonly circuit: CircuitBreakerPolicy | undefined;
  private readonly bulkhead: BulkheadPolicy | undefined;
  private readonly resetMs: number;
  /** On the clock of `Date.now()`, which cockatiel goes by. */
  private openedAt = 0;

  constructor({ owner, breaker, calls }: PolicySettings, changed: () => void) {
    const { bulkhead, circuitBreaker, ConsecutiveBreaker, handleWhen } = cockatiel(owner);
    const { failures = 0, resetMs = 0 } = breaker ?? {};
    const countsFailures = handleWhen((error) => error === FAILED);
    this.resetMs = resetMs;
    this.bulkhead = calls ? bulkhead(calls, 0) : undefined;
    this.circuit = breaker
      ? circuitBreaker(countsFailures, { halfOpenAfter: resetMs, breaker: new ConsecutiveBreaker(failures) })
      : undefined;
    this.circuit?.onBreak(() => {
      this.openedAt = Date.now();
    });
    this.circuit?.onStateChange(changed);
  }

  get state(): ModelServerStatus['state'] {
    return STATES[this.circuit?.state ?? 0];
  }

  /** When a call may try the server again, in milliseconds since the epoch; 0 if the circuit is closed. */
  get opensAt(): number {
    return this.state === 'closed' ? 0 : this.openedAt + this.resetMs;
  }

  get hasRoom(): boolean {
    return !this.bulkhead || this.bulkhead.executionSlots > 0;
  }

  /** Undefined if the call is not let through. */
  async enter(): Promise<Pass | undefined> {
    const { circuit, bulkhead } = this;
    const isTrial = this.state !== 'closed';
    // Both at once, so that no other call comes in between.
    const [verdict, place] = await Promise.all([circuit && entered(circuit), bulkhead && entered(bulkhead)]);
    const pass: Pass = {
      isTrial,
      answered: () => isTrial && verdict?.done(),
      end(outcome) {
        place?.done();
        if (outcome === 'done') verdict?.done();
        else verdict?.failed(outcome === 'failed' ? FAILED : LEFT);
      },
    };
    if ((!circuit || verdict) && (!bulkhead || place)) return pass;
    pass.end('left');
    return undefined;
  }
}

/** The package, which the options of `owner` need. */
function cockatiel(owner: string): typeof Cockatiel {
  try {
    return requirePeer<typeof Cockatiel>('express-open-responses/routing', 'cockatiel');
  } catch (cause) {
    const message = `${owner}: breaker and bulkhead need the package 'cockatiel': npm install cockatiel, or set breaker to false`;
    throw new TypeError(message, { cause });
  }
}

/** In the order of cockatiel's `CircuitState`. */
const STATES = ['closed', 'open', 'half-open', 'open'] as const;

/** Counts as a failure. */
const FAILED = new Error('The server failed.');
/** Does not count; the circuit of a trial is closed, and its next failure opens it again. */
const LEFT = new Error('The call was given up.');

/** How a policy learns that what it runs has ended. */
interface Running {
  done(): void;
  failed(error: Error): void;
}

/** Runs through the policy until the end is reported; undefined if the policy refuses. */
function entered(policy: IPolicy): Promise<Running | undefined> {
  return new Promise((resolve) => {
    const run = () => new Promise<void>((done, failed) => resolve({ done, failed }));
    policy.execute(run).catch(() => resolve(undefined));
  });
}
