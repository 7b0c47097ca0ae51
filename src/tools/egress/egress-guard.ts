/** A fetch for URLs from untrusted callers: limits the destinations and the answer size by a policy. */

import type { RequestInit as PoolInit } from 'undici';
import { endDispatcher } from '../../ports/host/end-dispatcher.ts';
import { checkOptions } from '../../ports/host/options-check.ts';
import { undici } from '../../protocol/json/packages.cjs';
import { checkedLookup, type ResolveHost, systemResolve } from './check-address.ts';
import { checkUrl } from './check-url.ts';
import { type Deadline, deadline } from './deadline.ts';
import { EgressError, errorTarget } from './egress-error.ts';
import { FairSockets } from './fair-sockets.ts';
import { firstHop, type Hop, nextHop, REDIRECTS } from './hop.ts';
import { limitedResponse } from './limited-response.ts';
import { type EgressPolicy, egressSettings } from './policy.ts';

/** The options that the policy, being plain data, cannot hold. `undefined` means omitted. */
export interface EgressResources {
  /** Resolves names to addresses. Default: as this machine does. */
  readonly resolve?: ResolveHost | undefined;
  /** Certificates of the authorities to trust instead of Node's own, as PEM. Default: Node's own. */
  readonly ca?: string | readonly string[] | undefined;
}

/** A request, and for whom it is sent: a tenant leaves one socket to each origin to the others. Default: one tenant for all. */
export interface EgressInit extends RequestInit {
  /** Whose request it is: the sockets of an origin are shared out among tenants. Default: one tenant for all. */
  readonly tenant?: string | undefined;
}

/** The only way to hosts that a request names. */
export interface EgressGuard {
  /** Checks a URL without resolving it, to refuse a request early. Throws an `EgressError`. */
  check(url: string | URL): void;
  /** As the global `fetch`, for URLs; a refusal or cut is an `EgressError`, of the call or of the body. */
  fetch(url: string | URL, init?: EgressInit): Promise<Response>;
  /** Aborts open requests. */
  close(): Promise<void>;
}

/** Each request in flight holds a socket; further ones to the same origin wait for one. */
const MAX_SOCKETS = 128;

/**
 * Creates the guard. Throws a `TypeError` that names the option for a bad policy.
 *
 * @example
 * ```ts
 * import { egressGuard } from 'express-open-responses/egress';
 *
 * const guard = egressGuard({ allow: [{ suffix: '.example.com' }] });
 * const response = await guard.fetch('https://files.example.com/report.txt');
 * ```
 */
export function egressGuard(policy: EgressPolicy = {}, resources: EgressResources = {}): EgressGuard {
  const settings = egressSettings(policy);
  checkOptions('egressGuard', resources, {
    resolve: (value) => typeof value === 'function' || 'a function',
    ca: (value) => typeof value === 'string' || Array.isArray(value) || 'PEM text or a list of it',
  });
  const { resolve = systemResolve, ca } = resources;
  const { timeoutMs, maxBytes, maxRedirects } = settings;
  const dispatcher = new (undici().Agent)({
    connections: MAX_SOCKETS,
    // The deadline of each request limits its time.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      lookup: checkedLookup(settings, resolve),
      timeout: timeoutMs,
      // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would switch it off.
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca: [ca].flat() }),
    },
  });
  const deadlines = new Set<Deadline>();
  const sockets = new FairSockets(MAX_SOCKETS);

  async function sendHop({ url, method, headers, body }: Hop, signal: AbortSignal): Promise<Response> {
    const options = { method, headers: [...headers], body, redirect: 'manual', signal, dispatcher, duplex: 'half' };
    // The casts: the pool's types and Node's own describe the same classes.
    return (await undici().fetch(url, options as unknown as PoolInit)) as unknown as Response;
  }

  return {
    check(url) {
      checkUrl(url, settings);
    },
    async fetch(url, init = {}) {
      const first = firstHop(url, init, settings);
      let leave = () => {};
      const clock: Deadline = deadline(timeoutMs, errorTarget(first.url), init.signal, () => {
        deadlines.delete(clock);
        leave();
      });
      deadlines.add(clock);
      try {
        for (let hop = first, redirects = 0; ; redirects += 1) {
          leave = await sockets.enter(hop.url.origin, init.tenant ?? '', clock.signal);
          const response = await sendHop(hop, clock.signal);
          const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
          if (location === null || init.redirect === 'manual')
            return limitedResponse(response, { maxBytes, target: errorTarget(hop.url) }, clock);
          await response.body?.cancel();
          leave();
          if (init.redirect === 'error' || redirects >= maxRedirects)
            throw new EgressError('redirect_refused', errorTarget(hop.url), 'it redirects more often than allowed');
          hop = nextHop(hop, response.status, location, settings);
        }
      } catch (error) {
        throw clock.cut(refusalIn(error) ?? error);
      }
    },
    close() {
      // An unread answer gets no event when its socket ends, so its timer would keep running.
      for (const clock of deadlines) clock.cut(new Error('The egress guard was closed.'));
      return endDispatcher(dispatcher, 'destroy');
    },
  };
}

/** Our refusal, which a failed connection wraps in an error of its own. */
function refusalIn(error: unknown): EgressError | undefined {
  if (error instanceof EgressError) return error;
  return error instanceof Error && error.cause !== undefined ? refusalIn(error.cause) : undefined;
}
