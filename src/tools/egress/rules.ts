/** Allow and deny rules, parsed once: names, suffixes of names, and ranges of addresses. */
import { isIP } from 'node:net';
import { inspect } from 'node:util';
import { isRecord } from '../../protocol/record.ts';
import { type AddressRange, parseRange } from './address.ts';

/** One host by its name or address; every name below a suffix, which starts with a dot; or a range of addresses. */
export type EgressRule =
  | {
      /** A host name or an IP address, such as `mcp.example.com`. */
      readonly host: string;
    }
  | {
      /** A dot and a name, such as `.example.com`. */
      readonly suffix: string;
    }
  | {
      /** A range of addresses, such as `10.0.0.0/8`. */
      readonly cidr: string;
    };

/** Rules in the form in which names and addresses are compared. */
export interface Rules {
  /** In the form of `URL.hostname`: lower case, punycode, IPv6 in brackets. */
  readonly hosts: ReadonlySet<string>;
  readonly suffixes: readonly string[];
  readonly ranges: readonly AddressRange[];
}

/** Reads a list of rules; throws a `TypeError` that names the option and quotes the rule. */
export function readRules(option: string, list: readonly EgressRule[]): Rules {
  if (!Array.isArray(list)) throw new TypeError(`${option} must be a list of rules, got ${inspect(list)}`);
  const hosts = new Set<string>();
  const suffixes: string[] = [];
  const ranges: AddressRange[] = [];
  for (const [index, rule] of list.entries()) {
    const [entry, ...rest] = isRecord(rule) ? Object.entries(rule) : [];
    const [kind, value] = entry ?? [];
    let expected = 'one of { host }, { suffix }, { cidr }';
    if (typeof value === 'string' && rest.length === 0) {
      if (kind === 'host') {
        const host = hostFrom(value);
        if (host !== undefined) {
          hosts.add(host);
          continue;
        }
        expected = 'a host name or an IP address';
      } else if (kind === 'suffix') {
        const name = value.startsWith('.') ? hostFrom(value.slice(1)) : undefined;
        if (name !== undefined && !hostAddress(name)) {
          suffixes.push(`.${name}`);
          continue;
        }
        expected = "a dot and a name, '.example'";
      } else if (kind === 'cidr') {
        const range = parseRange(value);
        if (range) {
          ranges.push(range);
          continue;
        }
        expected = "a range, '10.0.0.0/8'";
      }
    }
    throw new TypeError(`${option}[${index}] must be ${expected}, got ${inspect(rule, { depth: 1 })}`);
  }
  return { hosts, suffixes, ranges };
}

/** Whether a rule names this host. */
export function matchesHost({ hosts, suffixes }: Rules, hostname: string): boolean {
  return hosts.has(hostname) || suffixes.some((suffix) => hostname.endsWith(suffix));
}

/** The address in a `URL.hostname`; undefined for a name. */
export function hostAddress(hostname: string): string | undefined {
  const text = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(text) === 0 ? undefined : text;
}

function hostFrom(text: string): string | undefined {
  const isIPv6 = isIP(text) === 6;
  // The URL parser would accept more than a host in these.
  if (!isIPv6 && /[\s/?#@\\%*:]|\.$/.test(text)) return undefined;
  const address = `https://${isIPv6 ? `[${text}]` : text}/`;
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}
