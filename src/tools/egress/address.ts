/** Classifies an IP address: the public internet, an organisation's own network, or unusable. */
import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A parsed address. */
type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address and the number of leading bits that count. */
export type AddressRange = readonly [Address, number];

/** `own` is an address that a name of the host's own network may have; `special` is never a server to talk to. */
type AddressKind = 'public' | 'own' | 'special';

const OWN_NETWORK = new Set(['private', 'uniqueLocal', 'loopback', 'carrierGradeNat']);

/** The metadata services of clouds, which return credentials. Link-local ones, such as 169.254.169.254, are special anyway. */
export const METADATA: readonly AddressRange[] = [
  ipaddr.parseCIDR('fd00:ec2::/32'), // AWS, over IPv6
  ipaddr.parseCIDR('fd20:ce::254/128'), // Google Cloud, over IPv6
  ipaddr.parseCIDR('100.100.100.200/32'), // Alibaba Cloud, in the range of carrier-grade NAT
  ipaddr.parseCIDR('168.63.129.16/32'), // Azure, in the public range
];

/** The allocated part of IPv6; outside it are, among others, old and new notations of IPv4 addresses. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Reads an address in its usual form; an IPv4-mapped one becomes its IPv4 address. */
export function parseAddress(text: string): Address | undefined {
  // Stricter than the library, which also reads `0x7f.1` and `127.1`; a zone names an interface of this machine.
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  // The library treats `::127.0.0.1` as the mapped `::ffff:127.0.0.1`, which sockets do not; URLs have neither form.
  return ipaddr.process(isIPv6(text) ? new URL(`http://[${text}]/`).hostname.slice(1, -1) : text);
}

/** Reads `address/bits`. */
export function parseRange(text: string): AddressRange | undefined {
  const [address = '', bits = '', ...rest] = text.split('/');
  if (rest.length > 0 || isIP(address) === 0 || !/^\d{1,3}$/.test(bits)) return undefined;
  if (!ipaddr.isValidCIDR(text)) return undefined;
  const parsed = ipaddr.parseCIDR(text);
  // Mapped addresses are compared as their IPv4 addresses, so such a range would never match.
  return parsed[0].range() === 'ipv4Mapped' ? undefined : parsed;
}

/** Whether one of the ranges contains the address. */
export function isWithin(address: Address, ranges: readonly AddressRange[]): boolean {
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

/** Classifies an address; one without a rule is `special`. */
export function addressKind(address: Address): AddressKind {
  if (isWithin(address, METADATA)) return 'special';
  const name = address.range();
  if (OWN_NETWORK.has(name)) return 'own';
  if (name !== 'unicast') return 'special';
  return address.kind() === 'ipv4' || isWithin(address, [GLOBAL_IPV6]) ? 'public' : 'special';
}
