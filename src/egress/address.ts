/** What an IP address is good for: the public internet, an organisation's own network, or nothing at all. */
import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A parsed address. */
type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address and how many of its leading bits count. */
export type AddressRange = readonly [Address, number];

/** `own` is what a name of the host's own network may have; `special` is never a server to talk to. */
type AddressKind = 'public' | 'own' | 'special';

const OWN = new Set(['private', 'uniqueLocal', 'loopback', 'carrierGradeNat']);

/** Clouds hand out credentials here. Link-local ones, such as 169.254.169.254, are special without this list. */
const METADATA: readonly AddressRange[] = [
  range('fd00:ec2::/32'), // AWS, over IPv6
  range('fd20:ce::254/128'), // Google Cloud, over IPv6
  range('100.100.100.200/32'), // Alibaba Cloud, in the range of carrier-grade NAT
  range('168.63.129.16/32'), // Azure, in the public range
];

/** All of IPv6 that is given out; what is outside holds old and new ways to write an IPv4 address, among others. */
const GLOBAL_IPV6 = range('2000::/3');

/** Reads an address in its usual form; an IPv4-mapped one is the IPv4 address that it stands for. */
export function parseAddress(text: string): Address | undefined {
  // Stricter than the library, which also reads `0x7f.1` and `127.1`; a zone names an interface of this machine.
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  // The library takes `::127.0.0.1` for the mapped `::ffff:127.0.0.1`, which sockets do not; URLs have neither form.
  return ipaddr.process(isIPv6(text) ? new URL(`http://[${text}]/`).hostname.slice(1, -1) : text);
}

/** Reads `address/bits`. */
export function parseRange(text: string): AddressRange | undefined {
  const [address = '', bits = '', ...rest] = text.split('/');
  if (rest.length > 0 || isIP(address) === 0 || !/^\d{1,3}$/.test(bits)) return undefined;
  if (!ipaddr.isValidCIDR(text)) return undefined;
  const found = ipaddr.parseCIDR(text);
  // Mapped addresses are compared as the IPv4 addresses they stand for, so such a range would never match.
  return found[0].range() === 'ipv4Mapped' ? undefined : found;
}

/** Whether one of the ranges holds the address. */
export function isWithin(address: Address, ranges: readonly AddressRange[]): boolean {
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

/** Sorts an address; what no rule knows is `special`. */
export function addressKind(address: Address): AddressKind {
  if (isWithin(address, METADATA)) return 'special';
  const name = address.range();
  if (OWN.has(name)) return 'own';
  if (name !== 'unicast') return 'special';
  return address.kind() === 'ipv4' || isWithin(address, [GLOBAL_IPV6]) ? 'public' : 'special';
}

/** In words, for logs. */
export function describeAddress(address: Address): string {
  return `${address} (${isWithin(address, METADATA) ? 'metadata service' : address.range()})`;
}

function range(text: string): AddressRange {
  return ipaddr.parseCIDR(text);
}
