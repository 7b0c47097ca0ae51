/** Turns a preparation step into a middleware that works in any framework on Node's requests. */
import type { ServerResponse } from 'node:http';
import { errorReplyTo } from '../../apis/endpoint/endpoint.ts';
import { ANTHROPIC } from '../../apis/endpoint/models.ts';
import type { Prepare } from '../../apis/endpoint/prepare.ts';
import { refuseMany, requestLimits } from '../../apis/endpoint/request-limits.ts';
import { ownError } from '../../ports/host/host-error.ts';
import { ApiError } from '../../protocol/errors.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { discardRest } from '../node/discard-rest.ts';
import { replaceBody, requestBody } from '../node/node-body.ts';
import { type NodeRequest, setTurnContext, toEndpointRequest } from '../node/node-request.ts';
import { respond } from '../node/respond.ts';
import { type ApiName, detectApi, isMessagesPath } from './api.ts';
import type { MiddlewareSettings } from './options.ts';

/** A middleware for Express 4 and 5, Connect, and bare Node; Koa passes it `ctx.req` and `ctx.res`. */
export type NodeMiddleware<Req extends NodeRequest = NodeRequest, Res extends ServerResponse = ServerResponse> = (
  req: Req,
  res: Res,
  next: (error?: unknown) => void,
) => void;

/**
 * The middleware of a host that states the type of its requests: it fits wherever a middleware does, as its framework
 * does not know what the host's earlier handlers make of a request.
 */
export type HostMiddleware<Req extends NodeRequest, Res extends ServerResponse = ServerResponse> = NodeMiddleware<
  Req,
  Res
> &
  NodeMiddleware;

/**
 * Creates a middleware that rewrites the body by the step of its API, and stores the context in `res.locals.turn`.
 * Errors for the client are answered in the API's envelope, the host's own go to `next`; other requests pass unchanged.
 */
export function asMiddleware(
  steps: Readonly<Partial<Record<ApiName, Prepare>>>,
  settings: MiddlewareSettings,
): NodeMiddleware {
  async function prepare(req: NodeRequest, res: ServerResponse): Promise<void> {
    const body = await requestBody(req, settings.limits, settings.scope);
    const api = requestApi(req, body, settings);
    const step = api && steps[api];
    if (!step) return;
    const request = toEndpointRequest(req, res, settings.scope);
    const limits = requestLimits(request, settings.limits);
    refuseMany(bodyFields(body, limits), limits);
    const { context, body: next } = await step(request, settings);
    if (next !== body) replaceBody(req, next);
    setTurnContext(res, {
      ...context,
      requestId: request.requestId,
      ...(settings.scope ? { scope: request.scope } : {}),
    });
  }

  return function preparationMiddleware(req, res, next) {
    prepare(req, res).then(
      () => next(),
      (error) => answerClientError(error, req, res, next, settings),
    );
  };
}

/** The API of this request, from the host's option or detected. */
export function requestApi(
  req: NodeRequest,
  body: unknown,
  { api }: Pick<MiddlewareSettings, 'api'>,
): ApiName | undefined {
  return detectApi(originalUrl(req), body, api);
}

/** The whole path, where a framework has cut off what it has matched. */
export function originalUrl(req: NodeRequest & { originalUrl?: string }): string | undefined {
  return req.originalUrl ?? req.url;
}

/** Answers a client error in the API's envelope; passes any other to the host. */
export function answerClientError(
  error: unknown,
  req: NodeRequest,
  res: ServerResponse,
  next: (error?: unknown) => void,
  settings: Pick<MiddlewareSettings, 'hooks'>,
): void {
  if (!(error instanceof ApiError)) return next(ownError(error));
  // The scope may be what failed, and errors do not need it.
  const request = toEndpointRequest(req, res, () => '');
  if (!req.readableEnded) discardRest(req, res);
  const envelopeOf = () => (isMessagesPath(originalUrl(req)) ? ANTHROPIC : undefined);
  respond(res, errorReplyTo(error, request, { ...settings, envelopeOf })).catch(next);
}
