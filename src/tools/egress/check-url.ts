/** The checks of a URL before its name is resolved. */
import { addressFault } from './check-address.ts';
import { EgressError, type EgressErrorCode, errorTarget } from './egress-error.ts';
import type { EgressSettings } from './policy.ts';
import { hostAddress, matchesHost } from './rules.ts';

/** DNS has no longer names. */
const MAX_NAME_LENGTH = 253;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/** Parses and checks a URL without resolving it. Throws `url_refused` and `host_refused`. Request the URL that it returns. */
export function checkUrl(address: string | URL, settings: EgressSettings): URL {
  const text = String(address);
  // The text is never quoted, and the parser's own error, which contains it, is not the cause.
  if (!URL.canParse(text)) throw new EgressError('url_refused', 'a URL', 'it is not an absolute URL');
  const url = new URL(text);
  const { protocol, username, password, port, hostname } = url;
  const { protocols, ports, allow, deny } = settings;
  const refuse = (code: EgressErrorCode, fault: string): never => {
    throw new EgressError(code, errorTarget(url), fault);
  };

  if (!protocols.includes(protocol))
    refuse('url_refused', `its scheme must be ${protocols.join(' or ').replaceAll(':', '')}`);
  if (username !== '' || password !== '') refuse('url_refused', 'a URL must not hold a user or a password');
  const isPortOpen = ports ? ports.includes(port || (DEFAULT_PORTS[protocol] ?? '')) : port === '';
  if (!isPortOpen) refuse('url_refused', 'its port is not allowed');
  if (hostname.length > MAX_NAME_LENGTH) refuse('url_refused', 'its name is too long');
  // `a.example.` and `a.example` are one host, but not to a list of names.
  if (hostname.endsWith('.')) refuse('url_refused', 'its name must not end in a dot');

  if (matchesHost(deny, hostname)) refuse('host_refused', 'its host is on the deny list');
  const literal = hostAddress(hostname);
  if (literal !== undefined) {
    const fault = addressFault(literal, hostname, settings);
    if (fault !== undefined) refuse('host_refused', fault);
    return url;
  }
  if (allow && (matchesHost(allow, hostname) || allow.ranges.length > 0)) return url;
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) refuse('host_refused', 'its name is this machine');
  if (allow) refuse('host_refused', 'its host is not on the allow list');
  return url;
}
