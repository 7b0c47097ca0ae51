/** The checks of a URL before its name is resolved. */
import { addressFault } from './check-address.ts';
import { EgressError, targetOf } from './egress-error.ts';
import type { EgressSettings } from './policy.ts';
import { literalOf, namesHost } from './rules.ts';

/** DNS has no longer names. */
const MAX_NAME_LENGTH = 253;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/** Parses and checks a URL without resolving it. Throws `url_refused` and `host_refused`. Request the URL that it returns. */
export function checkUrl(given: string | URL, settings: EgressSettings): URL {
  const text = String(given);
  // The text is never quoted, and the parser's own error, which contains it, is not the cause.
  if (!URL.canParse(text)) throw new EgressError('url_refused', 'a URL', 'it is not an absolute URL');
  const url = new URL(text);
  const ofURL = urlFault(url, settings) ?? nameFault(url.hostname);
  if (ofURL !== undefined) throw new EgressError('url_refused', targetOf(url), ofURL);
  const ofHost = hostFault(url.hostname, settings);
  if (ofHost !== undefined) throw new EgressError('host_refused', targetOf(url), ofHost);
  return url;
}

function urlFault({ protocol, username, password, port }: URL, settings: EgressSettings): string | undefined {
  const { protocols, ports } = settings;
  if (!protocols.includes(protocol)) return `its scheme must be ${protocols.join(' or ').replaceAll(':', '')}`;
  if (username !== '' || password !== '') return 'a URL must not hold a user or a password';
  const isOpen = ports ? ports.includes(port || (DEFAULT_PORTS[protocol] ?? '')) : port === '';
  return isOpen ? undefined : 'its port is not allowed';
}

/** The fault of a name, whatever the policy. */
function nameFault(hostname: string): string | undefined {
  if (hostname.length > MAX_NAME_LENGTH) return 'its name is too long';
  // `a.example.` and `a.example` are one host, but not to a list of names.
  return hostname.endsWith('.') ? 'its name must not end in a dot' : undefined;
}

function hostFault(hostname: string, settings: EgressSettings): string | undefined {
  const { allow, deny } = settings;
  if (namesHost(deny, hostname)) return 'its host is on the deny list';
  const literal = literalOf(hostname);
  if (literal !== undefined) return addressFault(literal, hostname, settings);
  if (allow && (namesHost(allow, hostname) || allow.ranges.length > 0)) return undefined;
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return 'its name is this machine';
  return allow ? 'its host is not on the allow list' : undefined;
}
