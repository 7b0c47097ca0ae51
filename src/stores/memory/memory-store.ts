/** Keeps responses in the process's memory: for one node, for tests and as the default. */
import { inspect } from 'node:util';
import type { EventLog } from '../../ports/background/event-log.ts';
import { limitScope } from '../../ports/scope.ts';
import {
  markMeasured,
  type ResponseKey,
  type ResponseStore,
  type StoredResponse,
  storedVersion,
  storeKey,
} from '../../ports/store.ts';
import { tooManyBytes } from '../../ports/store-error.ts';
import { isRecord } from '../../protocol/record.ts';
import { CacheBudget } from './cache-budget.ts';
import { type MemoryConversations, memoryConversations } from './conversations.ts';
import { memoryEvents } from './events.ts';

/** The limits of a memory store; `undefined` means the default. */
export interface MemoryStoreOptions {
  /** Maximum number of responses, of conversations, and of event logs; 10,000 by default. */
  readonly maxResponses?: number | undefined;
  /** Maximum bytes of JSON (UTF-8) of all responses, conversations and event logs; 256 MiB by default. */
  readonly maxBytes?: number | undefined;
  /** How long a response is kept after its put, a conversation after its last change, in ms; 30 days by default. */
  readonly ttlMs?: number | undefined;
  /** The clock, in milliseconds since the epoch; `Date.now` by default. */
  readonly now?: (() => number) | undefined;
}

/** A store with synchronous methods. */
export interface MemoryStore extends ResponseStore {
  /** How many responses are held, including expired ones that were not accessed since. */
  readonly size: number;
  get(key: ResponseKey): StoredResponse | undefined;
  put(response: StoredResponse): void;
  replace(response: StoredResponse, version: number): boolean;
  delete(key: ResponseKey): boolean;
  chain(key: ResponseKey, limit: number, maxBytes?: number): readonly StoredResponse[];
  readonly conversations: MemoryConversations;
  readonly events: EventLog;
  close(): void;
}

const DEFAULTS = {
  maxResponses: 10_000,
  maxBytes: 256 * 1024 * 1024,
  ttlMs: 30 * 24 * 60 * 60 * 1000,
  now: () => Date.now(),
};

/** A response as JSON text, which is immutable and whose size is known exactly. */
interface ResponseEntry {
  readonly text: string;
  readonly bytes: number;
  readonly version: number;
  readonly previousId: string | undefined;
}

/**
 * Keeps responses, conversations and event logs until they expire or newer ones need the room: then the oldest go of a tenant
 * that has most. The age of a conversation or log counts from its last change. It runs no timer. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { memoryStore, responsesRouter } from 'express-open-responses';
 *
 * const router = responsesRouter({ store: memoryStore({ maxBytes: 64 * 1024 * 1024, ttlMs: 60 * 60_000 }) });
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { maxResponses, maxBytes, ttlMs, now } = checkedSettings(options);
  const budget = new CacheBudget({ maxBytes, now });
  const responses = budget.cache<ResponseEntry>(maxResponses);

  function get(key: ResponseKey): StoredResponse | undefined {
    const found = responses.find(storeKey(key));
    return found && parseResponseEntry(found);
  }

  function put(response: StoredResponse): void {
    const text = JSON.stringify(response);
    const bytes = Buffer.byteLength(text);
    const expiresAt = Math.min(now() + ttlMs, response.expiresAt ?? Number.POSITIVE_INFINITY);
    const entry = { text, bytes, version: storedVersion(response), previousId: response.previousId };
    responses.put(storeKey(response), entry, {
      id: response.id,
      tenant: limitScope(response.scope),
      bytes,
      expiresAt,
    });
  }

  function replace(response: StoredResponse, version: number): boolean {
    if (responses.find(storeKey(response))?.version !== version) return false;
    put(response);
    return true;
  }

  function chain(key: ResponseKey, limit: number, maxBytes = Number.POSITIVE_INFINITY): readonly StoredResponse[] {
    const entries: ResponseEntry[] = [];
    let left = maxBytes;
    for (let id: string | undefined = key.id; id !== undefined && entries.length < limit; ) {
      const entry = responses.find(storeKey({ scope: key.scope, id }));
      if (!entry) break;
      left -= entry.bytes;
      if (left < 0) throw tooManyBytes(maxBytes);
      entries.push(entry);
      id = entry.previousId;
    }
    // Parsed only once it is known to fit.
    return markMeasured(entries.map(parseResponseEntry), maxBytes);
  }

  return {
    name: 'memory',
    get size() {
      return responses.size;
    },
    get,
    put,
    replace,
    delete: (key) => responses.remove(storeKey(key)),
    chain,
    conversations: memoryConversations({ cache: budget.cache(maxResponses), expiry: () => now() + ttlMs }),
    events: memoryEvents(budget.cache(maxResponses)),
    close: () => budget.clear(),
  };
}

function parseResponseEntry({ text }: ResponseEntry): StoredResponse {
  // The cast: only `put` writes these texts.
  return JSON.parse(text) as StoredResponse;
}

function checkedSettings(options: MemoryStoreOptions): typeof DEFAULTS {
  if (!isRecord(options)) throw new TypeError(`memoryStore: options must be an object, got ${inspect(options)}`);
  const present = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const unknown = Object.keys(present).find((name) => !Object.hasOwn(DEFAULTS, name));
  if (unknown !== undefined)
    throw new TypeError(`memoryStore: unknown option '${unknown}'; known are ${Object.keys(DEFAULTS).join(', ')}`);
  const settings = { ...DEFAULTS, ...present };
  for (const name of ['maxResponses', 'maxBytes', 'ttlMs'] as const) {
    const value: unknown = settings[name];
    if (!Number.isSafeInteger(value) || Number(value) <= 0)
      throw new TypeError(`memoryStore: ${name} must be a positive integer, got ${inspect(value)}`);
  }
  if (typeof settings.now !== 'function') {
    throw new TypeError(`memoryStore: now must be a function, got ${inspect(settings.now)}`);
  }
  return settings;
}
