/** Guards what goes into the handler behind it, and what comes out. */

import type { ServerResponse } from 'node:http';
import { posix } from 'node:path';
import { refuseMany, requestLimits } from '../../apis/endpoint/request-limits.ts';
import type { GuardSettings } from '../../engine/guarding/guard/settings.ts';
import { bodyForModel, guardBody } from '../../engine/guarding/request/guarded-body.ts';
import { type GuardSession, guardSession, RequestGuards } from '../../engine/guarding/request/request-guards.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { GuardOptions } from '../../ports/guard.ts';
import type { OptionCheck } from '../../ports/host/options-check.ts';
import type { LoadedHistory } from '../../ports/turn-context.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { isRecord } from '../../protocol/record.ts';
import { readWholeBody } from '../node/node-body.ts';
import { type NodeRequest, setTurnContext, toEndpointRequest } from '../node/node-request.ts';
import { type ApiName, lenientPath, textApi } from './api.ts';
import { answerClientError, type HostMiddleware, originalUrl } from './as-middleware.ts';
import { guardAnswer } from './guard-answer.ts';
import { type MiddlewareOptions, type MiddlewareSettings, middlewareSettings } from './options.ts';

/** The guards, and the options of every middleware. */
export interface GuardMiddlewareOptions<Req extends NodeRequest = NodeRequest>
  extends Omit<MiddlewareOptions<Req>, 'guards'> {
  /** What may go in and come out: lists of guards, one guard at least; those of `tools` are for a router behind it. */
  readonly guards: GuardOptions<Req>;
  /**
   * The paths whose requests and answers pass unread, such as `/v1/files`, with all below them where they end in `/*`. They
   * count in these letters alone, where the client and the handler see the same path. Default: none.
   */
  readonly unguardedPaths?: readonly string[] | undefined;
}

/**
 * Runs guards over the requests and answers of the handler behind it, in any of the APIs, streamed or not: `input` sees what
 * is new in a request, `output` the answer. A router of this package behind it runs `output` and `tools` itself, so that
 * it stores what it shows. What it cannot read does not pass: a body that is not JSON is refused with
 * `unsupported_media_type`, whatever the path is called, unless `unguardedPaths` has it. The handler is not offered to
 * compress its answers; one that it compresses all the same is broken off. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import express, { type RequestHandler } from 'express';
 * import { guard } from 'express-open-responses';
 * import { pii } from 'express-open-responses/guards';
 *
 * declare const proxy: RequestHandler;
 * express().post('/v1/chat/completions', express.json(), guard({ guards: { input: [pii()], output: [pii()] } }), proxy);
 * ```
 */
export function guard<Req extends NodeRequest = NodeRequest>(
  options: GuardMiddlewareOptions<Req>,
): HostMiddleware<Req> {
  const settings = middlewareSettings('guard', options, { unguardedPaths: areUnguardedPaths });
  const { unguardedPaths = [] } = options;
  const { guards } = settings;
  if (!guards) throw new TypeError('guard: guards must have a guard in one of input, output and tools, got none');
  return function guardMiddleware(req, res, next) {
    if (isUnguardedPath(req, unguardedPaths)) return next();
    guardRequest(req, res, guards, settings).then(
      () => next(),
      (error) => answerClientError(error, req, res, next, settings),
    );
  };
}

/** Nothing that another reader of the path could take for something else, such as an escape or two dots. */
const PLAIN_PATH = /^(\/[\w-][\w.~-]*)+(\/\*)?$/;

/** The paths that pass unread. */
export const areUnguardedPaths: OptionCheck = (value) =>
  (Array.isArray(value) && value.every((path) => typeof path === 'string' && PLAIN_PATH.test(path))) ||
  "a list of paths that begin with '/', of plain letters, with '/*' at most at their end";

/** Whether the host lets the request pass unread. The path is the one that the client wrote and that the handler sees. */
function isUnguardedPath(req: NodeRequest, unguarded: readonly string[]): boolean {
  if (unguarded.length === 0) return false;
  const [written = ''] = (originalUrl(req) ?? '').split('?', 1);
  const [seen = ''] = (req.url ?? '').split('?', 1);
  if (!PLAIN_PATH.test(written) || !(written.endsWith(seen) || seen === '/')) return false;
  return unguarded.some((path) =>
    path.endsWith('/*') ? written.startsWith(path.slice(0, -1)) && written.length >= path.length : written === path,
  );
}

async function guardRequest(
  req: NodeRequest,
  res: ServerResponse,
  guards: GuardSettings,
  settings: MiddlewareSettings,
): Promise<void> {
  const body = await readWholeBody(req, settings.limits, settings.scope);
  if (!body) return guardStoredAnswer(req, res, guards, settings);
  const { value } = body;
  const api = settings.api ?? textApi(originalUrl(req), value) ?? 'responses';
  const request = toEndpointRequest(req, res, settings.scope);
  const limits = requestLimits(request, settings.limits);
  const fields = bodyFields({ body: value }, limits);
  if (isRecord(value)) refuseMany(value, limits);
  const session = guardSession(guards, request, settings.hooks, false);
  const { body: next, history } = await guardRequestBody(fields.body, api, session, request);
  if (next !== value || req.body !== value) body.replace(next);
  const { context = {}, requestId, scope } = request;
  const sessions = [{ ...session, isInputDone: true }, ...(context.guards ?? [])];
  const known = { ...context, ...(history ? { history } : {}), requestId, ...(settings.scope ? { scope } : {}) };
  setTurnContext(res, { ...known, guards: sessions });
  guardAnswer(req, res, { api, session, request, settings });
}

/** Where a handler shows what it has stored: answers as the model wrote them, and files that may hold such answers in lines. */
const STORED: readonly (readonly [pattern: RegExp, api: ApiName, hasLines?: true])[] = [
  [/\/responses\/[^/]+(?:\/(?:input_items|cancel))?$/, 'responses'],
  [/\/conversations\/[^/]+\/items(?:\/[^/]+)?$/, 'responses'],
  [/\/chat\/completions(?:\/[^/]+(?:\/messages)?)?$/, 'chat-completions'],
  [/\/files\/[^/]+\/content$/, 'responses', true],
  [/\/messages\/batches\/[^/]+\/results$/, 'messages', true],
];

/** Requests without a body. */
function guardStoredAnswer(
  req: NodeRequest,
  res: ServerResponse,
  guards: GuardSettings,
  settings: MiddlewareSettings,
): void {
  const path = lenientPath(originalUrl(req));
  // Some handlers follow dots, and others take them for names.
  const followed = posix.normalize(`${path}/`).slice(0, -1);
  const [, api, hasLines] = STORED.find(([pattern]) => pattern.test(path) || pattern.test(followed)) ?? [];
  if (!api || guards.output.length === 0) return;
  const request = toEndpointRequest(req, res, settings.scope);
  const session = guardSession(guards, request, settings.hooks, false);
  guardAnswer(req, res, { api, session, request, settings, hasLines });
}

interface BodyWithHistory {
  readonly body: unknown;
  readonly history: LoadedHistory | undefined;
}

/** With placeholders, which a router behind it takes back: it needs the values in its store. */
async function guardRequestBody(
  body: unknown,
  api: ApiName,
  session: GuardSession,
  { context }: EndpointRequest,
): Promise<BodyWithHistory> {
  const guards = new RequestGuards([session]);
  const history = context?.history;
  const known = new Set(history?.loaded);
  const inputBody = await guardBody(body, guards, known);
  if (!guards.restores) return { body: inputBody, history };
  const modelBody = await bodyForModel(inputBody, guards);
  const list = api === 'responses' ? 'input' : 'messages';
  const before = isRecord(inputBody) ? inputBody[list] : undefined;
  const after = isRecord(modelBody) ? modelBody[list] : undefined;
  const loaded =
    Array.isArray(before) && Array.isArray(after) ? after.filter((_, at) => known.has(before[at])) : [...known];
  return { body: modelBody, history: history && { ...history, loaded } };
}
