/** Closes what a host has handed over, and its HTTP server. */

/** How long the last connections may stay open, in milliseconds: a browser opens some on which it never sends a request. */
const LINGER_MS = 1000;

/** An HTTP server, as Node has it. */
export interface ClosableServer {
  /** Accepts no more connections; the function is called when the last one has ended, or if it does not listen. */
  close?(done: () => void): unknown;
  /** Ends the connections on which no request runs. */
  closeIdleConnections?(): void;
  /** Ends all connections. */
  closeAllConnections?(): void;
}

/** Resolves when the server has no connection left. */
export async function closeServer(server: ClosableServer): Promise<void> {
  if (!server.close) return;
  const closed = new Promise<void>((resolve) => server.close?.(() => resolve()));
  server.closeIdleConnections?.();
  const cut = setTimeout(() => server.closeAllConnections?.(), LINGER_MS);
  await closed;
  clearTimeout(cut);
}

/** Closes each part that has a `close`, once; rejects with what failed when all have been closed. */
export async function closeParts(parts: readonly unknown[]): Promise<void> {
  const closed = await Promise.allSettled(
    [...new Set(parts)].map(async (part) => {
      // The cast: any object or function may have the method.
      const { close } = Object(part) as { readonly close?: unknown };
      if (typeof close === 'function') await close.call(part);
    }),
  );
  const failures = closed.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} parts could not be closed.`);
  if (failures.length === 1) throw failures[0];
}
