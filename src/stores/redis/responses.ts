/** Responses in Redis: each is a string, the digest of its previous id on the first line and its JSON on the second. */
import { markMeasured, type ResponseKey, type StoredResponse, storedVersion } from '../../ports/store.ts';
import { tooManyBytes } from '../../ports/store-error.ts';
import { boundedInteger, digestText, type ResponseMethods } from '../store-parts.ts';
import { type RedisKeys, type RunScript, redisScript } from './client.ts';

/** The context of all kinds of values in Redis. */
export interface RedisPlace {
  readonly run: RunScript;
  readonly keys: RedisKeys;
  readonly ttlMs: number;
  /** The clock of this process, with which `expiresAt` was computed. */
  readonly now: () => number;
}

// A response that has already expired must not be SET: Redis refuses a time to live that is not positive.
const PUT = redisScript(`
if tonumber(ARGV[1]) <= 0 then return redis.call('DEL', KEYS[1]) end
return redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])`);

// The version precedes all other fields; without one it is 0.
const REPLACE = redisScript(`
local kept = redis.call('GET', KEYS[1])
if not kept or (string.match(kept, '^[^\\n]*\\n{"version":(%d+)') or '0') ~= ARGV[3] then return 0 end
if tonumber(ARGV[1]) <= 0 then redis.call('DEL', KEYS[1])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1]) end
return 1`);

const GET = redisScript(`return redis.call('GET', KEYS[1])`);

const DELETE = redisScript(`return redis.call('DEL', KEYS[1])`);

const CHAIN = redisScript(`
local found, key, left = {}, KEYS[1], tonumber(ARGV[2])
local start = string.match(key, '^.*:')
while key and #found < tonumber(ARGV[1]) do
  local text = redis.call('GET', key)
  if not text then break end
  left = left - #text
  if left < 0 then return 'too many' end
  found[#found + 1] = text
  local previous = string.match(text, '^[^\\n]+')
  key = previous and start .. previous
end
return found`);

/** Keeps responses, each for `ttlMs` from its put, or until its own `expiresAt`. */
export function redisResponses({ run, keys, ttlMs, now }: RedisPlace): ResponseMethods {
  const lifetime = ({ expiresAt = Number.POSITIVE_INFINITY }: StoredResponse) =>
    String(Math.min(ttlMs, Math.ceil(expiresAt - now())));

  return {
    async get(key) {
      const text = await run(GET, keys.response(key));
      return typeof text === 'string' ? parseResponseText(text) : undefined;
    },
    async put(response) {
      await run(PUT, keys.response(response), lifetime(response), toResponseText(response));
    },
    async replace(response, version) {
      const values = [lifetime(response), toResponseText(response), String(version)];
      return (await run(REPLACE, keys.response(response), ...values)) === 1;
    },
    async delete(key) {
      return (await run(DELETE, keys.response(key))) === 1;
    },
    async chain(key: ResponseKey, limit: number, maxBytes = Number.MAX_SAFE_INTEGER) {
      const bound = String(boundedInteger(maxBytes));
      // The cast: the script returns an array of strings, or one string if they are too many bytes.
      const texts = (await run(CHAIN, keys.response(key), String(limit), bound)) as readonly string[] | string;
      if (typeof texts === 'string') throw tooManyBytes(maxBytes);
      return markMeasured(texts.map(parseResponseText), maxBytes);
    },
  };
}

function toResponseText(response: StoredResponse): string {
  const { previousId, version: _, ...fields } = response;
  const version = storedVersion(response);
  const json = JSON.stringify({ ...(version > 0 ? { version } : {}), ...fields, previousId });
  return `${previousId === undefined ? '' : digestText(previousId)}\n${json}`;
}

function parseResponseText(text: string): StoredResponse {
  // The cast: only `put` writes these texts.
  return JSON.parse(text.slice(text.indexOf('\n'))) as StoredResponse;
}
