/** All APIs in one call, for hosts without Express. */
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { type ApisOptions, apisChecks } from '../../server/apis-options.ts';
import { type OpenApis, type OpenResponses, openApis, rememberApis } from '../../server/open-apis.ts';
import { CORE_PLACES } from '../../server/options/option-checks.ts';
import type { AnyRequest } from '../node/host-requests.ts';
import { isBasePath, webFetch } from './web-fetch.ts';

/** The options of all APIs, and those that need the host. `Req` is the request of its framework, such as the Web's. */
export interface OpenResponsesOptions<Req extends object = Request> extends ApisOptions<AnyRequest<Req>> {
  /** The prefix of the paths for `fetch`, such as `/v1`. Default: nothing. */
  readonly basePath?: string | undefined;
  /**
   * The tenant whose responses a request over HTTP may see, such as the user's id; `authorize` of a WebSocket names that of a
   * connection. Default: a digest of the API key; a request with a cookie and no key is not stored.
   */
  readonly scope?: ((request: Req) => string) | undefined;
}

/**
 * The Responses API, the Messages API, Chat Completions if the upstream supports it, and each of `apis`, over one set of places,
 * tools and tenants. Throws a `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import { openResponses } from 'express-open-responses/core';
 *
 * const api = openResponses({ basePath: '/v1' });
 * const response = await api.fetch(new Request('http://localhost/v1/models'));
 * ```
 */
export function openResponses<Req extends object = Request>(
  options: OpenResponsesOptions<Req> = {},
): OpenResponses<Req> {
  const { api } = openForWeb(options);
  return api;
}

/** The same with the APIs themselves, for a host that serves them in another way, too. */
export function openForWeb<Req extends object>(options: OpenResponsesOptions<Req>): OpenedForWeb<Req> {
  const owner = 'openResponses';
  checkOptions(owner, options, { ...apisChecks, basePath: isBasePath, scope: isFunction }, CORE_PLACES);
  const { basePath, scope, ...given } = options;
  // The cast: the host states which requests its functions receive.
  const apis = openApis(owner, given as ApisOptions<never>, scope);
  const { handle, refuse, drain, status, close } = apis;
  const api: OpenResponses<Req> = { fetch: webFetch(apis, { basePath, scope }), handle, refuse, drain, status, close };
  rememberApis(api, apis);
  return { api, apis };
}

/** What the host is given, and what serves it. */
interface OpenedForWeb<Req> {
  readonly api: OpenResponses<Req>;
  readonly apis: OpenApis;
}
