/** The status of a router, for the host's own health route. */
import type { RunningTurns } from '../apis/endpoint/api.ts';
import { answersInTime } from '../ports/host/answers-in-time.ts';
import type { ModelServerStatus, Upstream } from '../ports/upstream.ts';
import { VERSION } from '../protocol/version.ts';
import type { CoreSettings } from './options/core-settings.ts';
import type { Failure } from './requests/health.ts';
import { toolServers } from './tool-servers.ts';

/** What works and what does not, as plain JSON. It names no tenant, no request and no secret. */
export interface RouterStatus {
  /**
   * `degraded` if any part below does not work: requests that do not need that part are still answered. `draining` once new
   * requests are refused.
   */
  readonly status: 'ok' | 'degraded' | 'draining';
  /** Of this package. */
  readonly version: string;
  /** The model server, judged by the requests to it. */
  readonly upstream: {
    /** The `name` of the upstream. */
    readonly kind: string;
    /** Scheme, host and port; null if the upstream does not report it. */
    readonly origin: string | null;
    /** False if a request failed in the last minute and none has succeeded since. */
    readonly ok: boolean;
    /** The last failure; null if there was none. */
    readonly lastError: Failure | null;
    /** Milliseconds since the epoch. */
    readonly lastSuccessAt: number | null;
    /** The servers behind it, if it chooses among several. */
    readonly servers?: readonly ModelServerStatus[];
  };
  /** The store, asked now. */
  readonly store: {
    /** The `name` of the store. */
    readonly kind: string;
    /** Whether it answers a read within a second, and its last write did not fail in the last minute. */
    readonly ok: boolean;
    /** The last failure; null if there was none. */
    readonly lastError: Failure | null;
  };
  /** The MCP servers of `tools`; none if `tools` is a function. */
  readonly mcp: readonly {
    /** The `server_label` that clients see. */
    readonly label: string;
    /** `idle` if it is not connected because nobody has needed it. */
    readonly state: string;
    /** Whether `state` is `ready`. */
    readonly connected: boolean;
    /** How many tools the server offers now. */
    readonly tools: number;
  }[];
  /** What runs now. */
  readonly responses: RunningTurns;
}

/** The parts whose status is read. */
interface StatusSettings extends Pick<CoreSettings, 'recorder' | 'providers' | 'store' | 'turns'> {
  readonly upstream: Pick<Upstream, 'name' | 'origin' | 'servers'>;
}

/** A response that nobody has. */
const ABSENT = { scope: 'express-open-responses:status', id: 'resp_status' };

/** Returns a function that reads the status. It asks the store once, however often it is called meanwhile, and never the model. */
export function statusReader(settings: StatusSettings, running: () => RunningTurns): () => Promise<RouterStatus> {
  const { upstream, recorder, providers = [] } = settings;
  const isStoreAlive = answersInTime(() => settings.store.get(ABSENT));
  return async () => {
    const answers = await isStoreAlive();
    const mcp = toolServers(providers).map(({ label, state, tools }) => ({
      label,
      state,
      connected: state === 'ready',
      tools,
    }));
    const { health } = recorder;
    const isUpstreamOk = !health.upstream.isFailing;
    const isStoreOk = answers && !health.store.isFailing;
    // One that is tried again after a failure still has the error.
    const hasFailedTools = toolServers(providers).some(
      ({ state, error }) => state === 'failed' || (state === 'connecting' && error !== undefined),
    );
    const servers = upstream.servers?.();
    const hasOpenServer = servers?.some(({ state }) => state === 'open') ?? false;
    const isOk = isUpstreamOk && isStoreOk && !hasFailedTools && !hasOpenServer;
    return {
      status: settings.turns.isDraining ? 'draining' : isOk ? 'ok' : 'degraded',
      version: VERSION,
      upstream: {
        kind: upstream.name,
        origin: upstream.origin ?? null,
        ok: isUpstreamOk,
        lastError: health.upstream.lastError,
        lastSuccessAt: health.upstream.lastSuccessAt,
        ...(servers && { servers }),
      },
      store: { kind: settings.store.name, ok: isStoreOk, lastError: health.store.lastError },
      mcp,
      responses: running(),
    };
  };
}
