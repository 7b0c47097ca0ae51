/** Several servers that share the calls, and that come and go while they do. */

import { checkOptions, isOneOf } from '../../ports/host/options-check.ts';
import { isServerFault } from './attempts.ts';
import { STRATEGIES } from './choose.ts';
import { mergeModelLists, modelLists } from './merged-models.ts';
import { type FailoverOptions, failoverSettings, waitMs } from './options.ts';
import { poolUpstream, type RoutingUpstream } from './pool.ts';
import { Server } from './server.ts';
import { checkCount, checkedServer, namedServers, type Target, takeName, withServerName } from './targets.ts';

/** How calls are shared. `undefined` means omitted. */
export interface BalancedOptions extends FailoverOptions {
  /**
   * `least-busy`: the server with the fewest calls for its weight. `round-robin`: in turn. `weighted`: in turn, by their
   * weights. `sticky`: one server for all calls with the same `prompt_cache_key` or, without one, the same beginning, whose
   * prefix it has cached. Default: `least-busy`.
   */
  readonly by?: 'least-busy' | 'round-robin' | 'weighted' | 'sticky' | undefined;
}

/** An upstream whose servers come and go. */
export interface BalancedUpstream extends RoutingUpstream {
  /** Adds a server. Throws a `TypeError` as `balanced` does. */
  add(target: Target): void;
  /**
   * Takes a server out: it gets no more calls. Resolves with true when its calls have ended, or with false after
   * `timeoutMs`, in milliseconds; they go on then. It is not closed, since it may be used elsewhere. Throws a `TypeError`
   * for a name that there is not. Default of `timeoutMs`: 30,000.
   */
  drain(name: string, options?: { readonly timeoutMs?: number | undefined }): Promise<boolean>;
}

/**
 * Shares the calls among servers; where one fails before anything of its answer was handed on, another is asked. Throws a
 * `TypeError` for a bad option, and if the package cockatiel is missing while `breaker` is not false.
 *
 * @example
 * ```ts
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 * import { balanced } from 'express-open-responses/routing';
 *
 * const at = (host: string) => chatCompletionsUpstream({ baseURL: `http://${host}:8000/v1` });
 * const upstream = balanced([at('10.0.0.1'), { upstream: at('10.0.0.2'), weight: 2 }], { by: 'sticky' });
 * const router = responsesRouter({ upstream });
 * ```
 */
export function balanced(targets: readonly Target[], options: BalancedOptions = {}): BalancedUpstream {
  const { policies, ...settings } = failoverSettings('balanced', options, { by: isOneOf(...Object.keys(STRATEGIES)) });
  let servers = namedServers('balanced', targets).map((target) => new Server(target, policies));
  const upstream = poolUpstream({
    ...settings,
    servers: () => servers,
    select: (model) => ({ servers, model }),
    choose: STRATEGIES[options.by ?? 'least-busy'](),
    failsOver: isServerFault,
    sharesState: false,
    models: async (call) => mergeModelLists(await modelLists(servers, call)),
  });

  function add(target: Target): void {
    checkCount('balanced: add', servers.length + 1);
    const server = checkedServer('balanced: add', target);
    const taken = new Set(servers.map(({ name }) => name));
    if (server.name !== undefined) takeName('balanced: add', server.name, taken);
    servers = [...servers, new Server(withServerName(server, taken), policies)];
  }

  async function drain(name: string, options: { readonly timeoutMs?: number | undefined } = {}): Promise<boolean> {
    checkOptions('balanced: drain', options, { timeoutMs: waitMs });
    const server = servers.find((each) => each.name === name);
    if (!server) throw new TypeError(`balanced: drain: there is no server '${name}'`);
    server.isDraining = true;
    const isIdle = await server.idle(options.timeoutMs ?? DRAIN_MS);
    servers = servers.filter((each) => each !== server);
    return isIdle;
  }

  return { ...upstream, add, drain };
}

/** How long calls have to end by default, in milliseconds. */
const DRAIN_MS = 30_000;
