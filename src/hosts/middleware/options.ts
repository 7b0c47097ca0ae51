/** The options of the middlewares; routers' options are accepted too, so that one object can be shared by all. */

import { checkOptions, isFunction, isOneOf, type OptionCheck } from '../../ports/host/options-check.ts';
import { type CoreSettings, preparationSettings } from '../../server/options/core-settings.ts';
import { CORE_PLACES, coreChecks } from '../../server/options/option-checks.ts';
import type { CoreOptions } from '../../server/options/options.ts';
import type { NodeRequest, ScopeOf } from '../node/node-request.ts';
import type { ApiName } from './api.ts';

/** The options of every middleware; routers' options without a use here are ignored. */
export interface MiddlewareOptions<Req extends NodeRequest = NodeRequest> extends CoreOptions<Req> {
  /** The API of the requests, if their path does not show it. Default: decided by the path, otherwise by the body. */
  readonly api?: ApiName | undefined;
  /**
   * The tenant whose responses a request may see, such as the user's id. Default: a digest of the API key; a request
   * with a cookie and no key is not stored.
   */
  readonly scope?: ((req: Req) => string) | undefined;
}

/** The options with every default filled in. */
export interface MiddlewareSettings extends Omit<CoreSettings, 'upstream'> {
  readonly api: ApiName | undefined;
  readonly scope: ScopeOf<NodeRequest> | undefined;
}

/** Throws a `TypeError` that names the invalid option; `more` checks the options that only this middleware has. */
export function middlewareSettings(
  owner: string,
  options: MiddlewareOptions<never>,
  more: Readonly<Record<string, OptionCheck>> = {},
): MiddlewareSettings {
  const api = isOneOf('responses', 'chat-completions', 'messages');
  checkOptions(owner, options, { ...coreChecks, api, scope: isFunction, ...more }, CORE_PLACES);
  // The cast: the host states what its earlier handlers make of a request.
  const scope = options.scope as MiddlewareSettings['scope'];
  return { ...preparationSettings(owner, options), api: options.api, scope };
}
