/** The options of the middlewares; routers' options are accepted too, so that one object can be shared by all. */

import { checkOptions, isFunction, type OptionCheck } from '../../ports/host/options-check.ts';
import { type CoreSettings, preparationSettings } from '../../server/options/core-settings.ts';
import { coreChecks } from '../../server/options/option-checks.ts';
import type { CoreOptions } from '../../server/options/options.ts';
import type { NodeRequest, ScopeOf } from '../node/node-request.ts';
import type { Dialect } from './dialect.ts';

/** The options of every middleware; routers' options without a use here are ignored. */
export interface MiddlewareOptions<Req extends NodeRequest = NodeRequest> extends Omit<CoreOptions<Req>, 'dialect'> {
  /** The API of the requests. Default, also for a router's dialect: decided by the path, otherwise by the body. */
  readonly dialect?: Dialect | CoreOptions<Req>['dialect'];
  /**
   * The tenant whose responses a request may see, such as the user's id. Default: a digest of the API key; a request
   * with a cookie and no key is not stored.
   */
  readonly scope?: ((req: Req) => string) | undefined;
}

/** The options with every default filled in. */
export interface MiddlewareSettings extends Omit<CoreSettings, 'upstream'> {
  readonly dialect: Dialect | undefined;
  readonly scope: ScopeOf<NodeRequest> | undefined;
}

function isDialect(value: unknown): value is Dialect {
  return value === 'responses' || value === 'chat-completions' || value === 'messages';
}

/** Throws a `TypeError` that names the invalid option; `more` checks the options that only this middleware has. */
export function middlewareSettings(
  owner: string,
  options: MiddlewareOptions<never>,
  more: Readonly<Record<string, OptionCheck>> = {},
): MiddlewareSettings {
  const dialect: OptionCheck = (value) => isDialect(value) || (coreChecks.dialect?.(value) ?? true);
  checkOptions(owner, options, { ...coreChecks, dialect, scope: isFunction, ...more });
  const { dialect: wanted, ...shared } = options;
  const forced = isDialect(wanted) ? wanted : undefined;
  // The cast: the host states what its earlier handlers make of a request.
  const scope = options.scope as MiddlewareSettings['scope'];
  return { ...preparationSettings(owner, shared), dialect: forced, scope };
}
