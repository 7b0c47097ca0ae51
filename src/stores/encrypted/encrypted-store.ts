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
import { createSeal, type EncryptionKey, type Place, readKeyring, type Seal, sealedBytes } from './seal.ts';

export type { EncryptionKey } from './seal.ts';

/** The options of an encrypted store. */
export interface EncryptedStoreOptions {
  /** The first key encrypts, all of them decrypt: put a new key in front of the old ones. */
  readonly keys: readonly EncryptionKey[];
}

/** The fields of a response that contain text. */
type ResponseText = Pick<StoredResponse, 'input' | 'output' | 'resource'>;

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
  const methods = ['get', 'put', 'delete'];
  if (!isRecord(store) || !methods.every((name) => typeof store[name] === 'function'))
    throw new TypeError(`encryptedStore: the store must have get, put and delete, got ${inspect(store, { depth: 0 })}`);
  // Never quoted: a host that passes the keys instead of the options must not find them in its log.
  if (!isRecord(options)) throw new TypeError('encryptedStore: the options must be an object such as { keys: [...] }');
  checkOptions('encryptedStore', options, { keys: () => true });
  const seal = createSeal(readKeyring(options.keys));

  async function get(key: ResponseKey): Promise<StoredResponse | undefined> {
    const stored = await store.get(key);
    return stored && openResponse(seal, key, stored);
  }

  return {
    name: `encrypted ${store.name}`,
    get,
    put: (response) => store.put(sealResponse(seal, response)),
    delete: (key) => store.delete(key),
    ...(store.time && { time: () => store.time?.() ?? Date.now() }),
    ...(store.replace && {
      replace: async (response, version) => (await store.replace?.(sealResponse(seal, response), version)) === true,
    }),
    ...(store.chain && {
      async chain(key, limit, maxBytes) {
        const chain = (await store.chain?.(key, limit, sealedBytes(maxBytes))) ?? [];
        // Each response is opened by the id that the one before it names.
        const ids = [key.id, ...chain.map(({ previousId = '' }) => previousId)];
        return chain.map((stored, index) => openResponse(seal, { scope: key.scope, id: ids[index] ?? '' }, stored));
      },
    }),
    ...(store.conversations && { conversations: encryptedConversations(store.conversations, seal) }),
    ...(store.events && { events: encryptedEvents(store.events, seal) }),
    ...(store.close && { close: () => store.close?.() }),
  };
}

function sealResponse(seal: Seal, { input, output, resource, ...readable }: StoredResponse): StoredResponse {
  const words: ResponseText = { input, output, resource };
  const encrypted = seal.close(words, responsePlace(readable, readable.previousId));
  return { ...readable, input: [], output: [{ type: 'encrypted', encrypted }], resource: {} };
}

/** Bound to the requested key, not to the one in the row: a moved row contains the wrong key. */
function openResponse(seal: Seal, { scope, id }: ResponseKey, stored: StoredResponse): StoredResponse {
  const { input: _, output, resource: __, ...readable } = stored;
  const place = responsePlace({ scope, id }, readable.previousId);
  // The cast: only `sealResponse` writes these texts, which the seal proves.
  return { ...readable, scope, id, ...(seal.open(output[0]?.encrypted, place) as ResponseText) };
}

function responsePlace({ scope, id }: ResponseKey, previousId: string | undefined): Place {
  return ['response', scope, id, previousId ?? null];
}

function encryptedConversations(store: ConversationStore, seal: Seal): ConversationStore {
  async function get({ scope, id }: ResponseKey): Promise<StoredConversation | undefined> {
    const stored = await store.get({ scope, id });
    if (!stored) return undefined;
    const metadata = seal.open(stored.metadata.encrypted, conversationPlace({ scope, id }));
    // The cast: only `put` writes these texts, which the seal proves.
    return { ...stored, scope, id, metadata: metadata as Metadata };
  }

  function sealConversation({ metadata, ...readable }: StoredConversation): StoredConversation {
    return { ...readable, metadata: { encrypted: seal.close(metadata, conversationPlace(readable)) } };
  }

  // The cast: only `sealItem` writes these texts, which the seal proves.
  const openItems = (key: ResponseKey, items: readonly Item[]) =>
    items.map((item) => seal.open(item.encrypted, itemPlace(key, item)) as Item);

  return {
    get,
    put: (conversation) => store.put(sealConversation(conversation)),
    delete: (key) => store.delete(key),
    append: (key, added, terms) =>
      store.append(
        key,
        added.map((item) => sealItem(seal, key, item)),
        { ...terms, maxBytes: sealedBytes(terms?.maxBytes) },
      ),
    items: async (key, maxBytes) => openItems(key, await store.items(key, sealedBytes(maxBytes))),
    removeItem: (key, itemId) => store.removeItem(key, itemId),
    ...(store.update && {
      update: async (conversation) => (await store.update?.(sealConversation(conversation))) === true,
    }),
    ...(store.page && {
      async page(key, query) {
        const found = (await store.page?.(key, query)) ?? { items: [], hasMore: false };
        return { ...found, items: openItems(key, found.items) };
      },
    }),
    ...(store.find && {
      find: async (key, itemIds) => openItems(key, (await store.find?.(key, itemIds)) ?? []),
    }),
  };
}

type Metadata = StoredConversation['metadata'];

/** The item's id stays readable, for `removeItem`. */
function sealItem(seal: Seal, key: ResponseKey, item: Item): Item {
  const readable = item.id === undefined ? {} : { id: item.id };
  return { type: 'encrypted', ...readable, encrypted: seal.close(item, itemPlace(key, item)) };
}

function conversationPlace({ scope, id }: ResponseKey): Place {
  return ['conversation', scope, id];
}

function itemPlace({ scope, id }: ResponseKey, item: Item): Place {
  return ['item of conversation', scope, id, item.id ?? null];
}
