/** Who may see the pages. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { type Refusal, readAdmission } from '../../../ports/host/admission.ts';
import type { InspectorSettings } from './options.ts';

/** Why a request is refused; undefined if it is admitted. Rejects if the host's function throws, or answers what is no decision. */
export async function accessRefusal(
  request: IncomingMessage,
  { authorize, behindAuth }: Pick<InspectorSettings, 'authorize' | 'behindAuth'>,
): Promise<Refusal | undefined> {
  if (behindAuth) return undefined;
  if (authorize) {
    const admission = readAdmission(await authorize(request));
    return 'status' in admission ? admission : undefined;
  }
  // By the socket's address, since a client may write any header; and by the name that the browser uses for the server, since another
  // site's domain may resolve to this machine (DNS rebinding).
  const { socket, headers } = request;
  const isProxied = Object.keys(headers).some((name) => FORWARDED.test(name));
  const isLocal = !isProxied && isLoopback(socket.remoteAddress ?? '') && isLocalHost(headers.host);
  return isLocal ? undefined : { status: 403, message: LOCAL_ONLY };
}

const LOCAL_ONLY = [
  'The inspector answers requests from its own machine only, without a proxy, under a name of that machine, such as http://localhost.',
  'To open it to others, give createInspector the option authorize, or put your authentication in front and set behindAuth: true.',
].join('\n');

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Headers of proxies: behind one, every client has the proxy's address. */
const FORWARDED =
  /^(?:forwarded|x-forwarded-|x-original-|x-real-ip$|x-client-ip$|x-envoy-|via$|cf-|true-client-ip$|x-amzn-)/;

/**
 * Whether a page of another origin sends the request, which it may read if the host allows it to, such as by `cors()` for the whole
 * app. Browsers send `Sec-Fetch-Site` to `https` and to this machine, and `Origin` to all with what a page may not send on its own.
 */
export function isOfAnotherSite({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin, host } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase();
}

/** Whether the header `Host` has a name of this machine, with any port. */
export function isLocalHost(host = ''): boolean {
  // The name without the port; an IPv6 address without its brackets.
  const [, address, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host.toLowerCase()) ?? [];
  const local = address ?? name;
  return local === 'localhost' || local.endsWith('.localhost') || isLoopback(local);
}

/** Whether it is an address that only this machine can reach. */
export function isLoopback(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return loopback.check(address, 'ipv4');
  return family === 6 && (loopback.check(address, 'ipv6') || isLoopback(address.replace(/^::ffff:/i, '')));
}
