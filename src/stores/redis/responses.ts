/** Responses in Redis: each a string, the digest of its previous id on the first line and its JSON on the second. */
import type { ResponseKey, ResponseStore, StoredResponse } from '../../ports/store.ts';
import { type RunScript, redisScript } from './client.ts';
import { digestOf, type RedisKeys } from './keys.ts';

/** What both kinds of things in Redis are kept with. */
export interface RedisPlace {
  readonly run: RunScript;
  readonly keys: RedisKeys;
  readonly ttlMs: number;
  /** The clock of this process, by which `expiresAt` was reckoned. */
  readonly now: () => number;
}

// What has expired already may not be SET: Redis refuses a time to live that is not positive.
const PUT = redisScript(`
if tonumber(ARGV[1]) <= 0 then return redis.call('DEL', KEYS[1]) end
return redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])`);

const GET = redisScript(`return redis.call('GET', KEYS[1])`);

const DELETE = redisScript(`return redis.call('DEL', KEYS[1])`);

const CHAIN = redisScript(`
local found, key = {}, KEYS[1]
local start = string.match(key, '^.*:')
while key and #found < tonumber(ARGV[1]) do
  local text = redis.call('GET', key)
  if not text then break end
  found[#found + 1] = text
  local previous = string.match(text, '^[^\\n]+')
  key = previous and start .. previous
end
return found`);

/** The methods of a store that are about responses. */
export type ResponseMethods = Required<Pick<ResponseStore, 'get' | 'put' | 'delete' | 'chain'>>;

/** Keeps responses, each for `ttlMs` from when it was put, or until its own `expiresAt`. */
export function redisResponses({ run, keys, ttlMs, now }: RedisPlace): ResponseMethods {
  return {
    async get(key) {
      const text = await run(GET, keys.response(key));
      return typeof text === 'string' ? responseFrom(text) : undefined;
    },
    async put(response) {
      const lifeMs = Math.min(ttlMs, Math.ceil((response.expiresAt ?? Infinity) - now()));
      await run(PUT, keys.response(response), String(lifeMs), textOf(response));
    },
    async delete(key) {
      return (await run(DELETE, keys.response(key))) === 1;
    },
    async chain(key: ResponseKey, limit: number) {
      // The cast: the script answers an array of strings.
      const texts = (await run(CHAIN, keys.response(key), String(limit))) as readonly string[];
      return texts.map(responseFrom);
    },
  };
}

function textOf(response: StoredResponse): string {
  const { previousId } = response;
  return `${previousId === undefined ? '' : digestOf(previousId)}\n${JSON.stringify(response)}`;
}

function responseFrom(text: string): StoredResponse {
  // The cast: only `put` writes these texts.
  return JSON.parse(text.slice(text.indexOf('\n'))) as StoredResponse;
}
