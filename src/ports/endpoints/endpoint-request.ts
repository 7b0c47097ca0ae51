/** One request as the core sees it, free of any framework. */
import { ApiError } from '../../protocol/errors.ts';
import type { TurnContext } from '../turn-context.ts';

/** What a handler is given. Header names are lower case. */
export interface EndpointRequest {
  readonly body: unknown;
  /** What the path names, such as the response's `id`. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
  /** The tenant; see the `scope` option. */
  readonly scope: string;
  /** Goes out as `x-request-id`. */
  readonly requestId: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Aborts that signal with an `ApiError`: the turn needs no other then, of which each takes 5 µs and a kilobyte. */
  readonly abort?: ((reason: ApiError) => void) | undefined;
  /** The host framework's own request, for its auth. */
  readonly request?: unknown;
  /** What has been done to the body already. */
  readonly context?: TurnContext | undefined;
  /** Cuts the client off, where it does not read its answer. */
  readonly disconnect?: (() => void) | undefined;
}

/** A turn that is stopped by the server has a reason that the client is told; a client that left has none. */
export function hasLeft(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof ApiError);
}

/** Headers as Node has them. */
export type NodeHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The same headers as the Web has them. */
export function headersFrom(given: NodeHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    // HTTP/2 has pseudo-headers such as `:path`, which are no headers to the Web.
    if (value === undefined || name.startsWith(':')) continue;
    headers.set(name, typeof value === 'string' ? value : value.join(', '));
  }
  return headers;
}
