/** All APIs of an app over one set of settings: how they are asked, drained, watched and closed. */

import { chatRoutes } from '../apis/chat-completions/endpoints.ts';
import type { OpenApi } from '../apis/endpoint/api.ts';
import type { DrainOptions } from '../engine/request/activity.ts';
import type { ApiError } from '../protocol/errors.ts';
import type { Reply } from '../protocol/reply.ts';
import { chatCompletionsUpstream } from '../upstreams/chat-completions/chat-completions-upstream.ts';
import { announcer } from './announce.ts';
import { apiHost } from './api-host.ts';
import { type Attached, apisEnd, type CloseOptions } from './apis-end.ts';
import { type AnyScope, type ApisOptions, sharedFiles } from './apis-options.ts';
import { apisStatusReader, type OpenStatus } from './apis-status.ts';
import { speaksChat } from './chat-settings.ts';
import { anthropicRoutes } from './messages-routes.ts';
import { openApiRoute } from './openapi/openapi-route.ts';
import { type CoreSettings, coreSettings } from './options/core-settings.ts';
import { reportedRoute } from './reported-routes.ts';
import { responsesRoutes } from './responses-routes.ts';
import { type ApiRequest, servedRoutes } from './served-routes.ts';
import { statusReader } from './status.ts';

/** All APIs of an app: mounted in Express by `router`, in other frameworks by `fetch` or `handle`. */
export interface OpenResponses<Req = unknown> {
  /**
   * Answers a Web `Request` below `basePath`, for Hono, Next, Bun, Deno and others; a path of no API gets a 404 in the envelope.
   * Rejects only if a function of the host throws, or something in front has read the body.
   */
  fetch(request: Req & Request): Promise<Response>;
  /**
   * The reply to a request, as any framework can describe it, or undefined if there is no such path. Rejects if the client has
   * left, or a function of the host threw.
   */
  handle(request: ApiRequest<Req>): Promise<Reply> | undefined;
  /** Answers an error of the host's own as an API would: in the envelope, and reported to `hooks.onError`. */
  refuse(error: ApiError, request: ApiRequest<Req>): Promise<Reply>;
  /**
   * Refuses new requests with 503 and resolves when nothing runs any more, over HTTP and over every WebSocket that is attached;
   * see `DrainOptions`. Nothing is closed but the `engine`.
   */
  drain(options?: DrainOptions): Promise<void>;
  /** What works, for the host's own health route: plain JSON within a second or so, which asks each store once and never the model. It never rejects. */
  status(): Promise<OpenStatus>;
  /**
   * Drains, closes `server` if it is given, and then closes what `openResponses` was given, as far as it has a `close`: `tools`,
   * `remoteMcp`, `documents`, `fileFetcher`, `budget`, `webhooks`, each of `apis` (`vectorStores.api` closes its vector stores, `batchesApi` its `engine`),
   * `inspector`, `background.engine`, `upstream`, `files` and `store`. Everything is closed once, even if a part fails; then
   * it rejects with that failure. Tools that a function chooses, and the clients of databases behind a store, are the host's.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** All APIs, as the hosts of this package serve them. */
export interface OpenApis extends Omit<OpenResponses, 'fetch'> {
  readonly settings: CoreSettings;
  /** The routes of each API, which report their steps, and how its errors are written. */
  readonly opened: readonly Pick<OpenApi, 'routes' | 'envelopeOf' | 'describe'>[];
  /** Whether the host names the tenants of HTTP requests. */
  readonly hasScope: boolean;
  /** Drains the part with the APIs, until the function that it returns is called. */
  attach(part: Attached): () => void;
}

/** Opens the APIs over options that have been checked. Throws a `TypeError` that names a bad one. */
export function openApis(owner: string, given: ApisOptions<never>, scope: AnyScope): OpenApis {
  const { apis = [], inspector, ...options } = given;
  const upstream = options.upstream ?? chatCompletionsUpstream();
  const core = { ...options, upstream, files: sharedFiles(owner, options.files, apis) };
  const settings = coreSettings(owner, inspector ? inspector.observe(core) : core);
  const announce = announcer(settings, scope);

  function serve<Opened extends OpenApi>(api: Opened) {
    const routes = api.routes.map((route) => reportedRoute(route, settings, announce));
    return { ...api, routes, served: servedRoutes(routes, { ...settings, envelopeOf: api.envelopeOf, scope }) };
  }

  const responses = responsesRoutes(settings);
  const chat = speaksChat(settings) ? [chatRoutes(settings)] : [];
  const models = [responses, ...chat, anthropicRoutes(settings)].map((api) => {
    const { served, ...rest } = serve(api);
    const all = servedRoutes([...rest.routes, ...(api.inner ?? [])], {
      ...settings,
      envelopeOf: api.envelopeOf,
      scope,
    });
    return { ...rest, served: { ...served, endpointAt: all.endpointAt } };
  });
  const host = apiHost(settings, {
    ...{ store: settings.store, secret: core.secret, webhooks: core.webhooks },
    // A host without tools has an empty list of them.
    toolsOf: settings.providers?.length === 0 ? undefined : settings.toolsOf,
    ...{ approval: settings.approval, guards: settings.guards },
    async forgetFile(key) {
      for (const { forgetFile } of others) await forgetFile?.(key);
    },
    endpointAt(path) {
      for (const { served } of models) {
        const endpoint = served.endpointAt(path);
        if (endpoint) return endpoint;
      }
      return undefined;
    },
  });
  const others: readonly OpenApi[] = apis.map((api) => api.open(host));
  const described = [...models, ...others.map(serve)];
  const document: OpenApi = { routes: options.openapi === false ? [] : [openApiRoute(() => described, settings)] };
  const opened = [...described, serve(document)];

  function handle(request: ApiRequest): Promise<Reply> | undefined {
    for (const { served } of opened) {
      const reply = served.handle(request);
      if (reply) return reply;
    }
    return undefined;
  }

  return {
    ...apisEnd(opened, { ...core, apis, inspector }),
    settings,
    opened,
    hasScope: scope !== undefined,
    handle,
    refuse: servedRoutes([], settings).refuse,
    status: apisStatusReader(statusReader(settings, responses.running), apis, others),
  };
}

const known = new WeakMap<object, OpenApis>();

/** Remembers which APIs the host's object stands for, so that a WebSocket may be given it. */
export function rememberApis(api: object, apis: OpenApis): void {
  known.set(api, apis);
}

/** The APIs behind what `openResponses` has returned; undefined for any other object. */
export function apisBehind(api: object): OpenApis | undefined {
  return known.get(api);
}
