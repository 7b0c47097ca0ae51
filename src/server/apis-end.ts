/** How all APIs end together: drained, and then closed with what they were given. */
import type { OpenApi } from '../apis/endpoint/api.ts';
import type { DrainOptions } from '../engine/request/activity.ts';
import { checkOptions, isObject, type OptionCheck } from '../ports/host/options-check.ts';
import type { ApisOptions } from './apis-options.ts';
import { type ClosableServer, closeParts, closeServer } from './close-parts.ts';

/** The host's options for the end. */
export interface CloseOptions extends DrainOptions {
  /** The host's HTTP server: it is closed when nothing runs any more, and its last connections a second later. Default: none. */
  readonly server?: ClosableServer;
}

const CLOSE_CHECKS: Readonly<Record<keyof CloseOptions, OptionCheck>> = {
  timeoutMs: (value) => (typeof value === 'number' && value >= 0) || 'a number of milliseconds',
  server: isObject,
};

/** Throws a `TypeError` for bad options, such as a server in their place, which would go on listening. */
function checkEnd(owner: 'close' | 'drain', options: CloseOptions): void {
  if ('closeIdleConnections' in options) throw new TypeError(`${owner}: give the HTTP server as { server }`);
  checkOptions(owner, options, CLOSE_CHECKS);
}

/** A part that ends with the APIs, such as a WebSocket. */
export interface Attached {
  drain(options?: DrainOptions): Promise<void>;
}

/** The end of all APIs. */
interface ApisEnd {
  drain(options?: DrainOptions): Promise<void>;
  /** Closes once, however often it is called. */
  close(options?: CloseOptions): Promise<void>;
  /** Drains the part with the APIs, until the function that it returns is called. */
  attach(part: Attached): () => void;
}

/** `options` are those that everything was made of, with what was filled in. */
export function apisEnd(opened: readonly Pick<OpenApi, 'drain'>[], options: ApisOptions<never>): ApisEnd {
  const attached = new Set<Attached>();
  let closing: Promise<void> | undefined;

  async function drain(drainOptions: DrainOptions = {}): Promise<void> {
    checkEnd('drain', drainOptions);
    await Promise.all([...opened, ...attached].map((part) => part.drain?.(drainOptions)));
  }

  async function closeAll({ server, ...closeOptions }: CloseOptions): Promise<void> {
    const { apis = [], inspector, tools, upstream, files, store, webhooks } = options;
    // First: a page that stays open would keep its connection.
    inspector?.close();
    const drained = drain({ ...closeOptions, ...(server && { server }) });
    // What cannot be drained is closed all the same.
    await Promise.allSettled([drained]);
    if (server) await closeServer(server);
    // Before the store: what is being delivered is noted there.
    const told = webhooks?.close();
    await Promise.allSettled([told]);
    const { remoteMcp, documents, fileFetcher, budget, background } = options;
    const providers = typeof tools === 'function' ? [] : [tools].flat();
    const parts = [remoteMcp, documents, fileFetcher, budget, ...apis, background?.engine, upstream, files, store];
    await closeParts([...providers, ...parts]);
    await told;
    await drained;
  }

  return {
    drain,
    async close(closeOptions = {}) {
      checkEnd('close', closeOptions);
      closing ??= closeAll(closeOptions);
      return closing;
    },
    attach(part) {
      attached.add(part);
      return () => attached.delete(part);
    },
  };
}
