/** All APIs as one Web handler, for Hono, Next, Bun, Deno and any other host with `Request` and `Response`. */
import type { DrainOptions } from '../../engine/request/activity.ts';
import { checkOptions, isFunction, type OptionCheck } from '../../ports/host/options-check.ts';
import { checkScope, defaultScope, limitScope } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord } from '../../protocol/record.ts';
import { allApis } from '../../server/api.ts';
import { coreSettings } from '../../server/options/core-settings.ts';
import { coreChecks } from '../../server/options/option-checks.ts';
import type { CoreOptions } from '../../server/options/options.ts';
import { type BodySize, UnreadAnswer } from '../../server/requests/body-room.ts';
import type { ServedApi } from '../../server/served-routes.ts';
import { toResponse } from './to-response.ts';

/** The shared options, and those that need the host. */
export interface WebHandlerOptions<Req extends Request = Request> extends CoreOptions<Req> {
  /** The prefix of the API's paths, such as `/v1`. Default: nothing. */
  readonly basePath?: string | undefined;
  /** Further APIs below the same path, such as `createFiles({ files })`. Default: none. */
  readonly apis?: readonly ServedApi<Req>[] | undefined;
  /**
   * The tenant whose responses a request may see, such as the user's id. Default: a digest of the API key; a request
   * with a cookie and no key is not stored.
   */
  readonly scope?: ((request: Req) => string) | undefined;
}

/** Answers every request; a path of no API gets a 404 in the envelope. Rejects only if a function of the host throws. */
export interface WebHandler<Req extends Request = Request> {
  (request: Req): Promise<Response>;
  /** Refuses new requests with 503 and resolves when every running answer has ended; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
}

/**
 * The Responses API, the Messages API, and Chat Completions if the upstream supports it. Throws a `TypeError` for an unknown option or a
 * bad value.
 *
 * @example
 * ```ts
 * import { toWebHandler } from 'express-open-responses/core';
 *
 * const handler = toWebHandler({ basePath: '/v1' });
 * const response = await handler(new Request('http://localhost/v1/models'));
 * ```
 */
export function toWebHandler<Req extends Request = Request>(options: WebHandlerOptions<Req> = {}): WebHandler<Req> {
  checkOptions('toWebHandler', options, { ...coreChecks, apis: areApis, basePath: isBasePath, scope: isFunction });
  const { basePath = '', scope, apis, ...core } = options;
  const settings = coreSettings('toWebHandler', core);
  const most = settings.limits.bodiesBytes;
  // The cast: the handler passes each API the requests that it receives itself.
  const api = allApis(settings, apis as readonly ServedApi[] | undefined, scope);

  async function webHandler(request: Req): Promise<Response> {
    const { method, headers, body: bytes } = request;
    const { pathname, searchParams } = new URL(request.url);
    const path = pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : '';
    // A repeated name has a list, as in Express: SDKs write lists this way.
    const query: Record<string, string | readonly string[]> = {};
    for (const name of searchParams.keys()) {
      const [first = '', ...more] = searchParams.getAll(name);
      query[name] = more.length > 0 ? [first, ...more] : first;
    }
    const tenant = scope && checkScope(scope(request));
    // Not the request's own signal, which some hosts only apply to the body they read.
    const left = new AbortController();
    const { signal } = left;
    const hangUp = () => left.abort(new Error('The client left.'));
    if (request.signal.aborted) hangUp();
    request.signal.addEventListener('abort', hangUp, { once: true });
    const cutOff = new AbortController();
    const disconnect = () => {
      cutOff.abort(new Error('The client was cut off: it does not read.'));
      left.abort(cutOff.signal.reason);
    };
    const apiRequest = { method, path, query, headers, bytes, signal, scope: tenant, request, disconnect };
    // OpenAI's wording.
    const unknownPath = () => new ApiError('not_found', `Invalid URL (${method} ${pathname})`);
    // What the request takes of the byte budget for bodies while its client does not read.
    const size: BodySize = {
      tenant: () => memoryShare(headers, tenant),
      bytes: Number(headers.get('content-length')) || 0,
      most,
    };
    const reply = api.handle(apiRequest) ?? api.refuse(unknownPath(), apiRequest);
    return reply.then(
      (answer) => toResponse(answer, { left, cutOff: cutOff.signal, unread: new UnreadAnswer(size, disconnect) }),
      // Nobody reads it, and a host would treat a rejection as a fault.
      (error) => (signal.aborted ? new Response(null, { status: 499 }) : Promise.reject(error)),
    );
  }

  return Object.assign(webHandler, { drain: api.drain });
}

/** Requests that are refused for their credentials share one. */
function memoryShare(headers: Headers, scope: string | undefined): string {
  try {
    return limitScope(scope ?? defaultScope(headers));
  } catch {
    return '';
  }
}

const areApis: OptionCheck = (value) =>
  (Array.isArray(value) && value.every((api) => isRecord(api) && isFunction(api.handle) === true)) ||
  'a list of APIs, such as createFiles()';

const isBasePath: OptionCheck = (value) =>
  (typeof value === 'string' && /^(\/[^/]+)*$/.test(value)) || "a path such as '/v1', without a slash at its end";
