/** Collects the guards of one request. */

import type { Reports } from '../../../ports/hooks.ts';
import type { EndpointRequest } from '../../request/endpoint-request.ts';
import type { GuardSettings } from '../guard/settings.ts';
import { type GuardSession, guardSession, RequestGuards } from './request-guards.ts';

/** The host's options that they need. */
export interface GuardingSettings {
  /** Undefined for none. */
  readonly guards?: GuardSettings | undefined;
  readonly hooks: Reports;
}

/** The router's guards and those of middlewares in front of it; undefined if there are none. */
export function guardsOf(request: EndpointRequest, { guards, hooks }: GuardingSettings): RequestGuards | undefined {
  const { context } = request;
  if (guards === undefined && context?.guards === undefined) return undefined;
  const own = guards ? [guardSession(guards, request, hooks, false)] : [];
  return new RequestGuards([...own, ...sessionsIn(context?.guards).map((session) => endingWith(session, request))]);
}

/** A turn may outlive the connection that the middleware knows. */
function endingWith(session: GuardSession, { signal }: EndpointRequest): GuardSession {
  return { ...session, context: { ...session.context, signal } };
}

/** The sessions that middlewares have left in the context. The cast: only `guard` puts them there. */
function sessionsIn(guards: readonly object[] = []): readonly GuardSession[] {
  return guards as readonly GuardSession[];
}
