/** One outgoing request, and the next one after a redirect. */
import { checkUrl } from './check-url.ts';
import { EgressError, targetOf } from './egress-error.ts';
import type { EgressSettings } from './policy.ts';

/** A request to a checked URL. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: RequestInit['body'];
}

/** Headers that belong to the connection. With their own `host`, callers would reach a site that was not checked. */
const OF_CONNECTION = [
  'host',
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-authorization',
  'te',
].concat(['proxy-connection', 'trailer', 'transfer-encoding', 'upgrade']);

/** The caller's headers that are also sent to another origin: any other may hold a key. */
const HARMLESS = new Set(['accept', 'accept-language', 'user-agent']);
const OF_BODY = ['content-type', 'content-encoding', 'content-language', 'content-location'];
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The request of the caller. Throws `url_refused`, `host_refused` and `request_refused`. */
export function firstHop(url: string | URL, init: RequestInit, settings: EgressSettings): Hop {
  const checked = checkUrl(url, settings);
  const headers = headersOf(init, checked);
  const forbidden = OF_CONNECTION.find((name) => headers.has(name));
  if (forbidden)
    throw new EgressError('request_refused', targetOf(checked), `the header '${forbidden}' is not yours to set`);
  return { url: checked, method: (init.method ?? 'GET').toUpperCase(), headers, body: init.body };
}

/** The redirect target of an answer; undefined if it is no redirect. */
export function redirectOf({ status, headers }: Response): string | undefined {
  return REDIRECTS.has(status) ? (headers.get('location') ?? undefined) : undefined;
}

/** The request after a redirect, checked like the first. Throws `url_refused`, `host_refused` and `redirect_refused`. */
export function nextHop(hop: Hop, status: number, location: string, settings: EgressSettings): Hop {
  const url = checkUrl(URL.canParse(location, hop.url.href) ? new URL(location, hop.url) : location, settings);
  const isSameOrigin = url.origin === hop.url.origin;
  const headers = isSameOrigin ? new Headers(hop.headers) : harmlessOf(hop.headers);
  if (dropsBody(hop.method, status)) {
    for (const name of OF_BODY) headers.delete(name);
    return { url, method: hop.method === 'HEAD' ? 'HEAD' : 'GET', headers, body: null };
  }
  // Text can be sent twice, a stream cannot; and its content was meant for the first origin.
  if (hop.body && (!isSameOrigin || typeof hop.body !== 'string'))
    throw new EgressError('redirect_refused', targetOf(hop.url), 'its redirect would take the body along');
  return { ...hop, url, headers };
}

function headersOf({ headers }: RequestInit, url: URL): Headers {
  try {
    return new Headers(headers);
  } catch {
    // Without the cause, which quotes the value.
    throw new EgressError('request_refused', targetOf(url), 'one of its headers is not one that HTTP can carry');
  }
}

function dropsBody(method: string, status: number): boolean {
  if (status === 303) return true;
  return (status === 301 || status === 302) && method === 'POST';
}

function harmlessOf(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => HARMLESS.has(name)));
}
