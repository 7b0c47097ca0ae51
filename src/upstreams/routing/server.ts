/** One of the servers behind a routing upstream: its calls, its rests and its state. */

import { inspect } from 'node:util';
import { callHookSafely } from '../../ports/hooks.ts';
import { errorCodeName } from '../../ports/host/error-warning.ts';
import { retryAfterMs } from '../../ports/host/retry-after.ts';
import { type ModelServerStatus, readStateOwner, type Upstream } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { ignoreRejection } from '../../protocol/record.ts';
import { type Outcome, type Pass, type PolicySettings, ServerPolicies } from './policies.ts';
import type { NamedServer } from './targets.ts';

/** The longest that a server rests because it asked to, in milliseconds. */
const MAX_REST_MS = 10 * 60_000;

/** A server with everything that is known of it. */
export class Server {
  readonly name: string;
  readonly upstream: Upstream;
  readonly weight: number;
  /** Whether its own names for models differ from the clients'. */
  readonly renames: boolean;
  inFlight = 0;
  isDraining = false;
  private readonly target: NamedServer;
  private readonly policies: ServerPolicies | undefined;
  private readonly clientKeys: boolean;
  private readonly onState: PolicySettings['onState'];
  private reportedState: ModelServerStatus['state'] = 'closed';
  private lastError: string | null = null;
  /** In milliseconds since the epoch; 0 if it has not asked for a rest, or has answered since. */
  private restsUntil = 0;
  /** Whether a call finds out whether the rest was long enough. */
  private isTried = false;
  private readonly onIdle = new Set<() => void>();

  constructor(target: NamedServer, settings: PolicySettings) {
    this.target = target;
    this.name = target.name;
    this.upstream = target.upstream;
    this.weight = target.weight;
    this.renames = target.model !== undefined;
    const isLimited = settings.breaker || settings.calls;
    this.policies = isLimited ? new ServerPolicies(settings, () => this.reportState()) : undefined;
    this.onState = settings.onState;
    this.clientKeys = settings.clientKeys ?? false;
  }

  /** The server's own name for the model. */
  modelFor(model: string): string {
    const { model: given = model } = this.target;
    const name: unknown = typeof given === 'function' ? given(model) : given;
    if (typeof name === 'string') return name;
    ignoreRejection(name);
    throw new TypeError(
      `routing: model of server '${this.name}' must return a name, got ${inspect(name, { depth: 0 })}`,
    );
  }

  /** The owner of the state in this model's answers; `model` is the client's name for it. */
  ownerFor(model: string): string {
    return readStateOwner(this.upstream, this.modelFor(model));
  }

  /** When it takes a call, in milliseconds since the epoch, or sooner; full servers and drained ones aside. */
  get readyAt(): number {
    return Math.max(this.restsUntil, this.policies?.opensAt ?? 0);
  }

  /** Whether it takes a call now. A server that rested is tried by one call at a time. */
  isReady(now: number): boolean {
    if (this.isDraining || this.state === 'half-open' || this.readyAt > now) return false;
    return this.policies?.hasRoom ?? true;
  }

  /** Begins a call; undefined if the server takes none after all. */
  async enter(): Promise<Lease | undefined> {
    const isTrial = this.restsUntil > 0;
    this.inFlight += 1;
    this.isTried ||= isTrial;
    this.reportState();
    const pass = await this.policies?.enter();
    const lease = new Lease(this, pass, isTrial);
    if (!this.policies || pass) return lease;
    this.ended(isTrial);
    return undefined;
  }

  /** The call that tried the server after its rest is being answered. */
  recovered(): void {
    this.restsUntil = 0;
  }

  /** One call at a time may try the server from now on. */
  isDue(): void {
    this.restsUntil ||= Date.now();
  }

  /** Whether the failure is not the server's: it asks for a rest, which it gets, or only the client's key is throttled. */
  isExcused(error: unknown): boolean {
    if (!(error instanceof ApiError)) return false;
    this.lastError = errorCodeName(error);
    if (this.clientKeys && error.status === 429) return true;
    const ms = retryAfterMs(error.headers) ?? 0;
    if (ms > 0) this.restsUntil = Date.now() + Math.min(ms, MAX_REST_MS);
    return ms > 0;
  }

  /** A call has ended. */
  ended(isTrial: boolean): void {
    this.inFlight -= 1;
    if (isTrial) this.isTried = false;
    this.reportState();
    if (this.inFlight > 0) return;
    for (const resolve of this.onIdle) resolve();
    this.onIdle.clear();
  }

  /** Resolves when it has no calls: true, or false after so many milliseconds. */
  idle(timeoutMs: number): Promise<boolean> {
    if (this.inFlight === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (isIdle: boolean) => {
        clearTimeout(timer);
        this.onIdle.delete(onIdle);
        resolve(isIdle);
      };
      const onIdle = () => settle(true);
      const timer = setTimeout(settle, timeoutMs, false);
      this.onIdle.add(onIdle);
    });
  }

  get status(): readonly ModelServerStatus[] {
    const { name, inFlight, lastError } = this;
    const state = this.state === 'open' && this.readyAt <= Date.now() ? 'half-open' : this.state;
    const behind = this.upstream.servers?.() ?? [];
    const paths = behind.map((server) => ({ ...server, name: `${name}/${server.name}` }));
    return [{ name, state, inFlight, lastError }, ...paths];
  }

  /** Reports to the host that the state has changed, if it has. */
  private reportState(): void {
    const { onState, name, state, inFlight, lastError } = this;
    if (!onState || state === this.reportedState) return;
    this.reportedState = state;
    callHookSafely('onState', () => onState({ name, state, inFlight, lastError }));
  }

  private get state(): ModelServerStatus['state'] {
    if (this.isTried) return 'half-open';
    return this.restsUntil > 0 ? 'open' : (this.policies?.state ?? 'closed');
  }
}

/** One call of a server, until it ends. */
export class Lease {
  readonly server: Server;
  private readonly pass: Pass | undefined;
  private readonly isTrial: boolean;
  private hasAnswered = false;
  private isOver = false;

  constructor(server: Server, pass: Pass | undefined, isTrial: boolean) {
    this.server = server;
    this.pass = pass;
    this.isTrial = isTrial;
  }

  answered(): void {
    this.hasAnswered = true;
    this.pass?.answered();
    if (this.isTrial) this.server.recovered();
  }

  /** Further calls do nothing. */
  end(outcome: Outcome, error?: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    // A server that announces when it is back is not broken.
    const isExcused = outcome === 'failed' && this.server.isExcused(error);
    const isDone = outcome === 'left' && this.hasAnswered;
    this.pass?.end(isExcused ? 'left' : isDone ? 'done' : outcome);
    // If the client disconnects, the server may be tried again, but it does not count as recovered.
    if (outcome === 'left' && !isDone && this.pass?.isTrial) this.server.isDue();
    this.server.ended(this.isTrial);
  }
}
