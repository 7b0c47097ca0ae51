/** Encrypts the content of any store, so that its disk, backups and traffic reveal no conversation. */
import { inspect } from 'node:util';
import { checkOptions } from '../../ports/host/options-check.ts';
import type {
  ConversationStore,
  ResponseKey,
  ResponseStore,
  StoredConversation,
  StoredResponse,
} from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { isRecord } from '../../protocol/record.ts';
import { encryptedEvents } from './events.ts';
import { type EncryptionKey, keyringFrom, type Place, type Seal, sealedBytes, sealWith } from './seal.ts';

export type { EncryptionKey } from './seal.ts';

/** The options of an encrypted store. */
export interface EncryptedStoreOptions {
  /** The first key encrypts, all of them decrypt: put a new key in front of the old ones. */
  readonly keys: readonly EncryptionKey[];
}

/** The fields of a response that contain text. */
type Words = Pick<StoredResponse, 'input' | 'output' | 'resource'>;

/**
 * Creates the store, with AES-256-GCM over all text: input, output and resource of responses, items and
 * metadata of conversations, and event logs. Scopes, ids, `previousId`, times and sequence numbers stay readable, because stores search by them. Throws a
 * `TypeError` for a bad store or key; a read rejects if the text was changed or its key is not among the `keys`.
 *
 * @example
 * ```ts
 * import { memoryStore, responsesRouter } from 'express-open-responses';
 * import { encryptedStore } from 'express-open-responses/stores/encrypted';
 *
 * const keys = [{ id: '2026-11', key: process.env.STORE_KEY ?? '' }];
 * const router = responsesRouter({ store: encryptedStore(memoryStore(), { keys }) });
 * ```
 */
export function encryptedStore(store: ResponseStore, options: EncryptedStoreOptions): ResponseStore {
  checkStore(store);
  const seal = sealWith(keyringFrom(keysOf(options)));

  async function get(key: ResponseKey): Promise<StoredResponse | undefined> {
    const stored = await store.get(key);
    return stored && opened(seal, key, stored);
  }

  return {
    name: `encrypted ${store.name}`,
    get,
    put: (response) => store.put(sealed(seal, response)),
    delete: (key) => store.delete(key),
    ...(store.time && { time: () => store.time?.() ?? Date.now() }),
    ...(store.replace && {
      replace: async (response, version) => (await store.replace?.(sealed(seal, response), version)) === true,
    }),
    ...(store.chain && {
      chain: async (key, limit, maxBytes) =>
        openedChain(seal, key, (await store.chain?.(key, limit, sealedBytes(maxBytes))) ?? []),
    }),
    ...(store.conversations && { conversations: encryptedConversations(store.conversations, seal) }),
    ...(store.events && { events: encryptedEvents(store.events, seal) }),
    ...(store.close && { close: () => store.close?.() }),
  };
}

function checkStore(store: unknown): void {
  const methods = ['get', 'put', 'delete'];
  if (isRecord(store) && methods.every((name) => typeof store[name] === 'function')) return;
  throw new TypeError(`encryptedStore: the store must have get, put and delete, got ${inspect(store, { depth: 0 })}`);
}

function keysOf(options: EncryptedStoreOptions): unknown {
  // Never quoted: a host that passes the keys instead of the options must not find them in its log.
  if (!isRecord(options)) throw new TypeError('encryptedStore: the options must be an object such as { keys: [...] }');
  checkOptions('encryptedStore', options, { keys: () => true });
  return options.keys;
}

function sealed(seal: Seal, { input, output, resource, ...readable }: StoredResponse): StoredResponse {
  const words: Words = { input, output, resource };
  const encrypted = seal.close(words, placeOfResponse(readable, readable.previousId));
  return { ...readable, input: [], output: [{ type: 'encrypted', encrypted }], resource: {} };
}

/** Bound to the requested key, not to the one in the row: a moved row contains the wrong key. */
function opened(seal: Seal, { scope, id }: ResponseKey, stored: StoredResponse): StoredResponse {
  const { input: _, output, resource: __, ...readable } = stored;
  const place = placeOfResponse({ scope, id }, readable.previousId);
  // The cast: only `sealed` writes these texts, which the seal proves.
  return { ...readable, scope, id, ...(seal.open(output[0]?.encrypted, place) as Words) };
}

/** Opens each response by the id that the one before it names. */
function openedChain(
  seal: Seal,
  { scope, id }: ResponseKey,
  chain: readonly StoredResponse[],
): readonly StoredResponse[] {
  const ids = [id, ...chain.map(({ previousId = '' }) => previousId)];
  return chain.map((stored, index) => opened(seal, { scope, id: ids[index] ?? '' }, stored));
}

function placeOfResponse({ scope, id }: ResponseKey, previousId: string | undefined): Place {
  return ['response', scope, id, previousId ?? null];
}

function encryptedConversations(store: ConversationStore, seal: Seal): ConversationStore {
  async function get({ scope, id }: ResponseKey): Promise<StoredConversation | undefined> {
    const stored = await store.get({ scope, id });
    if (!stored) return undefined;
    const metadata = seal.open(stored.metadata.encrypted, placeOf({ scope, id }));
    // The cast: only `put` writes these texts, which the seal proves.
    return { ...stored, scope, id, metadata: metadata as Metadata };
  }

  function sealedConversation({ metadata, ...readable }: StoredConversation): StoredConversation {
    return { ...readable, metadata: { encrypted: seal.close(metadata, placeOf(readable)) } };
  }

  const openedItems = (key: ResponseKey, items: readonly Item[]) => items.map((item) => openedItem(seal, key, item));

  return {
    get,
    put: (conversation) => store.put(sealedConversation(conversation)),
    delete: (key) => store.delete(key),
    append: (key, added, terms) =>
      store.append(
        key,
        added.map((item) => sealedItem(seal, key, item)),
        { ...terms, maxBytes: sealedBytes(terms?.maxBytes) },
      ),
    items: async (key, maxBytes) => openedItems(key, await store.items(key, sealedBytes(maxBytes))),
    removeItem: (key, itemId) => store.removeItem(key, itemId),
    ...(store.update && {
      update: async (conversation) => (await store.update?.(sealedConversation(conversation))) === true,
    }),
    ...(store.page && {
      async page(key, query) {
        const found = (await store.page?.(key, query)) ?? { items: [], hasMore: false };
        return { ...found, items: openedItems(key, found.items) };
      },
    }),
    ...(store.find && {
      find: async (key, itemIds) => openedItems(key, (await store.find?.(key, itemIds)) ?? []),
    }),
  };
}

type Metadata = StoredConversation['metadata'];

/** The item's id stays readable, for `removeItem`. */
function sealedItem(seal: Seal, key: ResponseKey, item: Item): Item {
  const readable = item.id === undefined ? {} : { id: item.id };
  return { type: 'encrypted', ...readable, encrypted: seal.close(item, placeOfItem(key, item)) };
}

function openedItem(seal: Seal, key: ResponseKey, item: Item): Item {
  // The cast: only `sealedItem` writes these texts, which the seal proves.
  return seal.open(item.encrypted, placeOfItem(key, item)) as Item;
}

function placeOf({ scope, id }: ResponseKey): Place {
  return ['conversation', scope, id];
}

function placeOfItem({ scope, id }: ResponseKey, item: Item): Place {
  return ['item of conversation', scope, id, item.id ?? null];
}
