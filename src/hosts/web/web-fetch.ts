/** Answers Web requests with all APIs, for Hono, Next, Bun, Deno and any other host with `Request` and `Response`. */
import { queryFrom } from '../../engine/request/endpoint-request.ts';
import type { OptionCheck } from '../../ports/host/options-check.ts';
import { checkScope, defaultScope, limitScope } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { AnyScope } from '../../server/apis-options.ts';
import type { OpenApis } from '../../server/open-apis.ts';
import { type BodySize, UnreadAnswer } from '../../server/requests/body-room.ts';
import { toResponse } from './to-response.ts';

/** What a Web request needs besides the APIs. */
interface WebHost {
  readonly basePath?: string | undefined;
  readonly scope: AnyScope;
}

/** Answers every request; a path of no API gets a 404 in the envelope. Rejects only if a function of the host throws, or has read the body. */
export function webFetch(apis: OpenApis, { basePath = '', scope }: WebHost): (request: Request) => Promise<Response> {
  const most = apis.settings.limits.bodiesBytes;

  return async function openResponsesFetch(request) {
    const { method, headers, body: bytes } = request;
    // A mistake of the host's, which would look like a client that has left.
    if (request.bodyUsed || bytes?.locked)
      throw new TypeError(
        'openResponses: the body of the request has been read; read a clone() of the request in front of fetch',
      );
    const { pathname, searchParams } = new URL(request.url);
    const path = pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : '';
    // The cast: the host states which requests it receives.
    const tenant = scope && checkScope(scope(request as never));
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
    const apiRequest = {
      method,
      path,
      query: queryFrom(searchParams),
      headers,
      bytes,
      signal,
      scope: tenant,
      request,
      disconnect,
    };
    // OpenAI's wording.
    const unknownPath = () => new ApiError('not_found', `Invalid URL (${method} ${pathname})`);
    // What the request takes of the byte budget for bodies while its client does not read.
    const size: BodySize = {
      tenant: () => memoryShare(headers, tenant),
      bytes: Number(headers.get('content-length')) || 0,
      most,
    };
    const reply = apis.handle(apiRequest) ?? apis.refuse(unknownPath(), apiRequest);
    return reply.then(
      (answer) => toResponse(answer, { left, cutOff: cutOff.signal, unread: new UnreadAnswer(size, disconnect) }),
      // Nobody reads it, and a host would treat a rejection as a fault.
      (error) => (signal.aborted ? new Response(null, { status: 499 }) : Promise.reject(error)),
    );
  };
}

/** Requests that are refused for their credentials share one. */
function memoryShare(headers: Headers, scope: string | undefined): string {
  try {
    return limitScope(scope ?? defaultScope(headers));
  } catch {
    return '';
  }
}

/** A prefix of paths. */
export const isBasePath: OptionCheck = (value) =>
  (typeof value === 'string' && /^(\/[^/]+)*$/.test(value)) || "a path such as '/v1', without a slash at its end";
