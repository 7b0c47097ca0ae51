/** The attempts of one call: after which errors, which server is next, and what each of them receives. */

import { errorCodeName } from '../../ports/host/error-warning.ts';
import type { OnAttempt, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { CONTEXT_OVERFLOW } from '../../protocol/upstream-errors/context-overflow.ts';
import type { Choose } from './choose.ts';
import type { Lease, Server } from './server.ts';

/** One server that is asked. */
export interface Attempt {
  readonly lease: Lease;
  /** The call as this server receives it. */
  readonly call: UpstreamCall;
  /** The server's name for the model. */
  readonly model: string;
  /** The owner of the state in the server's answers; undefined if that state need not be tagged. */
  readonly owner: string | undefined;
}

/** The rules for the attempts of one call. */
export interface AttemptSettings {
  /** The client's name for the model. */
  readonly model: string;
  /** The servers that have what the call needs. */
  readonly servers: readonly Server[];
  readonly choose: Choose;
  readonly stickyKey: () => string;
  readonly most: number;
  readonly firstByteTimeoutMs: number | undefined;
  readonly ownerOf: (server: Server) => string | undefined;
}

/** The server that answered last, and the call as it received it. */
interface Answered {
  readonly server: Server;
  readonly call: OwnCall;
}

type OwnCall = { -readonly [Field in keyof UpstreamCall]: UpstreamCall[Field] };

/** The servers of calls that go on: all rounds of a turn are one call, and stay with a server that has its prefix cached. */
export type AnsweredCalls = WeakMap<UpstreamCall, Answered>;

/** Seconds after which a server that is full or gone may take calls again. */
const SOON = 1;
/** Later than any rest ends: there is no server. */
const LATEST = Number.MAX_SAFE_INTEGER;

/** One server after another, for one call. */
export class Attempts {
  private readonly call: UpstreamCall;
  private readonly settings: AttemptSettings;
  private readonly answered: AnsweredCalls;
  private readonly tried = new Set<Server>();
  private readonly preferred: Answered | undefined;
  /** The attempts at all servers: an object of its own, since what a call holds must not hold the request. */
  private readonly asked = { count: 0 };

  constructor(call: UpstreamCall, settings: AttemptSettings, answered: AnsweredCalls) {
    this.call = call;
    this.settings = settings;
    this.answered = answered;
    this.preferred = answered.get(call);
  }

  /**
   * Undefined if no server is left that takes calls, or the call has had enough attempts. `failure` is the error of the
   * attempt before.
   */
  async next(failure: unknown): Promise<Attempt | undefined> {
    const { tried, settings } = this;
    while (tried.size < settings.most) {
      const now = Date.now();
      const ready = settings.servers.filter((server) => !tried.has(server) && server.isReady(now));
      if (ready.length === 0) return undefined;
      const server = this.chosenOf(ready);
      tried.add(server);
      // Before the call is counted: the names may be those of a function of the host, which may throw.
      const names = { model: server.modelFor(settings.model), owner: settings.ownerOf(server) };
      const lease = await server.enter();
      const isLast = ready.length === 1 || tried.size === settings.most;
      if (lease) return { ...names, lease, call: this.callFor(server, isLast, failure) };
    }
    return undefined;
  }

  /** For a call that no server takes now. */
  unavailable(): ApiError {
    const now = Date.now();
    const soonest = Math.min(...this.settings.servers.map(({ readyAt }) => readyAt), LATEST);
    const seconds = soonest === LATEST ? SOON : Math.max(SOON, Math.ceil((soonest - now) / 1000));
    const headers = { 'retry-after': String(seconds) };
    return new ApiError('upstream_unavailable', 'No model server takes requests now; try again later.', {
      status: 503,
      headers,
    });
  }

  private chosenOf(ready: readonly Server[]): Server {
    const { choose, stickyKey } = this.settings;
    const { server } = this.preferred ?? {};
    return server && ready.includes(server) ? server : choose(ready, stickyKey);
  }

  /** The same object for each round at one server, which may choose among servers itself. */
  private callFor(server: Server, isLast: boolean, failure: unknown): OwnCall {
    const { call, preferred } = this;
    const { limits } = call;
    const own: OwnCall = preferred?.server === server ? preferred.call : { ...call };
    const firstByteTimeoutMs = Math.min(limits.firstByteTimeoutMs, this.settings.firstByteTimeoutMs ?? Infinity);
    own.limits = { ...limits, firstByteTimeoutMs };
    // Another server answers sooner than the same one after a pause.
    own.retries = isLast ? call.retries : 0;
    own.onAttempt = call.onAttempt && countedAttempts(call.onAttempt, server.name, this.asked, failure);
    this.answered.set(call, { server, call: own });
    return own;
  }
}

/** Whether the call is made again at another server, where nothing of the answer was handed on. */
export type FailoverRule = (error: unknown) => boolean;

/** Any other server would answer the same, whatever the status. */
const OF_THE_REQUEST: ReadonlySet<string> = new Set([
  CONTEXT_OVERFLOW,
  'content_filter',
  'content_policy_violation',
  'output_too_large',
  'duration_exceeded',
]);

/** For several servers: a server that is down, busy, slow or broken. */
export const isServerFault: FailoverRule = (error) => {
  if (!(error instanceof ApiError) || OF_THE_REQUEST.has(error.code)) return false;
  return error.status === 408 || error.status === 429 || error.status >= 500;
};

const OF_THE_KEY: ReadonlySet<number> = new Set([401, 402, 429]);

/** For several keys of one server: a key that is throttled, has no credit or is refused. */
export const isKeyFault: FailoverRule = (error) => error instanceof ApiError && OF_THE_KEY.has(error.status);

/** Counts the attempts over all servers, and adds the server's name, and what failed at the one before. */
function countedAttempts(onAttempt: OnAttempt, name: string, asked: { count: number }, failure: unknown): OnAttempt {
  const before = failure instanceof ApiError ? { after: errorCodeName(failure) } : {};
  return ({ server, ...made }) => {
    asked.count += 1;
    const path = server === undefined ? name : `${name}/${server}`;
    onAttempt({ ...before, ...made, attempt: asked.count, server: path });
  };
}
