/** The options of the WebSocket, checked once. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { inspect } from 'node:util';
import type { Admission } from '../../ports/host/admission.ts';
import {
  anyMilliseconds,
  checkOptions,
  isFunction,
  type OptionCheck,
  positiveInteger,
} from '../../ports/host/options-check.ts';
import type { MaybePromise } from '../../ports/store.ts';
import { apisBehind, type OpenApis, type OpenResponses } from '../../server/open-apis.ts';
import { type CoreSettings, coreSettings } from '../../server/options/core-settings.ts';
import { CORE_PLACES, coreChecks } from '../../server/options/option-checks.ts';
import type { CoreOptions } from '../../server/options/options.ts';
import { warnOfUnused } from '../../server/options/unused-options.ts';
import type { WebSocketRequest } from '../node/host-requests.ts';

/** The options of a WebSocket; `undefined` means omitted. */
export interface WebSocketOptions {
  /** The exact path of the upgrade request. Default: `/v1/responses`. */
  readonly path?: string | undefined;
  /**
   * Admits a client, and names its tenant, by `{ scope }`; `true` admits it as the tenant of its API key. Refuses it by
   * `{ status, message }`, or by `false`. No middleware runs for a WebSocket, and no option `scope`. Default: admits all but web
   * pages of other origins.
   */
  readonly authorize?: ((request: WebSocketRequest) => MaybePromise<Admission>) | undefined;
  /** How long a connection may last, in milliseconds. Default: 60 minutes. */
  readonly connectionMs?: number | undefined;
  /** Milliseconds between two pings; a client without activity between them is cut off. Default: 30,000. */
  readonly pingMs?: number | undefined;
  /** How many lanes of a connection, each with a `stream_id`, may run at the same time. Default: 8. */
  readonly maxLanes?: number | undefined;
  /** How many requests of a connection may wait for their turn. Default: 32. */
  readonly maxQueued?: number | undefined;
  /** Bytes of JSON that all connections together remember of their responses. Default: 256 MiB. */
  readonly memoryBytes?: number | undefined;
}

/**
 * What a WebSocket serves without `openResponses`: the options of a router, whose functions receive the upgrade request. A `scope`
 * that reads requests of Express cannot read it: `authorize` names the tenant.
 */
export interface WebSocketCoreOptions extends CoreOptions<WebSocketRequest> {
  /** Left out: `authorize` names the tenant. */
  readonly scope?: undefined;
}

/** What is served: all APIs of `openResponses`, or options. */
export type ServedByWebSocket = OpenResponses<never> | WebSocketCoreOptions;

/** The part of Node's HTTP and HTTPS servers that is needed. */
export interface UpgradeServer {
  /** Adds a listener. */
  on(event: 'upgrade', listener: UpgradeListener): unknown;
  /** Removes a listener. */
  off(event: 'upgrade', listener: UpgradeListener): unknown;
  /** The listeners that there are, other packages' included. */
  listeners(event: 'upgrade'): unknown[];
}

/** The listener that Node calls for each upgrade request. */
export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** The options with every default filled in. */
export interface WebSocketSettings {
  readonly core: CoreSettings;
  /** The APIs with which the WebSocket ends; undefined if it stands alone. */
  readonly apis: OpenApis | undefined;
  readonly path: string;
  readonly authorize: NonNullable<WebSocketOptions['authorize']>;
  /** Says once that a user is one tenant over HTTP and another over the WebSocket. */
  readonly warnOfTenant: () => void;
  readonly connectionMs: number;
  readonly pingMs: number;
  readonly maxLanes: number;
  readonly maxQueued: number;
  readonly memoryBytes: number;
}

const OWNER = 'attachResponsesWebSocket';

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function webSocketSettings(served: ServedByWebSocket, options: WebSocketOptions): WebSocketSettings {
  checkOptions(OWNER, options, checks);
  const apis = apisBehind(served);
  if (apis?.hasScope && options.authorize === undefined)
    throw new TypeError(
      `${OWNER}: authorize must return { scope } for each connection, because the scope of openResponses reads requests over HTTP only, got undefined`,
    );
  // The cast: what is not the object of `openResponses` is options, which are checked.
  const core = apis?.settings ?? ownSettings(served as WebSocketCoreOptions);
  let hasWarned = false;
  const warnOfTenant = () => {
    if (hasWarned) return;
    hasWarned = true;
    core.recorder.warn(
      `${OWNER}: authorize names a tenant, and openResponses has no scope: a user has other responses over the WebSocket than over HTTP, where a digest of the API key is the tenant. Give openResponses a scope that returns the same.`,
    );
  };
  return {
    core,
    apis,
    warnOfTenant,
    path: options.path ?? '/v1/responses',
    authorize: options.authorize ?? sameOriginOnly,
    connectionMs: options.connectionMs ?? 60 * 60_000,
    pingMs: options.pingMs ?? 30_000,
    maxLanes: options.maxLanes ?? 8,
    maxQueued: options.maxQueued ?? 32,
    memoryBytes: options.memoryBytes ?? 256 * 1024 * 1024,
  };
}

function ownSettings(options: WebSocketCoreOptions): CoreSettings {
  const scope = () => 'left out: authorize returns the tenant of a connection, as { scope }';
  checkOptions(OWNER, options, { ...coreChecks, scope }, CORE_PLACES);
  const settings = coreSettings(OWNER, options);
  warnOfUnused(options, settings);
  return settings;
}

/** Throws a `TypeError` for anything but a server, such as an Express app. */
export function checkServer(server: unknown): void {
  const methods = typeof server === 'object' && server !== null ? (server as Record<string, unknown>) : {};
  if (['on', 'off', 'listeners'].every((name) => typeof methods[name] === 'function')) return;
  throw new TypeError(`${OWNER}: server must be an http.Server, got ${inspect(server, { depth: -1 })}`);
}

/** The range of a timer. */
const checks: Readonly<Record<keyof WebSocketOptions, OptionCheck>> = {
  path: (value) => (typeof value === 'string' && /^\/[^?#]*$/.test(value)) || "a path such as '/v1/responses'",
  authorize: isFunction,
  connectionMs: anyMilliseconds,
  pingMs: anyMilliseconds,
  maxLanes: positiveInteger,
  maxQueued: positiveInteger,
  memoryBytes: positiveInteger,
};

/** Any page may open a WebSocket to any server, and browsers send no preflight request as they do for JSON. */
function sameOriginOnly({ headers: { origin, host } }: IncomingMessage): Admission {
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)) return true;
  return { status: 403, message: 'Web pages of other origins may not connect.' };
}
