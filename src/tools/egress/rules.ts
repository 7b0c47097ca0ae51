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
export function rulesFrom(option: string, given: readonly EgressRule[]): Rules {
  if (!Array.isArray(given)) throw new TypeError(`${option} must be a list of rules, got ${inspect(given)}`);
  const rules = given.map((rule: unknown, index) => ruleFrom(`${option}[${index}]`, rule));
  return {
    hosts: new Set(rules.flatMap(({ host }) => host ?? [])),
    suffixes: rules.flatMap(({ suffix }) => suffix ?? []),
    ranges: rules.flatMap(({ range }) => (range ? [range] : [])),
  };
}

/** Whether a rule names this host. */
export function namesHost({ hosts, suffixes }: Rules, hostname: string): boolean {
  return hosts.has(hostname) || suffixes.some((suffix) => hostname.endsWith(suffix));
}

/** The address in a `URL.hostname`; undefined for a name. */
export function literalOf(hostname: string): string | undefined {
  const text = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(text) === 0 ? undefined : text;
}

interface Rule {
  readonly host?: string;
  readonly suffix?: string;
  readonly range?: AddressRange;
}

function ruleFrom(option: string, rule: unknown): Rule {
  const [entry, ...rest] = isRecord(rule) ? Object.entries(rule) : [];
  const [kind, value] = entry ?? [];
  if (typeof value !== 'string' || rest.length > 0) throw faulty(option, 'one of { host }, { suffix }, { cidr }', rule);
  if (kind === 'host') return { host: hostFrom(value) ?? refuse(option, 'a host name or an IP address', rule) };
  if (kind === 'suffix') return { suffix: suffixFrom(value) ?? refuse(option, "a dot and a name, '.example'", rule) };
  if (kind === 'cidr') return { range: parseRange(value) ?? refuse(option, "a range, '10.0.0.0/8'", rule) };
  throw faulty(option, 'one of { host }, { suffix }, { cidr }', rule);
}

function hostFrom(text: string): string | undefined {
  const isIPv6 = isIP(text) === 6;
  // The URL parser would accept more than a host in these.
  if (!isIPv6 && /[\s/?#@\\%*:]|\.$/.test(text)) return undefined;
  const address = `https://${isIPv6 ? `[${text}]` : text}/`;
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}

function suffixFrom(text: string): string | undefined {
  const name = text.startsWith('.') ? hostFrom(text.slice(1)) : undefined;
  return name === undefined || literalOf(name) ? undefined : `.${name}`;
}

function refuse(option: string, expected: string, rule: unknown): never {
  throw faulty(option, expected, rule);
}

function faulty(option: string, expected: string, rule: unknown): TypeError {
  return new TypeError(`${option} must be ${expected}, got ${inspect(rule, { depth: 1 })}`);
}
