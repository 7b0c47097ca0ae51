/** One outgoing request, and the next one after a redirect. */
import { checkUrl } from './check-url.ts';
import { EgressError, errorTarget } from './egress-error.ts';
import type { EgressSettings } from './policy.ts';

/** A request to a checked URL. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: RequestInit['body'];
}

/** Headers that belong to the connection. With their own `host`, callers would reach a site that was not checked. */
const CONNECTION_HEADERS = [
  'host',
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-authorization',
  'te',
].concat(['proxy-connection', 'trailer', 'transfer-encoding', 'upgrade']);

/** The caller's headers that are also sent to another origin: any other may hold a key. */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language', 'user-agent']);
const BODY_HEADERS = ['content-type', 'content-encoding', 'content-language', 'content-location'];
/** The statuses of redirects. */
export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The request of the caller. Throws `url_refused`, `host_refused` and `request_refused`. */
export function firstHop(url: string | URL, init: RequestInit, settings: EgressSettings): Hop {
  const checked = checkUrl(url, settings);
  let headers: Headers;
  try {
    headers = new Headers(init.headers);
  } catch {
    // Without the cause, which quotes the value.
    throw new EgressError('request_refused', errorTarget(checked), 'one of its headers is not one that HTTP can carry');
  }
  const forbidden = CONNECTION_HEADERS.find((name) => headers.has(name));
  if (forbidden)
    throw new EgressError('request_refused', errorTarget(checked), `the header '${forbidden}' is not yours to set`);
  return { url: checked, method: (init.method ?? 'GET').toUpperCase(), headers, body: init.body };
}

/** The request after a redirect, checked like the first. Throws `url_refused`, `host_refused` and `redirect_refused`. */
export function nextHop(hop: Hop, status: number, location: string, settings: EgressSettings): Hop {
  const url = checkUrl(URL.canParse(location, hop.url.href) ? new URL(location, hop.url) : location, settings);
  const isSameOrigin = url.origin === hop.url.origin;
  const headers = new Headers([...hop.headers].filter(([name]) => isSameOrigin || HARMLESS_HEADERS.has(name)));
  if (status === 303 || ((status === 301 || status === 302) && hop.method === 'POST')) {
    for (const name of BODY_HEADERS) headers.delete(name);
    return { url, method: hop.method === 'HEAD' ? 'HEAD' : 'GET', headers, body: null };
  }
  // Text can be sent twice, a stream cannot; and its content was meant for the first origin.
  if (hop.body && (!isSameOrigin || typeof hop.body !== 'string'))
    throw new EgressError('redirect_refused', errorTarget(hop.url), 'its redirect would take the body along');
  return { ...hop, url, headers };
}
