/** Requests to hosts that untrusted callers name. */
export type { ResolveHost } from './check-address.ts';
export { EgressError, type EgressErrorCode } from './egress-error.ts';
export { type EgressGuard, type EgressInit, type EgressResources, egressGuard } from './egress-guard.ts';
export type { EgressPolicy } from './policy.ts';
export type { EgressRule } from './rules.ts';
