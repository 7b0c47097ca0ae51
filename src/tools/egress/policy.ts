/** The policy of outgoing requests: the options of `egressGuard`, checked once. */
import { checkOptions, milliseconds, type OptionCheck, positiveInteger } from '../../ports/host/options-check.ts';
import { type AddressRange, parseAddress } from './address.ts';
import { type EgressRule, hostAddress, type Rules, readRules } from './rules.ts';

/** The permitted destinations and answer sizes; plain data, fit for a configuration file. `undefined` means omitted. */
export interface EgressPolicy {
  /**
   * The only destinations, if given. A `host` rule also opens its name's private addresses, a `cidr` rule opens its whole
   * range; nothing else opens non-public addresses. An empty list allows nothing. Default: every
   * public host.
   */
  readonly allow?: readonly EgressRule[] | undefined;
  /** Refused even if allowed. Default: none. */
  readonly deny?: readonly EgressRule[] | undefined;
  /** Only `https` by default. */
  readonly schemes?: readonly ('https' | 'http')[] | undefined;
  /** The default ports of the schemes by default. */
  readonly ports?: readonly number[] | undefined;
  /** Maximum size of one message, in bytes after decompression: a whole body, or one event. Default: 10 MiB. */
  readonly maxBytes?: number | undefined;
  /** Maximum time of one message, in milliseconds: a body from the request on, an event from its first byte. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of redirects, each of them checked. Default: 0, redirects are refused. */
  readonly maxRedirects?: number | undefined;
}

/** The policy with every default filled in and every rule read. */
export interface EgressSettings {
  readonly allow: Rules | undefined;
  readonly deny: Rules;
  /** In the form of `URL.protocol`. */
  readonly protocols: readonly string[];
  /** In the form of `URL.port`, in which the scheme's own port is the empty string. */
  readonly ports: readonly string[] | undefined;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly maxRedirects: number;
}

const CHECKS: Readonly<Record<keyof EgressPolicy, OptionCheck>> = {
  // Their rules are checked when they are read.
  allow: (value) => Array.isArray(value) || 'a list of rules',
  deny: (value) => Array.isArray(value) || 'a list of rules',
  schemes: nonEmptyList((value) => value === 'https' || value === 'http', "'https', 'http' or both"),
  ports: nonEmptyList((value) => Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536, 'ports'),
  maxBytes: positiveInteger,
  timeoutMs: milliseconds,
  maxRedirects: (value) =>
    (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 20) || 'a whole number from 0 to 20',
};

/** Fills in the defaults; throws a `TypeError` that names the option. */
export function egressSettings(policy: EgressPolicy): EgressSettings {
  checkOptions('egressGuard', policy, CHECKS);
  const { schemes = ['https'], ports } = policy;
  const allow = policy.allow && readRules('egressGuard: allow', policy.allow);
  const deny = readRules('egressGuard: deny', policy.deny ?? []);
  // A denied address is also denied to names that resolve to it; an allowed one is not thereby open to all names.
  const deniedAddresses = [...deny.hosts].flatMap((host) => parseAddress(hostAddress(host) ?? '') ?? []);
  const ranges = deniedAddresses.map((address): AddressRange => [address, address.kind() === 'ipv4' ? 32 : 128]);
  return {
    allow,
    deny: { ...deny, ranges: [...deny.ranges, ...ranges] },
    protocols: schemes.map((scheme) => `${scheme}:`),
    ports: ports?.map(String),
    maxBytes: policy.maxBytes ?? 10 * 1024 * 1024,
    timeoutMs: policy.timeoutMs ?? 60_000,
    maxRedirects: policy.maxRedirects ?? 0,
  };
}

function nonEmptyList(passes: (value: unknown) => boolean, entries: string): OptionCheck {
  return (value) =>
    (Array.isArray(value) && value.length > 0 && value.every(passes)) || `a list of ${entries}, not empty`;
}
