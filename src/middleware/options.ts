/** The options of the middlewares: those of the routers are taken too, so that one object can be shared by all. */
import type { CoreOptions, CoreSettings } from '../core/options.ts';
import { coreChecks, oneOf, preparationSettings } from '../core/options.ts';
import { checkOptions, type OptionCheck } from '../core/options-check.ts';
import type { NodeRequest, ScopeOf } from '../node/node-call.ts';
import type { Dialect } from './dialect.ts';

/** What every middleware understands; the routers' options that it has no use for are ignored. */
export interface MiddlewareOptions<Req extends NodeRequest = NodeRequest> extends CoreOptions {
  /** The API whose words the requests are in. Default: told by the path, else by the body. */
  readonly dialect?: Dialect | undefined;
  /** Whose responses a request may see, such as the user's id. Default: a digest of the `Authorization` header. */
  readonly scope?: ScopeOf<Req> | undefined;
}

/** The options with every default filled in. */
export interface MiddlewareSettings<Req extends NodeRequest> extends Omit<CoreSettings, 'upstream'> {
  readonly dialect: Dialect | undefined;
  readonly scope: ScopeOf<Req> | undefined;
}

const isFunction: OptionCheck = (value) => typeof value === 'function' || 'a function';

/** Throws a `TypeError` that names the option at fault; `more` checks the options that only this middleware has. */
export function middlewareSettings<Req extends NodeRequest>(
  owner: string,
  options: MiddlewareOptions<Req>,
  more: Readonly<Record<string, OptionCheck>> = {},
): MiddlewareSettings<Req> {
  const dialect = oneOf('responses', 'chat-completions');
  checkOptions(owner, options, { ...coreChecks, dialect, scope: isFunction, ...more });
  return { ...preparationSettings(owner, options), dialect: options.dialect, scope: options.scope };
}
