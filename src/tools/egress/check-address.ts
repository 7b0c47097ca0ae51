/** Resolves names to checked addresses, for connections to exactly those addresses. */
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { addressKind, isWithin, METADATA, parseAddress } from './address.ts';
import { EgressError } from './egress-error.ts';
import type { EgressSettings } from './policy.ts';
import { hostAddress, matchesHost } from './rules.ts';

/** Returns every address of a name. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** As this machine resolves names, including its hosts file. */
export const systemResolve: ResolveHost = async (hostname) => {
  const answers = await lookup(hostname, { all: true });
  return answers.map(({ address }) => address);
};

/** Why this host must not be reached at this address; undefined if it may. */
export function addressFault(text: string, hostname: string, { allow, deny }: EgressSettings): string | undefined {
  const address = parseAddress(text);
  if (!address) return 'its address is malformed';
  if (isWithin(address, deny.ranges)) return 'its address is on the deny list';
  if (allow && isWithin(address, allow.ranges)) return undefined;
  const isHost = allow?.hosts.has(hostname) ?? false;
  if (hostAddress(hostname)) return isHost ? undefined : 'it is an IP address that is not on the allow list';
  if (allow && !matchesHost(allow, hostname)) return 'its address is not on the allow list';
  const kind = addressKind(address);
  // A rule for a name trusts its owner with addresses of our network, but not with metadata services.
  return kind === 'public' || (kind === 'own' && isHost) ? undefined : 'its address is not public';
}

/**
 * A resolver for sockets: resolves a name, checks the addresses and passes them to the same connection, so
 * no second DNS answer can replace them. Sockets do not resolve hosts that are addresses; `checkUrl` checks those.
 */
export function checkedLookup(settings: EgressSettings, resolve: ResolveHost): LookupFunction {
  return function lookupChecked(hostname, { all }, callback) {
    resolveChecked(hostname, settings, resolve).then(
      ([first, ...others]) => {
        if (all) return callback(null, [first, ...others]);
        callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
}

interface CheckedAddress {
  readonly address: string;
  readonly family: number;
}

/**
 * All addresses or none: a name with a public and a private address is either an attack on the private one or a
 * mistake, and choosing the public one would hide both.
 */
async function resolveChecked(
  hostname: string,
  settings: EgressSettings,
  resolve: ResolveHost,
): Promise<[CheckedAddress, ...CheckedAddress[]]> {
  const answers = await resolve(hostname).catch((cause) => {
    throw new EgressError('unresolved', hostname, 'its name has no address', { cause });
  });
  for (const answer of answers) {
    const fault = addressFault(answer, hostname, settings);
    if (fault === undefined) continue;
    const address = parseAddress(answer);
    // The address would reveal our network to an untrusted caller, so it only goes to the logs.
    const range = address && (isWithin(address, METADATA) ? 'metadata service' : address.range());
    const cause = new Error(`${hostname} resolved to ${address ? `${address} (${range})` : 'no IP address'}`);
    throw new EgressError('address_refused', hostname, fault, { cause });
  }
  const [first, ...others] = answers.map((address) => ({ address, family: isIP(address) }));
  if (!first) throw new EgressError('unresolved', hostname, 'its name has no address');
  return [first, ...others];
}
