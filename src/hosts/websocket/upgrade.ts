/** Handles an upgrade request: finds its tenant, and admits or refuses it. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { headersFrom } from '../../engine/request/endpoint-request.ts';
import { markRequest } from '../../engine/request/request-via.ts';
import { type Refusal, readAdmission } from '../../ports/host/admission.ts';
import { defaultScope } from '../../ports/scope.ts';
import { ApiError, toApiError } from '../../protocol/errors.ts';
import type { Reply } from '../../protocol/reply.ts';
import type { WebSocketRequest } from '../node/host-requests.ts';
import type { WebSocketSettings } from './options.ts';

/** Returns the scope of an admitted client, or the error to answer. Never rejects. */
export async function admit(
  request: IncomingMessage,
  { authorize, apis, warnOfTenant }: Pick<WebSocketSettings, 'authorize' | 'apis' | 'warnOfTenant'>,
): Promise<string | ApiError> {
  markRequest(request, 'websocket');
  try {
    // The cast: it says so since the line before.
    const admission = readAdmission(await authorize(request as WebSocketRequest));
    if ('status' in admission) return refusalError(admission);
    if (admission.scope !== undefined) {
      if (apis && !apis.hasScope) warnOfTenant();
      return admission.scope;
    }
    // The digest of a key would be another tenant than the one whom the host names over HTTP.
    if (apis?.hasScope)
      throw new TypeError('authorize: must return { scope }, because openResponses has a scope, got true');
    return defaultScope(headersFrom(request.headers));
  } catch (error) {
    return toApiError(error);
  }
}

function refusalError({ status, message }: Refusal): ApiError {
  const type = status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error';
  return new ApiError('websocket_refused', message, { status, type });
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
