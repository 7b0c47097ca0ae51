/** The store as requests see it: nothing is kept or found for those whose tenant is not known. */
import { isUntracked, needTenant } from './scope.ts';
import type { ConversationStore, MaybePromise, ResponseStore } from './store.ts';

/** Answers for untracked scopes as an empty store that forgets at once; conversations, which are nothing but kept, are refused. */
export function tenantStore(store: ResponseStore): ResponseStore {
  const { chain, conversations } = store;
  return {
    ...store,
    get: (key) => unlessUntracked(key, undefined, () => store.get(key)),
    put: (response) => unlessUntracked(response, undefined, () => store.put(response)),
    delete: (key) => unlessUntracked(key, false, () => store.delete(key)),
    ...(chain ? { chain: (key, limit) => unlessUntracked(key, [], () => chain.call(store, key, limit)) } : {}),
    ...(conversations ? { conversations: tenantConversations(conversations) } : {}),
  };
}

function tenantConversations(store: ConversationStore): ConversationStore {
  return {
    get: (key) => unlessUntracked(key, undefined, () => store.get(key)),
    put(conversation) {
      needTenant(conversation.scope, 'A conversation', null);
      return store.put(conversation);
    },
    delete: (key) => unlessUntracked(key, false, () => store.delete(key)),
    append: (key, items) => unlessUntracked(key, false, () => store.append(key, items)),
    items: (key) => unlessUntracked(key, [], () => store.items(key)),
    removeItem: (key, itemId) => unlessUntracked(key, false, () => store.removeItem(key, itemId)),
  };
}

function unlessUntracked<Value>(
  { scope }: { readonly scope: string },
  nothing: Value,
  ask: () => MaybePromise<Value>,
): MaybePromise<Value> {
  return isUntracked(scope) ? nothing : ask();
}
