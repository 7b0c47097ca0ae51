/** Several keys for one server. */

import { inspect } from 'node:util';
import { isFunction } from '../../ports/host/options-check.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { isKeyFault } from './attempts.ts';
import { stayWithServer } from './choose.ts';
import { mergeModelLists, modelLists } from './merged-models.ts';
import { poolUpstream, type RoutingUpstream } from './pool.ts';
import { Server } from './server.ts';
import { checkCount, isUpstream } from './targets.ts';

/** The keys that one call may try. */
const MAX_TRIED = 5;

/**
 * Uses one key until the server throttles it (429), refuses it (401) or its credit is used up (402), then the next one. A
 * throttled key rests for as long as `retry-after` asks, at most 10 minutes. `makeUpstream` is called once for each key. Throws
 * a `TypeError` that quotes no key.
 *
 * @example
 * ```ts
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 * import { withKeys } from 'express-open-responses/routing';
 *
 * const keys = (process.env.OPENAI_API_KEYS ?? 'sk-first,sk-second').split(',');
 * const upstream = withKeys((apiKey) => chatCompletionsUpstream({ baseURL: 'https://api.openai.com/v1', apiKey }), keys);
 * const router = responsesRouter({ upstream });
 * ```
 */
export function withKeys(makeUpstream: (key: string) => Upstream, keys: readonly string[]): RoutingUpstream {
  const isList = Array.isArray(keys) && keys.length > 0 && keys.every((key) => typeof key === 'string' && key !== '');
  if (!isList) throw new TypeError('withKeys: keys must be a list of at least one key, none of them empty');
  if (new Set(keys).size < keys.length) throw new TypeError('withKeys: a key is in the list twice');
  checkCount('withKeys', keys.length);
  if (isFunction(makeUpstream) !== true)
    throw new TypeError(`withKeys: makeUpstream must be a function, got ${inspect(makeUpstream, { depth: 0 })}`);
  const policies = { owner: 'withKeys', breaker: undefined, calls: undefined };
  const servers = keys.map((key, index) => {
    const upstream = makeUpstream(key);
    if (isUpstream(upstream) !== true) throw new TypeError('withKeys: makeUpstream must return an upstream');
    return new Server({ upstream, weight: 1, name: `key-${index + 1}` }, policies);
  });
  return poolUpstream({
    name: servers[0]?.upstream.name ?? 'keys',
    servers: () => servers,
    select: (model) => ({ servers, model }),
    choose: stayWithServer(servers),
    failsOver: isKeyFault,
    attempts: MAX_TRIED,
    firstByteTimeoutMs: undefined,
    sharesState: true,
    models: async (call) => mergeModelLists(await modelLists(servers, call)),
  });
}
