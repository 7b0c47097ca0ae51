/** What outlives the client's connection, or the process. */

import { type BackgroundEngine, checkTakeOver, isBackgroundEngine } from '../../ports/background/background-engine.ts';
import { boolean, checkOptions } from '../../ports/host/options-check.ts';
import type { ResponseStore } from '../../ports/store.ts';

/** How responses run on without their client; used by the Responses API over HTTP only. */
export interface BackgroundOptions {
  /**
   * What runs responses in the background: `bullmqEngine()` lets any process continue those of one that is gone; it
   * needs a `store` with an event log that other processes see, and a `secret`. Default: this process alone.
   */
  readonly engine?: BackgroundEngine | undefined;
  /**
   * Whether a stream in the foreground goes on when its client is cut off, which may come back for the rest with
   * `starting_after`. Needs a `store` with an event log. Default: false.
   */
  readonly durable?: boolean | undefined;
}

/** The options with their defaults. */
export interface BackgroundSettings {
  readonly engine: BackgroundEngine | undefined;
  readonly durable: boolean;
}

/** The options that decide whether responses can survive their process. */
interface DurabilityOptions {
  readonly background?: BackgroundOptions | undefined;
  readonly store?: ResponseStore | undefined;
  readonly secret?: string | Uint8Array | undefined;
}

/** Throws a `TypeError` for a bad option, or where responses could not survive their process. */
export function backgroundSettings(owner: string, options: DurabilityOptions): BackgroundSettings {
  const { background = {}, store, secret } = options;
  const place = `${owner}: background`;
  checkOptions(place, background, { engine: isBackgroundEngine, durable: boolean });
  const { engine, durable = false } = background;
  if (engine) checkTakeOver(place, engine, 'continues responses', { store, secret });
  if (durable && store !== undefined && !store.events)
    throw new TypeError(`${place}: durable needs a store with an event log, and '${store.name}' has none`);
  return { engine, durable };
}
