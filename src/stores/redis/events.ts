/** Event logs in Redis: each is a hash, so that it expires as a whole, with a field for each event under its number. */
import type { EventLog, LogHead } from '../../ports/background/event-log.ts';
import { joinTexts, originalText, storableText } from '../../protocol/json/storable-text.ts';
import { boundedInteger, toLogHead } from '../store-parts.ts';
import { redisScript } from './client.ts';
import type { RedisPlace } from './responses.ts';

const BEGIN = redisScript(`
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[1], 'epoch', ARGV[2], 'next', '0', 'ended', '0', 'request', ARGV[3], 'state', '""')
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`);

// All events in one argument: clients and unpack() fail beyond some thousand.
const APPEND = redisScript(`
local head = redis.call('HMGET', KEYS[1], 'epoch', 'next', 'ended')
if head[1] ~= ARGV[1] or head[2] ~= ARGV[2] or head[3] ~= '0' then return 0 end
local next = tonumber(head[2])
for text in string.gmatch(ARGV[4], '[^\u001e]+') do
  redis.call('HSET', KEYS[1], string.format('%.0f', next), text)
  next = next + 1
end
redis.call('HSET', KEYS[1], 'next', string.format('%.0f', next), 'state', ARGV[3])
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[1], 'ended', '1')
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
return 1`);

const CLAIM = redisScript(`
local log = redis.call('HMGET', KEYS[1], 'epoch', 'next', 'ended', 'request', 'state')
if not log[1] or tonumber(log[1]) >= tonumber(ARGV[1]) then return false end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
return log`);

const END = redisScript(`
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if not epoch or tonumber(epoch) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'ended', '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`);

const READ = redisScript(`
local head = redis.call('HMGET', KEYS[1], 'epoch', 'next', 'ended')
if not head[1] then return false end
local texts, left = {}, tonumber(ARGV[2])
for place = tonumber(ARGV[1]), tonumber(head[2]) - 1 do
  local text = redis.call('HGET', KEYS[1], string.format('%.0f', place))
  if not text then break end
  left = left - #text
  if left < 0 and #texts > 0 then break end
  texts[#texts + 1] = text
end
return { head, texts }`);

// The other keys are of the same scope, and so on the same node. They begin as the first one does, because a client may
// put a prefix before keys, and never before arguments.
const HEADS = redisScript(`
local heads, start = { redis.call('HMGET', KEYS[1], 'epoch', 'next', 'ended') }, string.match(KEYS[1], '^.*:')
for each, name in ipairs(ARGV) do
  heads[each + 1] = redis.call('HMGET', start .. string.match(name, '[^:]*$'), 'epoch', 'next', 'ended')
end
return heads`);

const DELETE = redisScript(`return redis.call('UNLINK', KEYS[1])`);

/** The values of the fields `epoch`, `next` and `ended`; null if there is no log. */
type HeadFields = readonly [epoch: string | null, next: string, ended: string];
type ClaimedFields = readonly [...HeadFields, request: string, state: string];

/** Keeps each log until the time that its writer gives. */
export function redisEvents({ run, keys, now }: RedisPlace): EventLog {
  /** Milliseconds until the time; a script deletes the key if that is not positive. */
  const remainingMs = (time: number) => String(Math.ceil(Math.min(time, Number.MAX_SAFE_INTEGER) - now()));

  /** The positions of logs of one scope, by the names of their keys. */
  async function readHeads(names: readonly string[]): Promise<readonly (readonly [string, LogHead | undefined])[]> {
    const [first = '', ...others] = names;
    // The cast: that is the script's result.
    const rows = (await run(HEADS, first, ...others)) as readonly HeadFields[];
    return Array.from(rows, ([epoch, next, ended], index) => {
      return [names[index] ?? '', toLogHead({ epoch, next, ended })] as const;
    });
  }

  return {
    isShared: true,
    async begin(key, { epoch, request, expiresAt }) {
      await run(BEGIN, keys.events(key), remainingMs(expiresAt), String(epoch), storableText(request));
    },
    async append(key, { epoch, from, events, state, endsUntil }) {
      const life = endsUntil === undefined ? '' : remainingMs(endsUntil);
      const texts = [storableText(state), joinTexts(events)];
      return (await run(APPEND, keys.events(key), String(epoch), String(from), ...texts, life)) === 1;
    },
    async claim(key, epoch) {
      // The cast: that is the script's result.
      const fields = (await run(CLAIM, keys.events(key), String(epoch))) as ClaimedFields | null;
      if (!fields) return undefined;
      // The script returns the epoch before the claim.
      const [, next, ended, request, state] = fields;
      const texts = { request: originalText(request), state: originalText(state) };
      return { epoch, next: Number(next), ended: ended === '1', ...texts };
    },
    async end(key, epoch, until) {
      return (await run(END, keys.events(key), String(epoch), remainingMs(until))) === 1;
    },
    async read(key, after, maxBytes) {
      const found = await run(READ, keys.events(key), String(after + 1), String(boundedInteger(maxBytes)));
      // The cast: that is the script's result.
      const [fields, texts] = (found ?? [[null], []]) as readonly [HeadFields, readonly string[]];
      const [epoch, next, ended] = fields;
      const head = toLogHead({ epoch, next, ended });
      return head && { ...head, from: Math.min(after + 1, head.next), events: texts.map(originalText) };
    },
    async heads(logKeys) {
      const names = logKeys.map(keys.events);
      const scopes = new Map<string, string[]>(logKeys.map(({ scope }) => [scope, []]));
      for (const [index, { scope }] of logKeys.entries()) scopes.get(scope)?.push(names[index] ?? '');
      // Clients pipeline scripts that are run at the same time.
      const found = new Map((await Promise.all([...scopes.values()].map(readHeads))).flat());
      return names.map((name) => found.get(name));
    },
    async delete(key) {
      return (await run(DELETE, keys.events(key))) === 1;
    },
  };
}
