/** The options of `remoteMcp`, checked once. */

import { isLogger, type Logger, warner } from '../../../ports/host/logger.ts';
import { checkOptions, milliseconds, type OptionCheck, positiveInteger } from '../../../ports/host/options-check.ts';
import { type EgressGuard, type EgressResources, egressGuard } from '../../egress/egress-guard.ts';
import type { EgressPolicy } from '../../egress/policy.ts';
import { installedSdk } from '../shared/client/installed.ts';
import type { PoolLimits } from '../shared/connection-pool.ts';
import { MAX_TOOLS, type McpSettings } from '../shared/settings.ts';

/** The permitted destinations of requests, and how many connections they may hold. `undefined` means omitted. */
export interface RemoteMcpOptions {
  /** The permitted destinations and answer sizes: the policy of `egressGuard`. Default: any public host. */
  readonly egress?: EgressPolicy | undefined;
  /** The options that the policy, being plain data, cannot hold: the second argument of `egressGuard`. Default: none. */
  readonly egressResources?: EgressResources | undefined;
  /** The timeout for connecting and for listing tools, per transport tried, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** The age at which a list of tools is refreshed, in the background, on use. Default: 60,000 ms. */
  readonly refreshMs?: number | undefined;
  /** How long an unused connection is kept, in milliseconds. Default: 60,000. */
  readonly idleMs?: number | undefined;
  /** Maximum number of connections of one scope. Default: 8. */
  readonly maxServersPerScope?: number | undefined;
  /** Maximum number of connections. Default: 256. */
  readonly maxServers?: number | undefined;
  /** Receives broken connections and omitted tools, without secrets, as lines of the host's log. Default: no lines, because untrusted callers cause them. */
  readonly logger?: Logger | false | undefined;
}

/** How connections are kept, with every default filled in. */
export interface RemoteSettings extends PoolLimits {
  /** Without its sockets, which come from `openGuard`. */
  readonly mcp: Omit<McpSettings, 'openPool'>;
  /** A guard with its own sockets, so that ending one connection ends no other. */
  readonly openGuard: () => EgressGuard;
}

/** Memory for tool lists of untrusted servers, in characters of JSON: some 256 MiB for the maximum of connections. */
const LIST_CHARACTERS = 1024 * 1024;

const CHECKS: Readonly<Record<keyof RemoteMcpOptions, OptionCheck>> = {
  // The guard checks both.
  egress: () => true,
  egressResources: () => true,
  connectTimeoutMs: milliseconds,
  refreshMs: milliseconds,
  idleMs: milliseconds,
  maxServersPerScope: positiveInteger,
  maxServers: positiveInteger,
  logger: isLogger,
};

/** Fills in the defaults; throws a `TypeError` that names the option. */
export function remoteSettings(options: RemoteMcpOptions): RemoteSettings {
  checkOptions('remoteMcp', options, CHECKS);
  const { egress, egressResources, idleMs = 60_000, logger = false } = options;
  return {
    idleMs,
    maxServers: options.maxServers ?? 256,
    maxServersPerScope: options.maxServersPerScope ?? 8,
    mcp: {
      sdk: installedSdk(),
      owner: 'remoteMcp',
      idleMs,
      refreshMs: options.refreshMs ?? 60_000,
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      warn: warner(logger),
      // The next request tries again; nobody else waits for an untrusted server.
      retries: false,
      listCharacters: LIST_CHARACTERS,
      maxTools: MAX_TOOLS,
      schemas: 'untrusted',
      questions: {},
      resources: false,
    },
    openGuard: () => egressGuard(egress, egressResources),
  };
}
