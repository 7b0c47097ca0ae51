/** Handles an upgrade request: finds its tenant, and admits or refuses it. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { inspect } from 'node:util';
import { headersFrom } from '../../engine/request/endpoint-request.ts';
import { checkScope, defaultScope } from '../../ports/scope.ts';
import { ApiError, toApiError } from '../../protocol/errors.ts';
import { isRecord } from '../../protocol/record.ts';
import type { Reply } from '../../protocol/reply.ts';
import type { Refusal, WebSocketSettings } from './options.ts';

/** The path of the request, without its query. */
export function upgradePath({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}

/** Returns the scope of an admitted client, or the error to answer. Never rejects. */
export async function admit(
  request: IncomingMessage,
  { authorize, scope }: WebSocketSettings,
): Promise<string | ApiError> {
  try {
    const refusal = await authorize(request);
    if (refusal !== undefined) return toRefusalError(refusal);
    return scope ? checkScope(scope(request)) : defaultScope(headersFrom(request.headers));
  } catch (error) {
    return toApiError(error);
  }
}

function toRefusalError(refusal: Refusal): ApiError {
  if (!isRecord(refusal)) throw new TypeError(`authorize: must return nothing or a refusal, got ${inspect(refusal)}`);
  const { status, message } = refusal;
  if (!Number.isInteger(status) || status < 400 || status > 599)
    throw new TypeError(`authorize: status must be an HTTP status from 400, got ${inspect(status)}`);
  const type = status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error';
  return new ApiError('websocket_refused', String(message), { status, type });
}

/** Answers in HTTP on the bare socket, and closes it. */
export function writeReply(socket: Duplex, { status, headers, body }: Reply): void {
  // The cast: a refusal's body is text.
  const text = body as string;
  const all = { ...headers, connection: 'close', 'content-length': Buffer.byteLength(text) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy()).on('error', () => {});
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`);
}
