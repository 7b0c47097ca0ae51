/** One request as the core sees it, free of any framework. */

/** What a handler is given. Header names are lower case. */
export interface Call {
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
  /** The host framework's own request, for its auth. */
  readonly request?: unknown;
  /** Cuts the client off, where it does not read its answer. */
  readonly disconnect?: () => void;
}
