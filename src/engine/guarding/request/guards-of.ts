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
export function collectGuards(
  request: EndpointRequest,
  { guards, hooks }: GuardingSettings,
): RequestGuards | undefined {
  const { context, signal } = request;
  if (guards === undefined && context?.guards === undefined) return undefined;
  // The cast: only the middleware `guard`, and a router that has begun to guard the request, put sessions there.
  const begun = (context?.guards ?? []) as readonly GuardSession[];
  const isBegun = guards === undefined || begun.some(({ settings }) => settings === guards);
  const routerSessions = isBegun ? [] : [guardSession(guards, request, hooks, false)];
  // A turn may outlive the connection that the middleware knows.
  const sessions = begun.map((session) => ({ ...session, context: { ...session.context, signal } }));
  return new RequestGuards([...routerSessions, ...sessions]);
}
