/** Conversations in Redis: each a list, so that it expires and is evicted whole; first itself, then its items. */

import type { ConversationStore, StoredConversation } from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { redisScript } from './client.ts';
import { digestOf } from './keys.ts';
import type { RedisPlace } from './responses.ts';

const PUT = redisScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('LSET', KEYS[1], 0, ARGV[2])
else redis.call('RPUSH', KEYS[1], ARGV[2]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`);

const GET = redisScript(`return redis.call('LINDEX', KEYS[1], 0)`);

const DELETE = redisScript(`return redis.call('DEL', KEYS[1])`);

// One by one: unpack() fails beyond some thousand values. Nothing else runs while a script does.
const APPEND = redisScript(`
for place = 2, #ARGV do redis.call('RPUSHX', KEYS[1], ARGV[place]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`);

const ITEMS = redisScript(`return redis.call('LRANGE', KEYS[1], 1, -1)`);

const REMOVE_ITEM = redisScript(`
local removed, start = 0, ARGV[1] .. '\\n'
for _, text in ipairs(redis.call('LRANGE', KEYS[1], 1, -1)) do
  if string.sub(text, 1, #start) == start then removed = removed + redis.call('LREM', KEYS[1], 0, text) end
end
return removed`);

/** Keeps conversations, each for `ttlMs` from its last `put` or `append`. */
export function redisConversations({ run, keys, ttlMs }: RedisPlace): ConversationStore {
  const life = String(ttlMs);
  return {
    async get(key) {
      const text = await run(GET, keys.conversation(key));
      // The cast: only `put` writes these texts.
      return typeof text === 'string' ? (JSON.parse(text) as StoredConversation) : undefined;
    },
    async put(conversation) {
      await run(PUT, keys.conversation(conversation), life, JSON.stringify(conversation));
    },
    async delete(key) {
      return (await run(DELETE, keys.conversation(key))) === 1;
    },
    async append(key, items) {
      return (await run(APPEND, keys.conversation(key), life, ...items.map(textOf))) === 1;
    },
    async items(key) {
      // The cast: the script answers an array of strings.
      const texts = (await run(ITEMS, keys.conversation(key))) as readonly string[];
      return texts.map(itemFrom);
    },
    async removeItem(key, itemId) {
      return Number(await run(REMOVE_ITEM, keys.conversation(key), digestOf(itemId))) > 0;
    },
  };
}

/** The digest of the item's id and its JSON, on two lines: a script finds the item without reading JSON. */
function textOf(item: Item): string {
  return `${typeof item.id === 'string' ? digestOf(item.id) : ''}\n${JSON.stringify(item)}`;
}

function itemFrom(text: string): Item {
  // The cast: only `append` writes these texts.
  return JSON.parse(text.slice(text.indexOf('\n'))) as Item;
}
