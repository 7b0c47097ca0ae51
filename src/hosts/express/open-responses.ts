/** All APIs in one call, for an Express app. */
import type { Request, Router } from 'express';
import type { ApisOptions } from '../../server/apis-options.ts';
import type { OpenResponses } from '../../server/open-apis.ts';
import { DOCUMENT_PATH } from '../../server/openapi/openapi-route.ts';
import type { AnyRequest } from '../node/host-requests.ts';
import { openForWeb } from '../web/open-responses.ts';
import { express } from './express.cjs';
import type { Scope } from './handle.ts';
import type { HostRequest } from './host-request.ts';
import { createRouter } from './plain-router.ts';

/**
 * The options of all APIs, and those that need an Express app. `Req` is the request as the app's earlier handlers leave it, such as
 * one with a `user`.
 */
export interface OpenResponsesOptions<Req extends object = HostRequest> extends ApisOptions<AnyRequest<Req>> {
  /** The prefix of the paths for `fetch`, such as `/v1`; `router` is mounted where you like. Default: nothing. */
  readonly basePath?: string | undefined;
  /**
   * The tenant whose responses a request over HTTP may see, such as the user's id; `authorize` of a WebSocket names that of a
   * connection. Default: a digest of the API key; a request with a cookie and no key is not stored.
   */
  readonly scope?: ((request: Req) => string) | undefined;
}

/** All APIs of an Express app. */
export interface OpenResponsesRouter<Req = unknown> extends OpenResponses<Req> {
  /** All routes, to be mounted at any path, behind the app's authentication and before its body parsers. */
  readonly router: Router;
}

/**
 * The Responses API, the Messages API, Chat Completions if the upstream supports it, and each of `apis`, over one set of places,
 * tools and tenants. Throws a `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { openResponses } from 'express-open-responses';
 *
 * const api = openResponses();
 * const server = express().use('/v1', api.router).listen(3000);
 * process.once('SIGTERM', () => void api.close({ server }));
 * ```
 *
 * @example With files, the users of the app as tenants, and the WebSocket
 * ```ts
 * import express, { type Request, type RequestHandler } from 'express';
 * import { openResponses } from 'express-open-responses';
 * import { diskFiles, filesApi } from 'express-open-responses/files';
 * import { attachResponsesWebSocket } from 'express-open-responses/websocket';
 *
 * declare const authenticate: RequestHandler;
 * declare function findUser(headers: Request['headers']): { readonly id: string } | undefined;
 *
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * const api = openResponses<Request & { user: { id: string } }>({ apis: [filesApi({ files })], scope: ({ user }) => user.id });
 * const server = express().use('/v1', authenticate, api.router).listen(3000);
 * attachResponsesWebSocket(server, api, {
 *   authorize({ headers }) {
 *     const user = findUser(headers);
 *     return user ? { scope: user.id } : { status: 401, message: 'Unknown API key.' };
 *   },
 * });
 * ```
 */
export function openResponses<Req extends object = HostRequest>(
  options: OpenResponsesOptions<Req> = {},
): OpenResponsesRouter<Req> {
  const { api, apis } = openForWeb(options);
  // The cast: Express passes its requests, which the host states to be these.
  const scope = options.scope as Scope<Request> | undefined;
  const router = express().Router();
  for (const api of apis.opened) {
    const isDocument = api.routes.some(({ path }) => path === DOCUMENT_PATH);
    const described = options.openapi === false || isDocument ? [] : [api];
    router.use(createRouter(api.routes, { ...apis.settings, envelopeOf: api.envelopeOf }, { scope, described }));
  }
  return Object.assign(api, { router });
}
