/** A request as its response's log holds it, for another process that goes on. */
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { Sealer } from '../../ports/sealer.ts';
import type { ResponseKey } from '../../ports/store.ts';
import type { Preparation } from '../../ports/turn-context.ts';
import { idSeed } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/record.ts';

/** The version of the format. */
const VERSION = 1;
/** Binds the seal to this use of the key. */
const SEAL_PURPOSE = 'request in the background';

/**
 * The request that a host's functions, such as `tools` and `dialect`, receive in a process that continues a response, and
 * for a line of a batch: the framework's own request is gone.
 */
export interface RestoredRequest {
  /** Tells it from a framework's own request. */
  readonly via: 'restored';
  /** The HTTP method. */
  readonly method: 'POST';
  /** The path below the router: `/responses`, or that of a batch's line. */
  readonly url: string;
  /** The headers of the original request; names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON body of the original request. */
  readonly body: unknown;
}

/** The request as text, sealed: its headers and its tools may hold credentials. */
export function requestText(
  request: EndpointRequest,
  { id, approved, prompt }: Pick<ResponseKey, 'id'> & Preparation,
  sealer: Sealer,
): string {
  const { body, headers, requestId, scope, context } = request;
  const isGuarded = context?.guards !== undefined;
  const sent = { requestId, headers: Object.fromEntries(headers), body };
  return sealer.seal({ version: VERSION, ...sent, isGuarded, approved, prompt }, [SEAL_PURPOSE, scope, id]);
}

/** The request in the text, without a signal. Throws an error with the reason why it cannot be read. */
export function requestIn(text: string, key: ResponseKey, sealer: Sealer): Omit<EndpointRequest, 'signal'> {
  const stored = sealer.open(text, [SEAL_PURPOSE, key.scope, key.id]);
  if (!isRecord(stored)) throw new Error('The request of the response cannot be opened: is secret the same?');
  const { version, body, headers, requestId, isGuarded } = stored;
  if (version !== VERSION) throw new Error('The request of the response is of another version of this package.');
  // No middleware stands in front of what another process began: without its guards nothing may go on.
  if (isGuarded) throw new Error('The response was guarded by a middleware: give its guards to the router instead.');
  // The casts: only `requestText` seals requests.
  const names = headers as RestoredRequest['headers'];
  const { approved, prompt } = stored as Preparation;
  const request: RestoredRequest = { via: 'restored', method: 'POST', url: '/responses', headers: names, body };
  return {
    body,
    params: {},
    query: {},
    headers: new Headers(names),
    scope: key.scope,
    requestId: String(requestId),
    request,
    context: { seed: idSeed(key.id), ...(approved ? { approved } : {}), ...(prompt ? { prompt } : {}) },
  };
}
