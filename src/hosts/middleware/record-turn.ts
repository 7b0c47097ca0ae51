/** Stores the answers of another handler, so that `loadHistory` can load them. */
import type { ServerResponse } from 'node:http';
import { completionReader } from '../../apis/chat-completions/request/record.ts';
import type { AnswerReader } from '../../apis/endpoint/answer-reader.ts';
import { responseReader } from '../../apis/responses/record.ts';
import { putForeignTurn } from '../../engine/history/repeated-ids.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { notify, reportInfo } from '../../ports/hooks.ts';
import { OneAtATime } from '../../ports/queues/one-at-a-time.ts';
import { type StoredResponse, storeKey } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord } from '../../protocol/record.ts';
import { watchAnswer } from '../node/answer-watch.ts';
import { type AnswerHead, type Layer, onHead } from '../node/event-stream.ts';
import { holdEnd } from '../node/held-answer.ts';
import { requestBody } from '../node/node-body.ts';
import { type NodeRequest, setTurnContext, toEndpointRequest, turnContext } from '../node/node-request.ts';
import type { ApiName } from './api.ts';
import { answerClientError, type HostMiddleware, requestApi } from './as-middleware.ts';
import { type MiddlewareOptions, type MiddlewareSettings, middlewareSettings } from './options.ts';

/**
 * Stores each completed or incomplete turn of the handler behind it, streamed or not, under the id of its own answer and
 * the request's tenant, before the answer's end is sent. Skips `store: false`, failures and compressed answers. An error
 * of the store goes to `hooks.onError` and does not affect the answer. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import express, { type RequestHandler } from 'express';
 * import { memoryStore, recordTurn } from 'express-open-responses';
 *
 * declare const proxy: RequestHandler;
 * express().post('/v1/responses', express.json(), recordTurn({ store: memoryStore() }), proxy);
 * ```
 */
export function recordTurn<Req extends NodeRequest = NodeRequest>(
  options: MiddlewareOptions<Req> = {},
): HostMiddleware<Req> {
  const settings = middlewareSettings('recordTurn', options);
  const writes = new OneAtATime();
  return function recordTurnMiddleware(req, res, next) {
    readRecordedRequest(req, res, settings).then(
      (request) => {
        if (request) onHead(res, (head, layer) => watchTurn(head, layer, request, res, { ...settings, writes }));
        next();
      },
      (error) => answerClientError(error, req, res, next, settings),
    );
  };
}

interface RecordSettings extends MiddlewareSettings {
  /** Of two turns with one id the second must find the first. */
  readonly writes: OneAtATime;
}

/** A request whose turn is recorded. */
interface RecordedRequest {
  readonly api: Exclude<ApiName, 'messages'>;
  /** As the client sent it: proxies replace its credentials, its id and its path on their way to the model server. */
  readonly apiRequest: EndpointRequest;
  /** The body after later middlewares have changed it. */
  readonly bodyNow: () => unknown;
}

/** Undefined if nothing is stored. The host's function may throw, so it is called now and not mid-answer. */
async function readRecordedRequest(
  req: NodeRequest,
  res: ServerResponse,
  settings: MiddlewareSettings,
): Promise<RecordedRequest | undefined> {
  const body = await requestBody(req, settings.limits, settings.scope);
  const api = requestApi(req, body, settings);
  if (!api || api === 'messages') return undefined;
  const request = toEndpointRequest(req, res, settings.scope);
  if (isStoreFalse(body)) return undefined;
  setTurnContext(res, { ...turnContext(res), recorded: true });
  return { api, apiRequest: request, bodyNow: () => req.body };
}

function isStoreFalse(body: unknown): boolean {
  return isRecord(body) && body.store === false;
}

/** By now the body is the one that the handler received. */
function watchTurn(
  head: AnswerHead,
  layer: Layer,
  { api, apiRequest, bodyNow }: RecordedRequest,
  res: ServerResponse,
  settings: RecordSettings,
): void {
  if (head.status !== 200) return;
  const body = bodyNow();
  if (!isRecord(body) || isStoreFalse(body)) return;
  const context = turnContext(res);
  // Our Responses router stores its turns itself.
  if (api === 'responses' && context.handled) return;
  const call = { ...apiRequest, body, context };
  const reader = api === 'responses' ? responseReader(call, settings.limits) : completionReader(call, settings);
  if (!reader) return;
  const { requestId, scope } = apiRequest;
  const settle = () => storeTurn(reader, { requestId: turnContext(res).requestId ?? requestId, scope }, settings);
  const watch = watchAnswer(head, reader, settings.limits, settle);
  if (watch) holdEnd(res, watch, layer);
}

async function storeTurn(
  reader: AnswerReader,
  request: Pick<EndpointRequest, 'requestId' | 'scope'>,
  { store, hooks, writes }: RecordSettings,
): Promise<void> {
  let turn: StoredResponse | undefined;
  try {
    const answered = reader.turn();
    turn = answered;
    if (!answered) return;
    const isFound = await writes.run(storeKey(answered), () => putForeignTurn(store, answered));
    if (!isFound) notify(hooks, 'onNote', ID_REPEATED, reportInfo(request, answered.id));
  } catch (error) {
    const apiError =
      error instanceof ApiError ? error : new ApiError('server_error', 'The turn could not be read.', { cause: error });
    notify(hooks, 'onError', apiError, reportInfo(request, turn?.id));
  }
}

const ID_REPEATED: Note = {
  code: 'id_repeated',
  message: 'The model server gives several answers the same id. Conversations cannot be continued by it.',
};
