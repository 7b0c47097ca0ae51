/** The behaviour that all endpoints share: errors in the envelope, calls of hooks, and the request's id on every answer. */

import { type EndpointRequest, hasLeft } from '../../engine/request/endpoint-request.ts';
import type { Dialect } from '../../ports/dialect.ts';
import { notify, type Reports, reportInfo } from '../../ports/hooks.ts';
import { HostError, ownError } from '../../ports/host/host-error.ts';
import { type ApiError, toApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { errorReply, type JsonReply, type Reply, serializedReply } from '../../protocol/reply.ts';

/**
 * One endpoint. It answers errors itself; it throws only if the client has left, or the errors of the host's own
 * functions.
 */
export type Endpoint = (request: EndpointRequest) => Promise<Reply>;

/** The parts that surround every endpoint. */
export interface EndpointSettings {
  readonly hooks: Reports;
  /** The dialect of a client; `request` is the host framework's own. */
  readonly dialectOf: (request: unknown) => Dialect;
  /** The envelope of an API whose errors are not OpenAI's. */
  readonly envelopeOf?: ((request: EndpointRequest) => Envelope | undefined) | undefined;
}

/** How an API writes its errors, and names the request's id. */
export interface Envelope {
  readonly error: (error: ApiError, requestId: string) => JsonObject;
  /** A header besides `x-request-id`; undefined for none. */
  readonly idHeader?: string | undefined;
}

/** Answers one request. Throws `ApiError` for errors that are sent to the client with a status. */
export type Handler = (request: EndpointRequest) => Promise<Reply | JsonReply>;

/** The endpoint of a handler: it answers errors, applies the dialect, and adds the request's id to the answer. */
export function endpointFor(handler: Handler, settings: EndpointSettings): Endpoint {
  return async (request) => {
    const reply = await handler(request).catch((error: unknown) => {
      if (hasLeft(request.signal) || error instanceof HostError) throw ownError(error);
      return errorReplyIn(reportError(error, request, settings), request, settings);
    });
    return finished(reply, request, settings);
  };
}

function errorReplyIn(
  error: ApiError,
  request: EndpointRequest,
  { envelopeOf }: Pick<EndpointSettings, 'envelopeOf'>,
): JsonReply {
  const reply = errorReply(error);
  const envelope = envelopeOf?.(request);
  return envelope ? { ...reply, json: envelope.error(error, request.requestId) } : reply;
}

/** The answer in the client's dialect, with the request's id. */
function finished(reply: Reply | JsonReply, request: EndpointRequest, settings: EndpointSettings): Reply {
  const envelope = settings.envelopeOf?.(request);
  if (envelope) return withRequestId(serializedReply(reply), request, envelope.idHeader);
  // The events of a stream are in it already, and would never end if the host's function threw.
  return withRequestId(
    'json' in reply ? serializedReply(inDialect(reply, dialectIn(request, settings))) : reply,
    request,
  );
}

function dialectIn({ request }: EndpointRequest, { dialectOf }: EndpointSettings): Dialect {
  try {
    return dialectOf(request);
  } catch (error) {
    throw ownError(error);
  }
}

/** Encodes JSON in the dialect. */
function inDialect(reply: JsonReply, { resource, errorBody }: Dialect): JsonReply {
  const { json } = reply;
  if (!isRecord(json)) return reply;
  // A failed response has an error of its own.
  if (json.object === 'response') return resource ? { ...reply, json: resource(json) } : reply;
  // The cast: every error answer is in the envelope.
  return errorBody && isRecord(json.error) ? { ...reply, json: { error: errorBody(json.error as never) } } : reply;
}

/** Reports an error to the host; returns the error that the client receives. */
export function reportError(
  error: unknown,
  request: Pick<EndpointRequest, 'requestId' | 'scope'>,
  { hooks }: { readonly hooks: Reports },
): ApiError {
  const shown = toApiError(error);
  notify(hooks, 'onError', shown, reportInfo(request, shown.responseId));
  return shown;
}

/** Answers an error in the envelope, and reports it to the host. */
export function errorReplyTo(
  error: unknown,
  request: EndpointRequest,
  settings: Pick<EndpointSettings, 'hooks' | 'envelopeOf'>,
): Reply {
  const reply = errorReplyIn(reportError(error, request, settings), request, settings);
  return withRequestId(serializedReply(reply), request, settings.envelopeOf?.(request)?.idHeader);
}

/** Adds the request's id to every answer. */
export function withRequestId(reply: Reply, { requestId }: EndpointRequest, also?: string): Reply {
  const ids = also === undefined ? { 'x-request-id': requestId } : { 'x-request-id': requestId, [also]: requestId };
  return { ...reply, headers: Object.assign({}, reply.headers, ids) };
}

/**
 * Answers a request that no other endpoint may see. It is reported to the host even if the client, whose body broke
 * off, has left.
 */
export function refusalEndpoint(error: ApiError, settings: EndpointSettings): Endpoint {
  return async (request) => {
    const shown = reportError(error, request, settings);
    if (hasLeft(request.signal)) throw shown;
    return finished(errorReplyIn(shown, request, settings), request, settings);
  };
}

/** The client's headers, with the request's id even if the client sent none. */
export function passedHeaders({ headers, requestId }: EndpointRequest): Headers {
  if (headers.get('x-request-id') === requestId) return headers;
  const passed = new Headers(headers);
  passed.set('x-request-id', requestId);
  return passed;
}
