/** The options of `remoteMcp`, checked once. */

import { type EgressGuard, type EgressResources, egressGuard } from '../../egress/egress-guard.ts';
import type { EgressPolicy } from '../../egress/policy.ts';
import {
  checkOptions,
  isFunction,
  milliseconds,
  type OptionCheck,
  positiveInteger,
} from '../../ports/host/options-check.ts';
import { warner } from '../../ports/host/warner.ts';
import type { McpSettings } from '../shared/settings.ts';

/** How many connections there may be, and how long they are kept without use, in milliseconds. */
export interface PoolLimits {
  readonly maxServers: number;
  readonly maxServersPerScope: number;
  readonly idleMs: number;
}

/** Where requests may lead, and how many connections they may hold. `undefined` means omitted. */
export interface RemoteMcpOptions {
  /** Where connections may go, and how much may come back: the policy of `egressGuard`. Default: any public host. */
  readonly egress?: EgressPolicy | undefined;
  /** What the policy, being plain data, cannot hold: the second argument of `egressGuard`. */
  readonly egressResources?: EgressResources | undefined;
  /** For connecting and for listing tools, over each transport that is tried. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** The age from which a list of tools is refreshed, in the background, when it is used. Default: 60,000. */
  readonly refreshMs?: number | undefined;
  /** How long a connection that nobody uses is kept. Default: 60,000. */
  readonly idleMs?: number | undefined;
  /** How many connections one scope may have. Default: 8. */
  readonly maxServersPerScope?: number | undefined;
  /** How many connections there may be. Default: 256. */
  readonly maxServers?: number | undefined;
  /** Told of connections that broke and of tools left out, free of secrets. Default: nobody, as strangers cause them. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** How connections are kept, with every default filled in. */
export interface RemoteSettings extends PoolLimits {
  /** Without its sockets, which come from `openGuard`. */
  readonly mcp: Omit<McpSettings, 'openPool'>;
  /** A door with sockets of its own, so that ending one connection ends no other. */
  readonly openGuard: () => EgressGuard;
}

/** What lists of strangers may take in memory, in characters of JSON: some 256 MiB for as many connections. */
const LIST_CHARACTERS = 1024 * 1024;

const CHECKS: Readonly<Record<keyof RemoteMcpOptions, OptionCheck>> = {
  // Both are checked by the guard.
  egress: () => true,
  egressResources: () => true,
  connectTimeoutMs: milliseconds,
  refreshMs: milliseconds,
  idleMs: milliseconds,
  maxServersPerScope: positiveInteger,
  maxServers: positiveInteger,
  onWarning: isFunction,
};

/** Fills in the defaults; throws a `TypeError` that names the option. */
export function remoteSettings(options: RemoteMcpOptions): RemoteSettings {
  checkOptions('remoteMcp', options, CHECKS);
  const { egress, egressResources, idleMs = 60_000, onWarning = () => {} } = options;
  return {
    idleMs,
    maxServers: options.maxServers ?? 256,
    maxServersPerScope: options.maxServersPerScope ?? 8,
    mcp: {
      owner: 'remoteMcp',
      idleMs,
      refreshMs: options.refreshMs ?? 60_000,
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      warn: warner(onWarning),
      // The next request tries again; nobody else waits for a stranger's server.
      retries: false,
      listCharacters: LIST_CHARACTERS,
    },
    openGuard: () => egressGuard(egress, egressResources),
  };
}
