/** Many model servers behind one upstream: by model, with failover, balanced, and with several keys. */
export { type BalancedOptions, type BalancedUpstream, balanced } from './balanced.ts';
export { withFailover } from './failover.ts';
export { withKeys } from './keys.ts';
export type { BreakerOptions, BulkheadOptions, FailoverOptions } from './options.ts';
export type { RoutingUpstream } from './pool.ts';
export { type RoutedOptions, routedUpstream } from './routed.ts';
export type { ModelServer, Target } from './targets.ts';
