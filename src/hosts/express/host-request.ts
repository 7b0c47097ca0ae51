/** The request of Express, as the functions of the host receive it. */
import type { Request } from 'express';

/** A request that came through a router of Express. */
export interface HostRequest extends Request {
  /** Tells it from a `WebSocketRequest` and a `RestoredRequest`. */
  readonly via: 'http';
}
