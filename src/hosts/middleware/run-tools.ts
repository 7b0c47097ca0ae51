/** Runs the server's own tools behind another Chat Completions handler. */
import type { ServerResponse } from 'node:http';
import type { ChatSettings } from '../../apis/chat-completions/chat-request.ts';
import { createChatCompletion } from '../../apis/chat-completions/create.ts';
import { prepareChatTools } from '../../apis/chat-completions/request/prepare-tools.ts';
import { errorReplyTo, withRequestId } from '../../apis/endpoint/endpoint.ts';
import type { Activity, DrainOptions } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { Reply } from '../../protocol/reply.ts';
import { truncatedError } from '../../protocol/secrets/scrub.ts';
import { type RouterStatus, statusReader } from '../../server/status.ts';
import { type AnyNodeHandler, HandlerFailed, type NodeHandler } from '../node/handler-answer.ts';
import { replaceBody, requestBody } from '../node/node-body.ts';
import { isClosed, type NodeRequest, setTurnContext, toEndpointRequest } from '../node/node-request.ts';
import { respond } from '../node/respond.ts';
import { answerClientError, type HostMiddleware, requestApi } from './as-middleware.ts';
import { type HandlerChat, handlerChat } from './handler-chat.ts';
import { type MiddlewareOptions, type MiddlewareSettings, middlewareSettings } from './options.ts';

/** The source of model answers: a handler of the host, or an upstream. */
export interface RunToolsOptions<Req extends NodeRequest = NodeRequest, Res extends ServerResponse = ServerResponse>
  extends MiddlewareOptions<Req> {
  /** The host's own Chat Completions handler: called once for each model call, with the client's request. Default: the `upstream`. */
  readonly handler?: NodeHandler<Req, Res> | undefined;
}

/** A middleware that can be shut down, and asked how it is. */
export type DrainableMiddleware<Req extends NodeRequest, Res extends ServerResponse = ServerResponse> = HostMiddleware<
  Req,
  Res
> & {
  /** Refuses new requests with 503 and resolves when every running answer has ended; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
  /** What works, as of a router. It never rejects. */
  status(): Promise<RouterStatus>;
};

/**
 * Answers chat completions: calls of the `tools` run here and the model is called again, everything else is the
 * handler's own answer. A request without such tools goes straight to the handler, as do other
 * requests. Throws a `TypeError` for a bad option, or without `handler` and `upstream`.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { chatCompletionsUpstream, functionTools, runTools } from 'express-open-responses';
 *
 * const tools = functionTools({ now: { execute: () => new Date().toISOString() } });
 * const upstream = chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:8000/v1' });
 * express().post('/v1/chat/completions', express.json(), runTools({ tools, upstream }));
 * ```
 */
export function runTools<Req extends NodeRequest = NodeRequest, Res extends ServerResponse = ServerResponse>(
  options: RunToolsOptions<Req, Res>,
): DrainableMiddleware<Req, Res> {
  const handlerCheck = (value: unknown) => typeof value === 'function' || 'a function';
  const settings = middlewareSettings('runTools', options, { handler: handlerCheck });
  const { handler, upstream } = options;
  if (!handler && !upstream?.chat) throw new TypeError('runTools: handler or upstream is required, got neither');
  const { turns } = settings;

  function runToolsMiddleware(req: NodeRequest, res: ServerResponse, next: (error?: unknown) => void): void {
    // The cast: the handler accepts the framework's own objects.
    const pass = () => (handler ? handler(req as never, res as never, next) : next());
    const fail = (error: unknown) => answerClientError(error, req, res, next, settings);
    runServerTools(req, res, { handler, upstream, settings, turns, pass, fail }).catch((error: unknown) => {
      if (isClosed(res)) return;
      if (error instanceof HandlerFailed) return next(error.cause);
      fail(error);
    });
  }

  const model = upstream ?? { name: 'handler' };
  const running = () => ({ inFlight: turns.running, background: 0, waiting: turns.waiting });
  return Object.assign(runToolsMiddleware, {
    drain: (drainOptions?: DrainOptions) => turns.drain(drainOptions),
    status: statusReader({ ...settings, upstream: model }, running),
  });
}

interface ToolRun {
  readonly handler: AnyNodeHandler | undefined;
  readonly upstream: Upstream | undefined;
  readonly settings: MiddlewareSettings;
  readonly turns: Activity;
  readonly pass: () => unknown;
  readonly fail: (error: unknown) => void;
}

async function runServerTools(req: NodeRequest, res: ServerResponse, run: ToolRun): Promise<void> {
  const { handler, settings, pass, fail } = run;
  const body = await requestBody(req, settings.limits, settings.scope);
  if (requestApi(req, body, settings) !== 'chat-completions') return void (await pass());
  const request = await prepareChatTools(toEndpointRequest(req, res, settings.scope), settings);
  if (request.context?.tools?.toolset.size === 0) return void (await pass());
  setTurnContext(res, { ...request.context, handled: true });
  const chat = handler && handlerChat(handler, req, res);
  const reply = await answerChat(request, run, chat);
  const { body: modelBody } = req;
  // Middlewares in front read the client's own body when the head is written.
  replaceBody(req, request.body);
  const sent = respond(res, withRequestId({ ...reply, headers: { ...chat?.headers, ...reply.headers } }, request));
  // A stream that was opened before the handler has answered: it may read its body only now.
  if (chat && !chat.hasAnswered) replaceBody(req, modelBody);
  await sent.catch(fail);
}

/** A refusal of the handler is answered with its own body. */
async function answerChat(
  request: EndpointRequest,
  { settings, turns, upstream }: ToolRun,
  chat: HandlerChat | undefined,
): Promise<Reply> {
  // The cast: one of both can chat, which was checked at the start.
  const model = (
    chat ? { name: 'handler', chat: chat.chat, redact: truncatedError } : upstream
  ) as ChatSettings['upstream'];
  try {
    // Whoever serves stored completions behind a handler is the one that it asks.
    const leavesStoring = chat !== undefined;
    return await createChatCompletion(request, { ...settings, upstream: model, leavesStoring }, turns);
  } catch (error) {
    if (chat?.failure) throw chat.failure;
    if (chat?.refusal) return chat.refusal;
    if (error instanceof ApiError) return errorReplyTo(error, request, settings);
    throw error;
  }
}
