/** Routes as one function from a request to a reply, for frameworks without a router in this package. */

import type { RestoredRequest } from '../apis/background/stored-request.ts';
import type { EndpointFinder } from '../apis/endpoint/api.ts';
import { type EndpointSettings, refusalEndpoint } from '../apis/endpoint/endpoint.ts';
import { matchPath, type Route } from '../apis/endpoint/routes.ts';
import { type EndpointRequest, headersFrom, type NodeHeaders } from '../engine/request/endpoint-request.ts';
import { markRequest } from '../engine/request/request-via.ts';
import { checkScope, defaultScope, limitScope } from '../ports/scope.ts';
import { ApiError, toApiError } from '../protocol/errors.ts';
import { requestIdFrom } from '../protocol/ids.ts';
import type { Reply } from '../protocol/reply.ts';
import { type BodyLimits, bodyErrors, isJsonType, isUnparsed, parseRead, readJson } from './requests/json-body.ts';

/** A request, as any framework can describe it. `Req` is the framework's own. */
export interface ApiRequest<Req = unknown> {
  /** The HTTP method, in upper case. */
  readonly method: string;
  /** Below the mount point, such as `/responses/resp_1`, without the query. */
  readonly path: string;
  /** The parsed query. Default: none. */
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  /** The request headers. */
  readonly headers: Headers | NodeHeaders;
  /** The JSON, if the host has parsed it already, or its text or bytes if the host has only read it. */
  readonly body?: unknown;
  /** The body otherwise: read only if the path has one, and within `limits.request.bodyBytes`. */
  readonly bytes?: AsyncIterable<Uint8Array> | null | undefined;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** The tenant whose responses the request may see. Default: what the option `scope` says of `request`, else a digest of the request's API key. */
  readonly scope?: string | undefined;
  /** The framework's own request, for the host's functions among the options. */
  readonly request?: Req | undefined;
  /** Closes the connection of a client that does not read its answer, when `drain` has waited long enough. */
  readonly disconnect?: (() => void) | undefined;
}

/** An API, as a host serves it. */
interface ServedApi<Req = unknown> {
  /**
   * The reply, or undefined if the API has no such path. Rejects if the client has left, or a function of the host's
   * threw.
   */
  handle(request: ApiRequest<Req>): Promise<Reply> | undefined;
  /** Answers an error of the host's own as the API would: in the envelope, and reported to `hooks.onError`. */
  refuse(error: ApiError, request: ApiRequest<Req>): Promise<Reply>;
  /** The API for requests that begin in this process. */
  readonly endpointAt: EndpointFinder;
}

/** Serves the routes, which have been reported. */
export function servedRoutes(routes: readonly Route[], settings: ServedSettings): ServedApi {
  const { limits } = settings;
  // The request for an error needs no tenant.
  const refuse = (error: ApiError, request: ApiRequest) =>
    refusalEndpoint(error, settings)(toEndpointRequest({ ...request, scope: '' }));

  async function answer({ endpoint, readsBytes }: Route, request: ApiRequest, params: RawParams): Promise<Reply> {
    let apiRequest: EndpointRequest;
    try {
      apiRequest = toEndpointRequest(request, settings.scope);
    } catch (error) {
      // That of its credentials.
      if (error instanceof ApiError) return refuse(error, request);
      throw error;
    }
    const rest = await readRest(request, apiRequest, params, readsBytes ? undefined : limits).catch(toApiError);
    if (rest instanceof ApiError) return refusalEndpoint(rest, settings)(apiRequest);
    return endpoint({ ...apiRequest, ...rest });
  }

  function handle(request: ApiRequest): Promise<Reply> | undefined {
    // As every router does: a HEAD is a GET whose body the server omits.
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    for (const route of routes) {
      const params = route.method === method ? matchPath(route.path, request.path) : undefined;
      if (!params) continue;
      markRequest(request.request, 'http');
      return answer(route, request, params);
    }
    return undefined;
  }

  return {
    handle,
    endpointAt(path) {
      const route = routes.find((each) => each.method === 'POST' && each.path === path && !each.readsBytes);
      if (!route) return undefined;
      return (inner) => {
        // As after a restart: the framework's own request is gone.
        const headers = Object.fromEntries(inner.headers);
        const request: RestoredRequest = { via: 'restored', method: 'POST', url: path, headers, body: inner.body };
        return answer(route, { method: 'POST', path, ...inner, request }, {});
      };
    },
    refuse(error, request) {
      markRequest(request.request, 'http');
      return refuse(error, request);
    },
  };
}

/** What serving routes needs of the host's options. */
type ServedSettings = EndpointSettings & {
  readonly limits: BodyLimits;
  /** The tenant of a request of the host's framework. */
  readonly scope?: ((request: never) => string) | undefined;
};

type RawParams = Readonly<Record<string, string>>;

/** The request without its body and path parameters, which may be invalid. */
function toEndpointRequest(
  { query = {}, scope, signal, request, disconnect, ...rest }: ApiRequest,
  scopeOf?: ServedSettings['scope'],
): EndpointRequest {
  // Not `instanceof`: polyfills and other realms have their own `Headers`.
  const isHeaders = typeof rest.headers.get === 'function';
  // The casts: whatever has the method is no record of Node's.
  const headers = isHeaders ? (rest.headers as Headers) : headersFrom(rest.headers as NodeHeaders);
  const requestId = requestIdFrom(headers.get('x-request-id'));
  const tenant = { scope: tenantOf(scope, scopeOf, { headers, request }), requestId };
  return { body: undefined, params: {}, query, headers, signal, request, context: undefined, disconnect, ...tenant };
}

/** As the host names it for this request, or for every one. Throws where the host's function has no request to read. */
function tenantOf(
  scope: string | undefined,
  scopeOf: ServedSettings['scope'],
  { headers, request }: { readonly headers: Headers; readonly request: unknown },
): string {
  if (scope !== undefined) return checkScope(scope);
  if (!scopeOf) return defaultScope(headers);
  if (request === undefined) throw new TypeError('handle: request is missing, and scope needs it');
  // The cast: the host passes the requests that its function reads.
  return checkScope(scopeOf(request as never));
}

/** The path's parameters, and the body: as it arrives without `limits`, else parsed, if there is one. Throws `ApiError`. */
async function readRest(
  request: ApiRequest,
  { headers, scope }: EndpointRequest,
  raw: RawParams,
  limits: BodyLimits | undefined,
) {
  const params = decodedParams(raw);
  const { body, bytes } = request;
  if (!limits) return { params, bytes: bytes ?? undefined };
  if (request.method !== 'POST') return { params, body: undefined };
  if (!isJsonType(headers.get('content-type'), headers.get('origin'))) throw bodyErrors.otherType();
  if (isUnparsed(body)) return { params, body: parseRead(body, limits) };
  if (body !== undefined || !bytes) return { params, body };
  return { params, body: await readJson(bytes, headers, limits, () => limitScope(scope)) };
}

function decodedParams(raw: RawParams): RawParams {
  try {
    return Object.fromEntries(Object.entries(raw).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch (cause) {
    throw new ApiError('invalid_value', 'The path is not valid.', { cause });
  }
}
