/** The store as requests see it: nothing is stored or found for a request whose tenant is unknown. */
import type { EventLog } from '../../ports/background/event-log.ts';
import { isUntracked, requireTenant } from '../../ports/scope.ts';
import type { ConversationStore, ItemPage, MaybePromise, ResponseStore } from '../../ports/store.ts';

/**
 * Answers untracked scopes like an empty store that stores nothing; conversations, which exist only in the store, are
 * refused.
 */
export function tenantStore(store: ResponseStore): ResponseStore {
  const { name, replace, chain, close, conversations, events, time } = store;
  return {
    name,
    get: (key) => unlessUntracked(key, undefined, () => store.get(key)),
    put: (response) => unlessUntracked(response, undefined, () => store.put(response)),
    delete: (key) => unlessUntracked(key, false, () => store.delete(key)),
    ...(replace
      ? {
          replace: (response, version) =>
            unlessUntracked(response, false, () => replace.call(store, response, version)),
        }
      : {}),
    ...(chain
      ? { chain: (key, limit, maxBytes) => unlessUntracked(key, [], () => chain.call(store, key, limit, maxBytes)) }
      : {}),
    ...(conversations ? { conversations: tenantConversations(conversations) } : {}),
    ...(events ? { events: tenantEvents(events) } : {}),
    ...(time ? { time: () => time.call(store) } : {}),
    ...(close ? { close: () => close.call(store) } : {}),
  };
}

const NO_PAGE: ItemPage = { items: [], hasMore: false };

function tenantConversations(store: ConversationStore): ConversationStore {
  const { update, page, find } = store;
  return {
    get: (key) => unlessUntracked(key, undefined, () => store.get(key)),
    put(conversation) {
      requireTenant(conversation.scope, 'A conversation', null);
      return store.put(conversation);
    },
    delete: (key) => unlessUntracked(key, false, () => store.delete(key)),
    append: (key, items, terms) => unlessUntracked(key, false, () => store.append(key, items, terms)),
    items: (key, maxBytes) => unlessUntracked(key, [], () => store.items(key, maxBytes)),
    removeItem: (key, itemId) => unlessUntracked(key, false, () => store.removeItem(key, itemId)),
    ...(update
      ? { update: (conversation) => unlessUntracked(conversation, false, () => update.call(store, conversation)) }
      : {}),
    ...(page ? { page: (key, query) => unlessUntracked(key, NO_PAGE, () => page.call(store, key, query)) } : {}),
    ...(find ? { find: (key, ids) => unlessUntracked(key, [], () => find.call(store, key, ids)) } : {}),
  };
}

function tenantEvents(log: EventLog): EventLog {
  return {
    isShared: log.isShared,
    begin: (key, made) => unlessUntracked(key, undefined, () => log.begin(key, made)),
    append: (key, append) => unlessUntracked(key, false, () => log.append(key, append)),
    claim: (key, epoch) => unlessUntracked(key, undefined, () => log.claim(key, epoch)),
    end: (key, epoch, until) => unlessUntracked(key, false, () => log.end(key, epoch, until)),
    read: (key, after, maxBytes) => unlessUntracked(key, undefined, () => log.read(key, after, maxBytes)),
    async heads(keys) {
      const found = [...(await log.heads(keys.filter(({ scope }) => !isUntracked(scope))))];
      return keys.map(({ scope }) => (isUntracked(scope) ? undefined : found.shift()));
    },
    delete: (key) => unlessUntracked(key, false, () => log.delete(key)),
  };
}

function unlessUntracked<Value>(
  { scope }: { readonly scope: string },
  nothing: Value,
  run: () => MaybePromise<Value>,
): MaybePromise<Value> {
  return isUntracked(scope) ? nothing : run();
}
