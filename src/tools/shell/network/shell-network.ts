/** Which hosts the containers of a shell may reach, and how much they may send and receive. */
import { checkOptions, isFunction, positiveInteger } from '../../../ports/host/options-check.ts';
import { type ResolveHost, systemResolve } from '../../egress/check-address.ts';
import { type GuardedConnections, guardedConnections } from '../../egress/guarded-connections.ts';
import { egressSettings } from '../../egress/policy.ts';
import type { EgressRule } from '../../egress/rules.ts';

/**
 * What requests may open by `network_policy: { type: 'allowlist' }`: TLS connections to the domains of their list, as far as they are among
 * these. `undefined` means the default.
 */
export interface ShellNetwork {
  /** The only hosts that a request may name. A `host` rule also opens the private addresses of its name. Default: every public host. */
  readonly allow?: readonly EgressRule[] | undefined;
  /** Refused even if allowed. Default: none. */
  readonly deny?: readonly EgressRule[] | undefined;
  /** Default: 443. */
  readonly ports?: readonly number[] | undefined;
  /** Connections of one container at the same time. Default: 16. */
  readonly connections?: number | undefined;
  /** The bytes that one command sends and receives, on all its connections. Default: 67,108,864. */
  readonly bytes?: number | undefined;
  /** Resolves names to addresses. Default: as this machine does. */
  readonly resolve?: ResolveHost | undefined;
}

/** The same, ready for use. */
export interface NetworkSettings {
  readonly guard: GuardedConnections;
  readonly connections: number;
  readonly bytes: number;
}

const CONNECTIONS = 16;
const BYTES = 64 * 1024 * 1024;

/** Throws a `TypeError` that names the option. */
export function networkSettings(owner: string, network: ShellNetwork): NetworkSettings {
  const { connections = CONNECTIONS, bytes = BYTES, resolve = systemResolve, ...policy } = network;
  checkOptions(
    `${owner}: network`,
    { connections, bytes, resolve },
    { connections: positiveInteger, bytes: positiveInteger, resolve: isFunction },
  );
  return { guard: guardedConnections(egressSettings(policy), resolve), connections, bytes };
}
