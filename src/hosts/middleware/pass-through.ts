/** Passes what this package does not serve itself on to the model server, with the host's key. */
import type { ServerResponse } from 'node:http';
import { noteReporter } from '../../apis/endpoint/prepare.ts';
import { headersFrom } from '../../engine/request/endpoint-request.ts';
import { attemptReporter } from '../../ports/hooks.ts';
import type { OptionCheck } from '../../ports/host/options-check.ts';
import { defaultScope } from '../../ports/scope.ts';
import type { PassedRequest, Upstream } from '../../ports/upstream.ts';
import { requestIdFrom } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/record.ts';
import { rememberRouter } from '../../server/openapi/described-routers.ts';
import { type BodyLimits, bodyErrors, isJsonType, isUnparsed, parseRead } from '../../server/requests/json-body.ts';
import { chatCompletionsUpstream } from '../../upstreams/chat-completions/chat-completions-upstream.ts';
import { discardRest } from '../node/discard-rest.ts';
import { hasBytes, readBytes, readJson, replaceBody } from '../node/node-body.ts';
import {
  departureController,
  type NodeRequest,
  type Remembered,
  setTurnContext,
  toEndpointRequest,
  turnContext,
} from '../node/node-request.ts';
import { respond } from '../node/respond.ts';
import { readBodyHead } from '../node/streamed-body.ts';
import { answerClientError, type HostMiddleware, type NodeMiddleware, originalUrl } from './as-middleware.ts';
import { areUnguardedPaths, guard } from './guard.ts';
import { type MiddlewareOptions, type MiddlewareSettings, middlewareSettings } from './options.ts';

/** What is passed on by default: nothing that stores or lists what others have stored under the host's key. */
export const PASSED_PATHS: readonly string[] = [
  'POST /embeddings',
  'POST /completions',
  'POST /moderations',
  'POST /images/generations',
  'POST /images/edits',
  'POST /images/variations',
  'POST /audio/speech',
  'POST /audio/transcriptions',
  'POST /audio/translations',
  'POST /rerank',
];

/** The model server, what is passed on to it, and the options of every middleware. */
export interface PassThroughOptions<Req extends NodeRequest = NodeRequest> extends Omit<MiddlewareOptions<Req>, 'api'> {
  /**
   * The paths that are passed on, below the mount point: `POST /embeddings`, `/batches` for every method, `/batches/*` for all below it.
   * What a server stores under the host's key is one account's for all tenants. Default: `PASSED_PATHS`.
   */
  readonly paths?: readonly string[] | undefined;
  /** Paths whose bodies guards let pass unread, such as `/v1/audio/transcriptions`, as for `guard`. Default: none, and uploads are refused where there are guards. */
  readonly unguardedPaths?: readonly string[] | undefined;
}

/** A segment of letters: no escapes and no dots alone, which another server could read as another path. */
const PATH = /^(?:(?:GET|POST|DELETE|PUT|PATCH) )?((?:\/[\w-][\w.~-]*)+)(\/\*)?$/;
const PLAIN = /^(?:\/[\w-][\w.~-]*)+$/;

const arePaths: OptionCheck = (value) =>
  (Array.isArray(value) && value.every((path) => typeof path === 'string' && PATH.test(path))) ||
  "a list of paths such as 'POST /embeddings' or '/batches/*'";

/** Those of a path without a method. Not `TRACE`, whose answer repeats the request with the host's key, nor `OPTIONS`, by which browsers ask the host. */
const PASSED_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH']);

/** What may be known of an answer; the model server's cookies, limits and organization are the host's. */
const ANSWER_HEADERS = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-disposition',
  'cache-control',
  'openai-processing-ms',
  'openai-version',
  'retry-after',
] as const;
/** What of the request describes its body. */
const BODY_HEADERS = ['content-type', 'content-length', 'content-encoding', 'accept'] as const;

/**
 * Everything else that a client asks of the base URL goes to the model server: embeddings, images, audio. JSON is held for retries and failover;
 * any other body, and every answer, streams, byte for byte. `scope`, `budget`, `guards` and limits hold; guards refuse what they cannot
 * read. Mount it behind the routers of this package; other paths continue to the host. Throws a `TypeError` for a bad option, or for an upstream
 * that passes nothing on.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { chatCompletionsUpstream, passThroughRouter, responsesRouter } from 'express-open-responses';
 *
 * const upstream = chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:8000/v1' });
 * express().use('/v1', responsesRouter({ upstream }), passThroughRouter({ upstream })).listen(3000);
 * ```
 */
export function passThroughRouter<Req extends NodeRequest = NodeRequest>(
  options: PassThroughOptions<Req> = {},
): HostMiddleware<Req> {
  const owner = 'passThroughRouter';
  const settings = middlewareSettings(owner, options, { paths: arePaths, unguardedPaths: areUnguardedPaths });
  const { paths = PASSED_PATHS, unguardedPaths, upstream = chatCompletionsUpstream(), ...others } = options;
  if (!upstream.pass) throw new TypeError(`${owner}: upstream must pass requests on, got '${upstream.name}'`);
  const patterns = paths.map((entry) => {
    const [method, path] = entry.startsWith('/') ? [undefined, entry] : entry.split(' ', 2);
    return { method, path: String(path) };
  });
  const isPassed = (method: string, path: string) =>
    patterns.some(
      ({ method: wanted, path: pattern }) =>
        (wanted === undefined ? PASSED_METHODS.has(method) : wanted === method) &&
        (pattern.endsWith('/*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern),
    );
  // The cast: a budget is its own middleware.
  const budget = settings.budget as (NodeMiddleware & typeof settings.budget) | undefined;
  const { budget: _, guards, ...shared } = others;
  const guarding: NodeMiddleware | undefined =
    guards && settings.guards && guard({ ...shared, guards, unguardedPaths });
  const before = [budget, guarding].filter((each) => each !== undefined);
  const isShared = before.length > 0 || settings.scope !== undefined;

  function passThrough(req: NodeRequest, res: ServerResponse, next: (error?: unknown) => void): void {
    const { url = '' } = req;
    const [path = ''] = url.split('?', 1);
    if (!PLAIN.test(path) || !isPassed(req.method ?? '', path)) return next();
    // Express 4 takes a second slash for the mount's own: what the host has at this path has not seen such a request.
    if (originalUrl(req)?.split('?', 1)[0]?.includes('//')) return next();
    const fail = (error: unknown) => answerClientError(error, req, res, next, settings);
    takeJsonBody(req, res, settings, isShared)
      .then((json) => {
        if (!json) discardRest(req, res);
        runInOrder(before, req, res, (error) => {
          if (error !== undefined) return next(error);
          passOn(req, res, { json, target: url, upstream, settings }).catch(fail);
        });
      })
      .catch(fail);
  }

  // A path without a method is for all: those of OpenAI's API are told. All below a path is one parameter.
  const routes = patterns.flatMap(({ method, path }) =>
    (method === undefined ? ['GET', 'POST', 'DELETE'] : [method]).map((each) => ({
      method: each,
      path: path.endsWith('*') ? `${path.slice(0, -1)}:path` : path,
    })),
  );
  const describe = async () => [(await import('./passed-paths.ts')).describePassed()];
  rememberRouter(passThrough, [{ routes, describe }]);
  return passThrough;
}

/** Runs the middlewares one after the other; an error, or an answer of theirs, ends it. */
function runInOrder(
  [first, ...rest]: readonly NodeMiddleware[],
  req: NodeRequest,
  res: ServerResponse,
  done: (error?: unknown) => void,
): void {
  if (!first) return done();
  first(req, res, (error) => (error === undefined ? runInOrder(rest, req, res, done) : done(error)));
}

/** A JSON body that is held. */
interface HeldJson {
  /** What was the request's `body` then; undefined where nobody else looks at it. */
  readonly source: unknown;
  readonly bytes: Uint8Array;
  /** What they say, which is read only where somebody asks for it. Throws `ApiError`. */
  readonly value: () => unknown;
}

/**
 * Reads a JSON body, or takes the one that the host has read; undefined for every other body, which stays unread. Only where others look at
 * it is it parsed and put on the request: each property that is added to a request of Express costs a kilobyte, which waits for a full collection
 * (docs/decisions/object-shapes.md). Throws `ApiError`.
 */
async function takeJsonBody(
  req: NodeRequest,
  res: ServerResponse,
  settings: MiddlewareSettings,
  isShared: boolean,
): Promise<HeldJson | undefined> {
  const { limits } = settings;
  if (settings.scope) {
    const { scope } = toEndpointRequest(req, res, settings.scope);
    setTurnContext(res, { ...turnContext(res), scope });
  }
  const { headers, body } = req;
  const { 'content-type': type, 'content-encoding': coding = 'identity', origin } = headers;
  const isJson = isJsonType(type, origin);
  // Of an empty body nothing has been read, though its end has come.
  const isRead = req.readableDidRead || req.readableEnded;
  if (body !== undefined && isRead && (isJson || isUnparsed(body))) return heldJson(body, limits);
  if (type === undefined || !isJson) return undefined;
  if (isShared) {
    const { bytes, value } = await readJson(req, limits, settings.scope);
    replaceBody(req, value);
    return { source: value, bytes, value: () => value };
  }
  // A coding that nobody here has to read is the model server's to read.
  if (coding !== 'identity') return undefined;
  const bytes = await readBytes(req, limits);
  return { source: undefined, bytes, value: () => parseRead(bytes, limits) };
}

/** A body that has been read, and parsed or not. */
function heldJson(body: unknown, limits: BodyLimits): HeldJson {
  if (!isUnparsed(body)) return { source: body, bytes: Buffer.from(JSON.stringify(body)), value: () => body };
  const bytes = Buffer.from(body);
  return { source: body, bytes, value: () => parseRead(bytes, limits) };
}

interface Passing {
  /** Undefined for a body that is not JSON. */
  readonly json: HeldJson | undefined;
  readonly target: string;
  readonly upstream: Upstream;
  readonly settings: MiddlewareSettings;
}

async function passOn(
  req: NodeRequest,
  res: ServerResponse,
  { json, target, upstream, settings }: Passing,
): Promise<void> {
  const { limits, hooks } = settings;
  const context = turnContext(res);
  const requestId = context.requestId ?? requestIdFrom(req.headers['x-request-id']);
  const headers = headersFrom(req.headers);
  headers.set('x-request-id', requestId);
  const scope = context.scope ?? defaultScope(headers);
  // Not those of the request, on which nothing is put: see `takeJsonBody`.
  const departure: Remembered = {};
  const { signal } = departureController(res, departure);
  const note = noteReporter({ requestId, scope }, settings);
  const call = { signal, headers, limits, note, onAttempt: attemptReporter(requestId, hooks) };
  // Guards put another body in the place of the one that was read.
  const held = json && req.body !== json.source ? heldJson(req.body, limits) : json;
  const request = held ? heldRequest(req, held, target) : await streamedRequest(req, target);
  // The cast: checked when the router was created.
  const answer = await (upstream as Upstream & Required<Pick<Upstream, 'pass'>>).pass(request, call);
  departure.left = undefined;
  const answerHeaders = headersNamed(answer.headers, ANSWER_HEADERS);
  await respond(res, {
    status: answer.status,
    headers: { ...answerHeaders, 'x-request-id': requestId },
    body: '',
    bytes: answer.body,
  });
}

/** Those of the headers that have one of the names. */
function headersNamed(
  headers: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const named: Record<string, string> = {};
  for (const name of names) if (headers[name] !== undefined) named[name] = String(headers[name]);
  return named;
}

function heldRequest(req: NodeRequest, { bytes, value }: HeldJson, path: string): PassedRequest {
  const { 'content-length': _, 'content-encoding': __, ...headers } = headersNamed(req.headers, BODY_HEADERS);
  return {
    ...{ method: req.method ?? 'GET', path, headers, body: bytes },
    readModel() {
      const body = value();
      return isRecord(body) && typeof body.model === 'string' ? body.model : '';
    },
    renamed(model) {
      const body = value();
      return Buffer.from(JSON.stringify({ ...(isRecord(body) ? body : {}), model }));
    },
  };
}

async function streamedRequest(req: NodeRequest, path: string): Promise<PassedRequest> {
  const { method = 'GET' } = req;
  const headers = headersNamed(req.headers, BODY_HEADERS);
  if (!hasBytes(req)) return { method, path, headers, readModel: () => '' };
  if (req.readableDidRead) throw bodyErrors.otherType();
  const { model, content } = await readBodyHead(req, req.headers['content-type'] ?? '');
  return { method, path, headers, body: content, readModel: () => model };
}
