/** The options of the WebSocket, checked once. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { inspect } from 'node:util';
import {
  anyMilliseconds,
  checkOptions,
  isFunction,
  type OptionCheck,
  positiveInteger,
} from '../../ports/host/options-check.ts';
import type { MaybePromise } from '../../ports/store.ts';
import { type CoreSettings, coreSettings } from '../../server/options/core-settings.ts';
import { coreChecks } from '../../server/options/option-checks.ts';
import type { CoreOptions } from '../../server/options/options.ts';

/** Why a client is refused; `status` is an HTTP status from 400. */
export interface Refusal {
  /** The HTTP status of the answer, from 400. */
  readonly status: number;
  /** The reason, which the client sees. */
  readonly message: string;
}

/** The shared options, and those of the WebSocket. */
export interface WebSocketOptions<Req extends IncomingMessage = IncomingMessage> extends CoreOptions<Req> {
  /** The exact path of the upgrade request. Default: `/v1/responses`. */
  readonly path?: string | undefined;
  /** Admits a client, or returns the reason for refusing it. Default: admits all but web pages of other origins. */
  readonly authorize?: ((request: Req) => MaybePromise<Refusal | undefined>) | undefined;
  /** The tenant whose responses the connection may see. Default: a digest of the API key; a request with a cookie and no key is not stored. */
  readonly scope?: ((request: Req) => string) | undefined;
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
  readonly path: string;
  readonly authorize: NonNullable<WebSocketOptions['authorize']>;
  readonly scope: WebSocketOptions['scope'];
  readonly connectionMs: number;
  readonly pingMs: number;
  readonly maxLanes: number;
  readonly maxQueued: number;
  readonly memoryBytes: number;
}

const OWNER = 'attachResponsesWebSocket';

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function webSocketSettings(options: WebSocketOptions): WebSocketSettings {
  checkOptions(OWNER, options, { ...coreChecks, ...checks });
  const { path, authorize, scope, connectionMs, pingMs, maxLanes, maxQueued, memoryBytes, ...core } = options;
  return {
    core: coreSettings(OWNER, core),
    path: path ?? '/v1/responses',
    authorize: authorize ?? sameOriginOnly,
    scope,
    connectionMs: connectionMs ?? 60 * 60_000,
    pingMs: pingMs ?? 30_000,
    maxLanes: maxLanes ?? 8,
    maxQueued: maxQueued ?? 32,
    memoryBytes: memoryBytes ?? 256 * 1024 * 1024,
  };
}

/** Throws a `TypeError` for anything but a server, such as an Express app. */
export function checkServer(server: unknown): void {
  const methods = typeof server === 'object' && server !== null ? (server as Record<string, unknown>) : {};
  if (['on', 'off', 'listeners'].every((name) => typeof methods[name] === 'function')) return;
  throw new TypeError(`${OWNER}: server must be an http.Server, got ${inspect(server, { depth: -1 })}`);
}

/** The range of a timer. */
const checks: Readonly<Record<string, OptionCheck>> = {
  path: (value) => (typeof value === 'string' && /^\/[^?#]*$/.test(value)) || "a path such as '/v1/responses'",
  authorize: isFunction,
  scope: isFunction,
  connectionMs: anyMilliseconds,
  pingMs: anyMilliseconds,
  maxLanes: positiveInteger,
  maxQueued: positiveInteger,
  memoryBytes: positiveInteger,
};

/** Any page may open a WebSocket to any server, and browsers send no preflight request as they do for JSON. */
function sameOriginOnly({ headers: { origin, host } }: IncomingMessage): Refusal | undefined {
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)) return undefined;
  return { status: 403, message: 'Web pages of other origins may not connect.' };
}
