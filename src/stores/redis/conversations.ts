/** Conversations in Redis: each is a list, so that it expires and is evicted as a whole; its head first, then its items. */

import {
  type ConversationStore,
  type ItemPage,
  type StoredConversation,
  TooManyBytes,
  type WithAll,
  withinBytes,
} from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { digestText } from '../shared/store-parts.ts';
import { boundOf, type RedisScript, redisScript } from './client.ts';
import type { RedisPlace } from './responses.ts';

/** Separates the texts of items that are sent to a script as one argument: JSON has no such character unescaped. */
const SEPARATOR = '\u001e';

// The bytes of the items precede the conversation's own fields; an older list does not have them.
const HEAD = `
local function bytesIn(head)
  local counted = string.match(head, '^{"bytes":(%d+),')
  if counted then return tonumber(counted) end
  local sum = 0
  for _, text in ipairs(redis.call('LRANGE', KEYS[1], 1, -1)) do sum = sum + #text end
  return sum
end
local function withBytes(head, bytes)
  return string.format('{"bytes":%.0f,', bytes) .. string.gsub(string.sub(head, 2), '^"bytes":%d+,', '')
end`;

// The index maps the digest of an item's id to the item's position in the list. It is built when first needed, is valid
// only for the list length it records, and is rebuilt if it was lost.
const INDEX = `
local index = KEYS[1] .. ':index'
local function indexed()
  local length = redis.call('LLEN', KEYS[1])
  if redis.call('HGET', index, '') == tostring(length) then return end
  redis.call('DEL', index)
  if length == 0 then return end
  for from = 1, length - 1, 1000 do
    for offset, text in ipairs(redis.call('LRANGE', KEYS[1], from, from + 999)) do
      local id = string.match(text, '^[^\\n]+')
      if id then redis.call('HSETNX', index, id, from + offset - 1) end
    end
  end
  redis.call('HSET', index, '', length)
  redis.call('PEXPIRE', index, redis.call('PTTL', KEYS[1]))
end`;

const PUT = redisScript(`${HEAD}
local head = redis.call('LINDEX', KEYS[1], 0)
if head then redis.call('LSET', KEYS[1], 0, withBytes(ARGV[2], bytesIn(head)))
elseif ARGV[3] == 'new' then
  redis.call('DEL', KEYS[1] .. ':index')
  redis.call('RPUSH', KEYS[1], withBytes(ARGV[2], 0))
end
redis.call('PEXPIRE', KEYS[1] .. ':index', ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`);

const GET = redisScript(`return redis.call('LINDEX', KEYS[1], 0)`);

const DELETE = redisScript(`
redis.call('DEL', KEYS[1] .. ':index')
return redis.call('DEL', KEYS[1])`);

// ioredis repeats a command whose answer was lost: the list ends with these items then. Only ids tell that from new ones.
const REPEATED = `
local function isRepeated(length)
  local texts = {}
  for text in string.gmatch(ARGV[2], '[^\u001e]+') do
    if string.sub(text, 1, 1) == '\\n' then return false end
    texts[#texts + 1] = text
  end
  if #texts == 0 or #texts >= length then return false end
  for place, text in ipairs(redis.call('LRANGE', KEYS[1], -#texts, -1)) do
    if text ~= texts[place] then return false end
  end
  return true
end`;

// All items in one argument: clients and unpack() fail beyond some thousand. Nothing else runs while a script does.
const APPEND = redisScript(`${HEAD}${REPEATED}
local index, length = KEYS[1] .. ':index', redis.call('LLEN', KEYS[1])
local head = redis.call('LINDEX', KEYS[1], 0)
if not head then return 0 end
if isRepeated(length) then return 1 end
local bytes = bytesIn(head)
for text in string.gmatch(ARGV[2], '[^\u001e]+') do bytes = bytes + #text end
if bytes > tonumber(ARGV[3]) then return 2 end
local isIndexed = redis.call('HGET', index, '') == tostring(length)
for text in string.gmatch(ARGV[2], '[^\u001e]+') do
  redis.call('RPUSH', KEYS[1], text)
  local id = isIndexed and string.match(text, '^[^\\n]+')
  if id then redis.call('HSETNX', index, id, length) end
  length = length + 1
end
if isIndexed then redis.call('HSET', index, '', length) end
redis.call('LSET', KEYS[1], 0, withBytes(head, bytes))
redis.call('PEXPIRE', index, ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`);

const ITEMS = redisScript(`${HEAD}
local head = redis.call('LINDEX', KEYS[1], 0)
if head and bytesIn(head) > tonumber(ARGV[1]) then return 'too many' end
return redis.call('LRANGE', KEYS[1], 1, -1)`);

const PAGE = redisScript(`${INDEX}
local first, last, ascends = 1, redis.call('LLEN', KEYS[1]) - 1, ARGV[2] == 'asc'
for each = 3, 4 do
  if ARGV[each] ~= '' then
    indexed()
    local place = tonumber(redis.call('HGET', index, ARGV[each]) or nil)
    if not place then return { each, {} } end
    if ascends == (each == 3) then first = place + 1 else last = place - 1 end
  end
end
local limit = tonumber(ARGV[1])
local more = last - first + 1 > limit and 1 or 0
if last < first then return { 0, {} } end
if ascends then return { more, redis.call('LRANGE', KEYS[1], first, math.min(last, first + limit - 1)) } end
return { more, redis.call('LRANGE', KEYS[1], math.max(first, last - limit + 1), last) }`);

const FIND = redisScript(`${INDEX}
indexed()
local found = {}
for each = 1, #ARGV do
  local place = redis.call('HGET', index, ARGV[each])
  if place then found[#found + 1] = redis.call('LINDEX', KEYS[1], place) end
end
return found`);

// Overwritten in place and then removed together, because each LREM reads the whole list.
const REMOVE_ITEM = redisScript(`${HEAD}
local start, removed, less = ARGV[1] .. '\\n', 0, 0
local head = redis.call('LINDEX', KEYS[1], 0)
if not head then return 0 end
local bytes = bytesIn(head)
for place, text in ipairs(redis.call('LRANGE', KEYS[1], 1, -1)) do
  if string.sub(text, 1, #start) == start then
    redis.call('LSET', KEYS[1], place, '')
    removed, less = removed + 1, less + #text
  end
end
if removed == 0 then return 0 end
redis.call('LREM', KEYS[1], 0, '')
redis.call('LSET', KEYS[1], 0, withBytes(head, bytes - less))
redis.call('DEL', KEYS[1] .. ':index')
return removed`);

/** The result of PAGE if an id matches no item: the number of its argument. */
const UNKNOWN: ReadonlyMap<number, 'after' | 'before'> = new Map([
  [3, 'after'],
  [4, 'before'],
]);

/** The store's methods for conversations. */
export type ConversationMethods = WithAll<ConversationStore>;

/** Keeps conversations, each for `ttlMs` from its last `put` or `append`. */
export function redisConversations({ run, keys, ttlMs }: RedisPlace): ConversationMethods {
  const life = String(ttlMs);
  const write = (conversation: StoredConversation, how: 'new' | 'there') =>
    run(PUT, keys.conversation(conversation), life, JSON.stringify(conversation), how);
  // The cast: these scripts return arrays of strings.
  const textsOf = async (script: RedisScript, ...given: readonly [key: string, ...more: readonly string[]]) =>
    (await run(script, ...given)) as readonly string[];

  return {
    async get(key) {
      const text = await run(GET, keys.conversation(key));
      return typeof text === 'string' ? conversationFrom(text) : undefined;
    },
    async put(conversation) {
      await write(conversation, 'new');
    },
    async update(conversation) {
      return (await write(conversation, 'there')) === 1;
    },
    async delete(key) {
      return (await run(DELETE, keys.conversation(key))) === 1;
    },
    async append(key, items, maxBytes) {
      const texts = items.map(textOf).join(SEPARATOR);
      const answer = await run(APPEND, keys.conversation(key), life, texts, boundOf(maxBytes));
      return answer === 2 ? 'full' : answer === 1;
    },
    async items(key, maxBytes) {
      const texts = await textsOf(ITEMS, keys.conversation(key), boundOf(maxBytes));
      if (!Array.isArray(texts)) throw new TooManyBytes(Number(maxBytes));
      return withinBytes(texts.map(itemFrom), maxBytes);
    },
    async page(key, { limit, order, after, before }) {
      const ids = [after, before].map((id) => (id === undefined ? '' : digestText(id)));
      // The cast: that is the script's result.
      const [more, texts] = (await run(PAGE, keys.conversation(key), String(limit), order, ...ids)) as PageAnswer;
      const items = texts.map(itemFrom);
      const page: ItemPage = { items: order === 'asc' ? items : items.reverse(), hasMore: more === 1 };
      const unknown = UNKNOWN.get(more);
      return unknown ? { ...page, unknown } : page;
    },
    async find(key, itemIds) {
      if (itemIds.length === 0) return [];
      return (await textsOf(FIND, keys.conversation(key), ...itemIds.map(digestText))).map(itemFrom);
    },
    async removeItem(key, itemId) {
      return Number(await run(REMOVE_ITEM, keys.conversation(key), digestText(itemId))) > 0;
    },
  };
}

type PageAnswer = readonly [more: number, texts: readonly string[]];

/** The digest of the item's id and its JSON, on two lines: a script finds the item without parsing JSON. */
function textOf(item: Item): string {
  return `${typeof item.id === 'string' ? digestText(item.id) : ''}\n${JSON.stringify(item)}`;
}

function itemFrom(text: string): Item {
  // The cast: only `append` writes these texts.
  return JSON.parse(text.slice(text.indexOf('\n'))) as Item;
}

function conversationFrom(text: string): StoredConversation {
  // The cast: only `put` writes these texts, and the scripts put `bytes` in front.
  const { bytes: _, ...conversation } = JSON.parse(text) as StoredConversation & { readonly bytes?: number };
  return conversation;
}
