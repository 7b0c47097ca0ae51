/** Conversations in Redis: each is a list, so that it expires and is evicted as a whole; its head first, then its items. */

import { randomUUID } from 'node:crypto';
import {
  type AppendAnswer,
  type ConversationStore,
  type ItemPage,
  markMeasured,
  type StoredConversation,
  type WithAll,
} from '../../ports/store.ts';
import { tooManyBytes } from '../../ports/store-error.ts';
import type { Item } from '../../protocol/items.ts';
import { boundedInteger, digestText } from '../store-parts.ts';
import { type RedisScript, redisScript } from './client.ts';
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

// The index maps the digest of an item's id to the item's position in the list. It is valid only for the list length
// it records, and is built again if it was lost. An earlier release may have added an id twice: the second goes then.
const INDEX = `
local index, turns = KEYS[1] .. ':ids', KEYS[1] .. ':turns'
local function indexed()
  local length = redis.call('LLEN', KEYS[1])
  if redis.call('HGET', index, '') == tostring(length) then return end
  redis.call('DEL', index)
  if length == 0 then return end
  local place, repeated = 1, 0
  for from = 1, length - 1, 1000 do
    for offset, text in ipairs(redis.call('LRANGE', KEYS[1], from, from + 999)) do
      local id = string.match(text, '^[^\\n]+')
      if id and redis.call('HSETNX', index, id, place) == 0 then
        redis.call('LSET', KEYS[1], from + offset - 1, '')
        repeated = repeated + #text
      else
        place = place + 1
      end
    end
  end
  if repeated > 0 then
    redis.call('LREM', KEYS[1], 0, '')
    local head = redis.call('LINDEX', KEYS[1], 0)
    redis.call('LSET', KEYS[1], 0, (string.gsub(head, '^{"bytes":(%d+)', function(bytes)
      return string.format('{"bytes":%.0f', tonumber(bytes) - repeated)
    end)))
  end
  redis.call('HSET', index, '', place)
  redis.call('PEXPIRE', index, redis.call('PTTL', KEYS[1]))
end`;

const PUT = redisScript(`${HEAD}
local head = redis.call('LINDEX', KEYS[1], 0)
if head then redis.call('LSET', KEYS[1], 0, withBytes(ARGV[2], bytesIn(head)))
elseif ARGV[3] == 'new' then
  redis.call('DEL', KEYS[1] .. ':ids', KEYS[1] .. ':turns')
  redis.call('RPUSH', KEYS[1], withBytes(ARGV[2], 0))
end
redis.call('PEXPIRE', KEYS[1] .. ':ids', ARGV[1])
redis.call('PEXPIRE', KEYS[1] .. ':turns', ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`);

const GET = redisScript(`return redis.call('LINDEX', KEYS[1], 0)`);

const DELETE = redisScript(`
redis.call('DEL', KEYS[1] .. ':ids', KEYS[1] .. ':turns')
return redis.call('DEL', KEYS[1])`);

// All items in one argument: clients and unpack() fail beyond some thousand. Nothing else runs while a script does.
// What a turn has added is kept as its epoch and the digests of the ids. ioredis repeats a command whose answer was
// lost: an append that refuses known ids is recognised by its token, any other one finds its items there.
const APPEND = redisScript(`${HEAD}${INDEX}
local life, texts, refused, turn, epoch = ARGV[1], ARGV[2], ARGV[4], ARGV[5], tonumber(ARGV[6])
local head = redis.call('LINDEX', KEYS[1], 0)
if not head then return 0 end
if refused ~= '' and redis.call('HGET', turns, '') == refused then return 1 end
local part = turn ~= '' and redis.call('HGET', turns, turn)
local replaced = {}
if part then
  local before = tonumber(string.match(part, '^%d+'))
  if epoch < before then return 4 end
  for id in string.gmatch(part, ' ([^ ]+)') do replaced[id] = true end
  if epoch == before and next(replaced) and texts ~= '' then return 1 end
end
indexed()
local bytes, count, places, wanted, ids = bytesIn(redis.call('LINDEX', KEYS[1], 0)), 0, {}, {}, {}
for id in pairs(replaced) do
  local place = redis.call('HGET', index, id)
  if place then
    places[#places + 1] = place
    bytes = bytes - #redis.call('LINDEX', KEYS[1], place)
  end
end
for text in string.gmatch(texts, '[^\u001e]+') do
  local id = string.match(text, '^[^\\n]+')
  if id and (ids[id] or (not replaced[id] and redis.call('HEXISTS', index, id) == 1)) then
    if refused ~= '' then return 3 end
  else
    if id then ids[id] = true end
    count = count + 1
    wanted[count] = text
    bytes = bytes + #text
  end
end
if count > 0 and bytes > tonumber(ARGV[3]) then return 2 end
if #places > 0 then
  for _, place in ipairs(places) do redis.call('LSET', KEYS[1], place, '') end
  redis.call('LREM', KEYS[1], 0, '')
  redis.call('DEL', index)
  indexed()
end
local length = redis.call('LLEN', KEYS[1])
part = ARGV[6]
for _, text in ipairs(wanted) do
  redis.call('RPUSH', KEYS[1], text)
  local id = string.match(text, '^[^\\n]+')
  if id then redis.call('HSET', index, id, length) end
  if id and turn ~= '' then part = part .. ' ' .. id end
  length = length + 1
end
redis.call('HSET', index, '', length)
if turn ~= '' then redis.call('HSET', turns, turn, part) end
if refused ~= '' then redis.call('HSET', turns, '', refused) end
redis.call('LSET', KEYS[1], 0, withBytes(redis.call('LINDEX', KEYS[1], 0), bytes))
redis.call('PEXPIRE', index, life)
redis.call('PEXPIRE', turns, life)
return redis.call('PEXPIRE', KEYS[1], life)`);

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
redis.call('DEL', KEYS[1] .. ':ids')
return removed`);

/** The results of APPEND that are neither 0 nor 1. */
const REFUSALS: ReadonlyMap<number, Exclude<AppendAnswer, boolean>> = new Map([
  [2, 'full'],
  [3, 'known'],
  [4, 'overruled'],
]);

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
  const readTexts = async (script: RedisScript, ...keyAndMore: readonly [key: string, ...more: readonly string[]]) =>
    (await run(script, ...keyAndMore)) as readonly string[];

  return {
    async get(key) {
      const text = await run(GET, keys.conversation(key));
      return typeof text === 'string' ? parseConversation(text) : undefined;
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
    async append(key, items, { maxBytes, onKnown, turn } = {}) {
      // The digest of the item's id and its JSON, on two lines: a script finds the item without parsing JSON.
      const texts = items
        .map((item) => `${typeof item.id === 'string' ? digestText(item.id) : ''}\n${JSON.stringify(item)}`)
        .join(SEPARATOR);
      const token = onKnown === 'refuse' ? randomUUID() : '';
      const fence = [turn ? digestText(turn.id) : '', String(turn?.epoch ?? 0)];
      const answer = await run(
        APPEND,
        keys.conversation(key),
        life,
        texts,
        String(boundedInteger(maxBytes)),
        token,
        ...fence,
      );
      return REFUSALS.get(Number(answer)) ?? answer === 1;
    },
    async items(key, maxBytes) {
      const texts = await readTexts(ITEMS, keys.conversation(key), String(boundedInteger(maxBytes)));
      if (!Array.isArray(texts)) throw tooManyBytes(Number(maxBytes));
      return markMeasured(texts.map(parseListEntry), maxBytes);
    },
    async page(key, { limit, order, after, before }) {
      const ids = [after, before].map((id) => (id === undefined ? '' : digestText(id)));
      // The cast: that is the script's result.
      const [more, texts] = (await run(PAGE, keys.conversation(key), String(limit), order, ...ids)) as PageAnswer;
      const items = texts.map(parseListEntry);
      const page: ItemPage = { items: order === 'asc' ? items : items.reverse(), hasMore: more === 1 };
      const unknown = UNKNOWN.get(more);
      return unknown ? { ...page, unknown } : page;
    },
    async find(key, itemIds) {
      if (itemIds.length === 0) return [];
      return (await readTexts(FIND, keys.conversation(key), ...itemIds.map((id) => digestText(id)))).map(
        parseListEntry,
      );
    },
    async removeItem(key, itemId) {
      return Number(await run(REMOVE_ITEM, keys.conversation(key), digestText(itemId))) > 0;
    },
  };
}

type PageAnswer = readonly [more: number, texts: readonly string[]];

function parseListEntry(text: string): Item {
  // The cast: only `append` writes these texts.
  return JSON.parse(text.slice(text.indexOf('\n'))) as Item;
}

function parseConversation(text: string): StoredConversation {
  // The cast: only `put` writes these texts, and the scripts put `bytes` in front.
  const { bytes: _, ...conversation } = JSON.parse(text) as StoredConversation & { readonly bytes?: number };
  return conversation;
}
