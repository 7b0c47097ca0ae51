/** The requests that the functions of a host receive, told apart by how they came. */
import type { IncomingMessage } from 'node:http';
import type { RestoredRequest } from '../../apis/background/stored-request.ts';

/** The upgrade request of the WebSocket over which a request came. */
export interface WebSocketRequest extends IncomingMessage {
  /** Tells it from the framework's own request and from a `RestoredRequest`. */
  readonly via: 'websocket';
}

/**
 * What `tools`, `approval`, `dialect` and the other functions of `openResponses` receive: the framework's own request, the upgrade
 * request of a WebSocket, or what is left of a request that another process began. `via` tells which; all have `headers`.
 */
export type AnyRequest<Req> = (Req & { readonly via: 'http' }) | WebSocketRequest | RestoredRequest;
