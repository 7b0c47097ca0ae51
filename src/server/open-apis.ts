/** All APIs of an app over one set of settings: how they are asked, drained, watched and closed. */

import type { ChatSettings } from '../apis/chat-completions/chat-request.ts';
import { chatRoutes } from '../apis/chat-completions/endpoints.ts';
import { openai } from '../apis/dialects/dialects.ts';
import type { Api, ApiHost, ApiStatus, OpenApi } from '../apis/endpoint/api.ts';
import type { DrainOptions } from '../engine/request/activity.ts';
import type { FileStore } from '../ports/files/file-store.ts';
import type { Hooks } from '../ports/hooks.ts';
import { isFunction, type OptionCheck, withMethods } from '../ports/host/options-check.ts';
import type { ResponseKey } from '../ports/store.ts';
import type { ApiError } from '../protocol/errors.ts';
import { isRecord } from '../protocol/record.ts';
import type { Reply } from '../protocol/reply.ts';
import { chatCompletionsUpstream } from '../upstreams/chat-completions/chat-completions-upstream.ts';
import { announcer } from './announce.ts';
import { type ClosableServer, closeParts, closeServer } from './close-parts.ts';
import { anthropicRoutes } from './messages-routes.ts';
import { type CoreSettings, coreSettings } from './options/core-settings.ts';
import { coreChecks } from './options/option-checks.ts';
import type { AnyCoreOptions, CoreOptions } from './options/options.ts';
import { reportedRoute } from './reported-routes.ts';
import { responsesRoutes } from './responses-routes.ts';
import { type ApiRequest, servedRoutes } from './served-routes.ts';
import { type RouterStatus, statusReader } from './status.ts';

/** What `openResponses` needs of an inspector: `createInspector()` makes one. */
export interface ObservingInspector {
  /** Returns the options with the inspector's parts in them. */
  observe<Options extends AnyCoreOptions>(options: Options): Options & { readonly hooks: Hooks };
  /** Ends the connections of open pages. */
  close(): void;
}

/** The options of all APIs together: those of a router, and what else there is to serve. */
export interface ApisOptions<Req = unknown> extends CoreOptions<Req> {
  /**
   * The APIs besides those of models, such as `filesApi({ files })` and `vectorStores.api`. Their `files` are those of the
   * option `files`, too. Default: none.
   */
  readonly apis?: readonly Api[] | undefined;
  /** Records the requests of all APIs; you mount its page, `inspector.router`, yourself. Default: none. */
  readonly inspector?: ObservingInspector | undefined;
}

/** What works of all APIs, as plain JSON; it names no tenant, no request and no secret. */
export interface OpenStatus extends RouterStatus {
  /** The APIs besides those of models that have a store of their own, by name. */
  readonly apis: Readonly<Record<string, ApiStatus>>;
}

/** The host's options for the end. */
export interface CloseOptions extends DrainOptions {
  /** The host's HTTP server: it is closed when nothing runs any more, and its last connections a second later. Default: none. */
  readonly server?: ClosableServer;
}

/** All APIs of an app: mounted in Express by `router`, in other frameworks by `fetch` or `handle`. */
export interface OpenResponses<Req = unknown> {
  /**
   * Answers a Web `Request` below `basePath`, for Hono, Next, Bun, Deno and others; a path of no API gets a 404 in the envelope.
   * Rejects only if a function of the host throws.
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
   * `remoteMcp`, `documents`, `fileFetcher`, `budget`, each of `apis` (`vectorStores.api` closes its vector stores), `inspector`, `engine`, `upstream`, `files` and `store`. Everything is closed once, even if a part fails; then
   * it rejects with that failure. Tools that a function chooses, and the clients of databases behind a store, are the host's.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** A part that ends with the APIs, such as a WebSocket. */
interface Attached {
  drain(options?: DrainOptions): Promise<void>;
}

/** All APIs, as the hosts of this package serve them. */
export interface OpenApis extends Omit<OpenResponses, 'fetch'> {
  readonly settings: CoreSettings;
  /** The routes of each API, which report their steps, and how its errors are written. */
  readonly opened: readonly Pick<OpenApi, 'routes' | 'envelopeOf'>[];
  /** Whether the host names the tenants of HTTP requests. */
  readonly hasScope: boolean;
  /** Drains the part with the APIs, until the function that it returns is called. */
  attach(part: Attached): () => void;
}

/** The tenant of a request of the host's framework. */
export type AnyScope = ((request: never) => string) | undefined;

/** The checks of the options, to which a host adds its own. */
export const apisChecks: Readonly<Record<string, OptionCheck>> = {
  ...coreChecks,
  apis: (value) =>
    (Array.isArray(value) && value.every((api) => isRecord(api) && isFunction(api.open) === true)) ||
    'a list of APIs, such as filesApi({ files }) and vectorStores.api',
  inspector: (value) => withMethods('observe', 'close')(value) === true || 'made by createInspector()',
};

/** Opens the APIs over options that have been checked. Throws a `TypeError` that names a bad one. */
export function openApis(owner: string, given: ApisOptions<never>, scope: AnyScope): OpenApis {
  const { apis = [], inspector, ...options } = given;
  const upstream = options.upstream ?? chatCompletionsUpstream();
  const core = { ...options, upstream, files: sharedFiles(owner, options.files, apis) };
  const settings = coreSettings(owner, inspector ? inspector.observe(core) : core);

  const forgetFile = async (key: ResponseKey) => {
    for (const { forgetFile } of others) await forgetFile?.(key);
  };
  const { hooks, limits } = settings;
  const host: ApiHost = { hooks, limits, dialectOf: () => openai, forgetFile };
  const responses = responsesRoutes(settings);
  const chat = speaksChat(settings) ? [chatRoutes(settings)] : [];
  const others: readonly OpenApi[] = apis.map((api) => api.open(host));

  const announce = announcer(settings, scope);
  const opened = [responses, ...chat, anthropicRoutes(settings), ...others].map((api) => ({
    ...api,
    routes: api.routes.map((route) => reportedRoute(route, settings, announce)),
  }));
  const served = opened.map(({ routes, envelopeOf }) => servedRoutes(routes, { ...settings, envelopeOf, scope }));
  const attached = new Set<Attached>();
  const readStatus = statusReader(settings, responses.running);
  let closing: Promise<void> | undefined;

  function handle(request: ApiRequest): Promise<Reply> | undefined {
    for (const api of served) {
      const reply = api.handle(request);
      if (reply) return reply;
    }
    return undefined;
  }

  async function status(): Promise<OpenStatus> {
    const [base, ...states] = await Promise.all([readStatus(), ...others.map((api) => api.status?.())]);
    const shown = apis.flatMap(({ name }, index) => (states[index] ? [[name, states[index]] as const] : []));
    const isOk = base.status === 'ok' && shown.every(([, { ok }]) => ok);
    return { ...base, status: isOk ? 'ok' : 'degraded', apis: Object.fromEntries(shown) };
  }

  async function drain(drainOptions?: DrainOptions): Promise<void> {
    await Promise.all([...opened, ...attached].map((part) => part.drain?.(drainOptions)));
  }

  async function closeAll({ server, ...closeOptions }: CloseOptions): Promise<void> {
    // First: a page that stays open would keep its connection.
    inspector?.close();
    const drained = drain({ ...closeOptions, ...(server && { server }) });
    // What cannot be drained is closed all the same.
    await Promise.allSettled([drained]);
    if (server) await closeServer(server);
    const { tools, remoteMcp, documents, fileFetcher, budget, background, store } = options;
    const providers = typeof tools === 'function' ? [] : [tools].flat();
    await closeParts([
      ...providers,
      remoteMcp,
      documents,
      fileFetcher,
      budget,
      ...apis,
      background?.engine,
      upstream,
      core.files,
      store,
    ]);
    await drained;
  }

  return {
    settings,
    opened,
    hasScope: scope !== undefined,
    handle,
    refuse: servedRoutes([], settings).refuse,
    status,
    drain,
    close(closeOptions = {}) {
      closing ??= closeAll(closeOptions);
      return closing;
    },
    attach(part) {
      attached.add(part);
      return () => attached.delete(part);
    },
  };
}

/** The one store of uploaded files. Throws a `TypeError` if a request would look for files elsewhere than where they are uploaded. */
function sharedFiles(owner: string, option: FileStore | undefined, apis: readonly Api[]): FileStore | undefined {
  const named = [{ name: 'the option files', files: option }, ...apis].flatMap(({ name, files }) =>
    files ? [{ name, files }] : [],
  );
  const [first] = named;
  const other = named.find(({ files }) => files !== first?.files);
  if (!first || !other) return first?.files;
  const names = `'${first.files.name}' of ${first.name} and '${other.files.name}' of ${other.name}`;
  throw new TypeError(
    `${owner}: files must be one store for all, or requests do not find what was uploaded, got ${names}`,
  );
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

/** The settings, if the upstream can serve Chat Completions. */
export function requireChatSettings(owner: string, settings: CoreSettings): CoreSettings & ChatSettings {
  if (speaksChat(settings)) return settings;
  throw new TypeError(`${owner}: upstream must speak Chat Completions, got '${settings.upstream.name}'`);
}

function speaksChat(settings: CoreSettings): settings is CoreSettings & ChatSettings {
  return settings.upstream.chat !== undefined;
}
