/** Both APIs as one function from a request to a reply, for frameworks that we bring no router for. */
import { createHash } from 'node:crypto';
import type { DrainOptions } from './activity.ts';
import { chatEndpoints } from './chat-completions/endpoints.ts';
import type { ChatSettings } from './chat-completions/prepare-chat.ts';
import { type Endpoint, refusal } from './endpoint.ts';
import { ApiError } from './errors.ts';
import { requestIdFrom } from './ids.ts';
import { type CoreOptions, type CoreSettings, coreChecks, coreSettings } from './options.ts';
import { checkOptions } from './options-check.ts';
import type { Reply } from './reply.ts';
import { responsesEndpoints } from './responses/endpoints.ts';

/** A request, as any framework can describe it. */
export interface ApiRequest {
  readonly method: string;
  /** Below the mount point, such as `/responses/resp_1`, without the query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Headers;
  /** The parsed JSON, where there is any. */
  readonly body?: unknown;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Whose request it is. Default: a digest of the `Authorization` header. */
  readonly scope?: string | undefined;
  /** The framework's own request, for tools that need it. */
  readonly request?: unknown;
  /** Cuts the client off, where it does not read its answer. */
  readonly disconnect?: (() => void) | undefined;
}

/** One API. */
export interface Api {
  /** The reply, or undefined where the API has no such path. Rejects only where the client has left. */
  handle(request: ApiRequest): Promise<Reply> | undefined;
  /** Answers an error of the framework's, such as a body that is no JSON, as the API would. */
  refuse(error: ApiError, request: ApiRequest): Promise<Reply>;
  /** Refuses new requests and resolves when every running answer has ended. */
  drain(options?: DrainOptions): Promise<void>;
  /** Bytes of a body that a host may read. */
  readonly bodyBytes: number;
}

/** The Responses API. Throws a `TypeError` for an unknown option or a bad value. */
export function createResponses(options: CoreOptions = {}): Api {
  const settings = settingsOf('createResponses', options);
  const { create, retrieve, remove, inputItems, models, drain } = responsesEndpoints(settings);
  const routes: readonly Route[] = [
    ['POST', /^\/responses\/?$/, create],
    ['GET', /^\/responses\/([^/]+)\/?$/, retrieve],
    ['DELETE', /^\/responses\/([^/]+)\/?$/, remove],
    ['GET', /^\/responses\/([^/]+)\/input_items\/?$/, inputItems],
    ['GET', /^\/models\/?$/, models],
  ];
  return apiOf(settings, routes, drain);
}

/** The Chat Completions API. Throws a `TypeError` also for an upstream that does not speak it. */
export function createChatCompletions(options: CoreOptions = {}): Api {
  const settings = chatSettingsOf('createChatCompletions', settingsOf('createChatCompletions', options));
  const { create, models, drain } = chatEndpoints(settings);
  const routes: readonly Route[] = [
    ['POST', /^\/chat\/completions\/?$/, create],
    ['GET', /^\/models\/?$/, models],
  ];
  return apiOf(settings, routes, drain);
}

/** The settings, where the upstream can serve them. */
export function chatSettingsOf(owner: string, settings: CoreSettings): ChatSettings {
  if (settings.upstream.chat) return settings as ChatSettings;
  throw new TypeError(`${owner}: upstream must speak Chat Completions, got '${settings.upstream.name}'`);
}

type Route = readonly [method: string, path: RegExp, endpoint: Endpoint];

function settingsOf(owner: string, options: CoreOptions): CoreSettings {
  checkOptions(owner, options, coreChecks);
  return coreSettings(owner, options);
}

function apiOf(settings: CoreSettings, routes: readonly Route[], drain: Api['drain']): Api {
  return {
    handle(request) {
      const route = routes.find(([method, path]) => method === request.method && path.test(request.path));
      if (!route) return undefined;
      const [, path, endpoint] = route;
      return call(endpoint, request, decoded(path.exec(request.path)?.[1]));
    },
    refuse: (error, request) => call(refusal(error, settings), request, ''),
    drain,
    bodyBytes: settings.limits.bodyBytes,
  };

  function call(endpoint: Endpoint, request: ApiRequest, id: string | undefined): Promise<Reply> {
    const { headers, query = {}, body, signal, scope = scopeOf(headers), disconnect } = request;
    const params = { id };
    const requestId = requestIdFrom(headers.get('x-request-id'));
    const asked =
      id === undefined ? refusal(new ApiError('invalid_value', 'The path is not valid.'), settings) : endpoint;
    const optional = disconnect ? { disconnect } : {};
    return asked({ body, params, query, headers, scope, requestId, signal, request: request.request, ...optional });
  }
}

/** Undefined where the path is not valid; empty where it names nothing. */
function decoded(part = ''): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** A digest of the `Authorization` header; `anonymous` without one. */
export function scopeOf(headers: Pick<Headers, 'get'>): string {
  const authorization = headers.get('authorization');
  return authorization ? createHash('sha256').update(authorization).digest('base64url') : 'anonymous';
}
