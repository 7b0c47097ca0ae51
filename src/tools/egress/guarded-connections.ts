/** Connections, without HTTP, to hosts that untrusted code names: by the same checks as requests. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { checkedLookup, type ResolveHost } from './check-address.ts';
import { checkUrl } from './check-url.ts';
import type { EgressSettings } from './policy.ts';

const HTTPS_PORT = 443;

/** Connects to hosts of a policy. */
export interface GuardedConnections {
  /** Whether the policy allows this host, whatever its addresses are. */
  mayReach(hostname: string): boolean;
  /** The URL of a `host:port`, without resolving the name. Throws `url_refused` and `host_refused`. */
  check(authority: string): URL;
  /** A connection to an address that was checked. Rejects with `address_refused` and `unresolved`, the socket's error, or that of an abort. */
  open(url: URL, signal: AbortSignal): Promise<Socket>;
}

export function guardedConnections(settings: EgressSettings, resolve: ResolveHost): GuardedConnections {
  const check = (authority: string) => checkUrl(`https://${authority}/`, settings);
  return {
    check,
    mayReach(hostname) {
      try {
        return check(`${hostname}:${settings.ports?.[0] ?? HTTPS_PORT}`).hostname === hostname;
      } catch {
        return false;
      }
    },
    async open({ hostname, port }, signal) {
      const lookup = checkedLookup(settings, resolve);
      const socket = connect({ host: hostname, port: Number(port) || HTTPS_PORT, lookup, allowHalfOpen: true });
      try {
        await once(socket, 'connect', { signal });
        return socket;
      } catch (error) {
        socket.on('error', () => {}).destroy();
        throw error;
      }
    },
  };
}
