/** One request as the core receives it, independent of any framework. */

import type { ObservedTurn } from '../../ports/hooks.ts';
import type { TurnContext } from '../../ports/turn-context.ts';
import { ApiError } from '../../protocol/errors.ts';

/** The argument of a handler. Header names are lower case. */
export interface EndpointRequest {
  readonly body: unknown;
  /** The body as it arrives, where the endpoint reads it itself. */
  readonly bytes?: AsyncIterable<Uint8Array> | undefined;
  /** The path's parameters, such as the response's `id`. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
  /** The tenant; see the `scope` option. */
  readonly scope: string;
  /** Sent as `x-request-id`. */
  readonly requestId: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /**
   * Aborts that signal with an `ApiError`: the turn then needs no signal of its own, each of which takes 5 µs and a
   * kilobyte.
   */
  readonly abort?: ((reason: ApiError) => void) | undefined;
  /** Whether the client has sent input for the running turn, which then ends before the next model call. */
  readonly isSteered?: (() => boolean) | undefined;
  /** Whether it goes on with the running turn's request and the client's input: a prompt's messages are in its history. */
  readonly isSteering?: boolean | undefined;
  /** Whether the client can answer calls of a response that still runs. */
  readonly isInjectable?: boolean | undefined;
  /** The host framework's own request, for its auth. */
  readonly request?: unknown;
  /** The client's request, where the body above was made from it. */
  readonly asSent?: ClientRequest | undefined;
  /** The preparation that the body has already had. */
  readonly context?: TurnContext | undefined;
  /** Closes the client's connection, if it does not read its answer. */
  readonly disconnect?: (() => void) | undefined;
}

/** A request in the words of the API that the client speaks. */
export type ClientRequest = Pick<ObservedTurn, 'api' | 'body'>;

/** A turn that the server stops has a reason that is reported to the client; a turn whose client left has none. */
export function hasLeft(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof ApiError);
}

/** The parameters of a query. A repeated name has a list, as in Express: SDKs write lists this way. */
export function queryFrom(params: URLSearchParams): EndpointRequest['query'] {
  const query: Record<string, string | string[]> = {};
  for (const [name, value] of params) {
    const before = Object.hasOwn(query, name) ? query[name] : undefined;
    if (before === undefined) query[name] = value;
    else if (typeof before === 'string') query[name] = [before, value];
    else before.push(value);
  }
  return query;
}

/** Headers in Node's form. */
export type NodeHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The same headers as a Web `Headers` object. */
export function headersFrom(source: NodeHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(source)) {
    // HTTP/2 has pseudo-headers such as `:path`, which the Web API rejects.
    if (value === undefined || name.startsWith(':')) continue;
    // Not only as typed: adapters of AWS Lambda make `content-length` a number.
    headers.set(name, Array.isArray(value) ? value.join(', ') : String(value));
  }
  return headers;
}
