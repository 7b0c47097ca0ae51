/** Failover: the first of several servers that works answers. */

import { isServerFault } from './attempts.ts';
import { firstServer } from './choose.ts';
import { mergeModelLists, modelLists } from './merged-models.ts';
import { type FailoverOptions, failoverSettings } from './options.ts';
import { poolUpstream, type RoutingUpstream } from './pool.ts';
import { Server } from './server.ts';
import { namedServers, type Target } from './targets.ts';

/**
 * Asks the first server that takes calls, and the next one where it fails before anything of its answer was handed on.
 * Throws a `TypeError` for a bad option, and if the package cockatiel is missing while `breaker` is not false.
 *
 * @example
 * ```ts
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 * import { withFailover } from 'express-open-responses/routing';
 *
 * const main = chatCompletionsUpstream({ baseURL: 'http://10.0.0.1:8000/v1' });
 * const spare = chatCompletionsUpstream({ baseURL: 'http://10.0.0.2:8000/v1' });
 * const router = responsesRouter({ upstream: withFailover([main, spare]) });
 * ```
 */
export function withFailover(targets: readonly Target[], options: FailoverOptions = {}): RoutingUpstream {
  const { policies, ...settings } = failoverSettings('withFailover', options);
  const servers = namedServers('withFailover', targets).map((target) => new Server(target, policies));
  return poolUpstream({
    ...settings,
    servers: () => servers,
    select: (model) => ({ servers, model }),
    choose: firstServer,
    failsOver: isServerFault,
    sharesState: false,
    models: async (call) => mergeModelLists(await modelLists(servers, call)),
  });
}
