/** withKeys: several keys for one server, of which none is shown and a throttled one rests. */

import { withKeys } from 'express-open-responses/routing';
import { ApiError } from '../../../src/index.ts';
import { textStream } from '../../../src/testing/index.ts';
import {
  ask,
  askChat,
  callOf,
  chatAt,
  clock,
  closeAll,
  noting,
  QUESTION,
  refuses,
  speaking,
  startServers,
  textOf,
} from './servers.ts';

afterEach(closeAll);
afterEach(() => import.meta.jest.restoreAllMocks());

const HELLO = { body: textStream('Hello!') };
const [ONE, TWO, THREE] = ['one', 'two', 'three'].map((name) => `sk-${name}-1234567890abcdef`) as [
  string,
  string,
  string,
];
const KEYS = [ONE, TWO, THREE];

/** A server, with the keys that it was sent. */
async function keyed(keys: readonly string[] = KEYS) {
  const [server] = await startServers(1);
  if (!server) throw new Error('It was started.');
  const upstream = withKeys((apiKey) => chatAt(server, { apiKey, retries: 0 }), keys);
  const sent = () => server.requests.map(({ headers }) => String(headers.authorization).slice('Bearer '.length));
  return { server, upstream, sent };
}

describe('[X-11] withKeys', () => {
  it('stays with one key until it is throttled, which then rests as long as the server says', async () => {
    const { server, upstream, sent } = await keyed();
    const times = clock();
    server.reply(HELLO, refuses(429, { 'retry-after': '60' }), HELLO);
    await ask(upstream);
    await ask(upstream);
    await ask(upstream);
    times.advance(60_000);
    await ask(upstream);
    expect(sent()).toEqual([ONE, ONE, TWO, TWO, TWO]);
    expect(upstream.servers?.().map(({ name, state, lastError }) => [name, state, lastError])).toEqual([
      ['key-1', 'half-open', 'refused_429'],
      ['key-2', 'closed', null],
      ['key-3', 'closed', null],
    ]);
  });

  it('goes on behind the key that fails, and not with those in front that failed before', async () => {
    const { server, upstream, sent } = await keyed();
    server.reply(refuses(401), HELLO, refuses(429, { 'retry-after': '60' }), HELLO);
    await ask(upstream);
    await ask(upstream);
    expect(sent()).toEqual([ONE, TWO, TWO, THREE]);
  });

  it.each([401, 402, 429])('takes the next key after a %s', async (status) => {
    const { server, upstream, sent } = await keyed();
    server.reply(refuses(status), HELLO);
    expect([await textOf(upstream), sent()]).toEqual(['Hello!', [ONE, TWO]]);
  });

  it.each([
    { error: { message: 'No.', type: 'tokens', code: 'rate_limit_exceeded' } },
    { error: { message: 'No.', type: 'requests', code: null } },
    { error: { message: 'No.', type: 'insufficient_quota', code: 'insufficient_quota' } },
    { error: { message: 'No.', type: 'invalid_request_error', code: 'invalid_api_key' } },
    { message: 'No.', code: 'rate_limit_exceeded' },
  ])('takes the next key after an error that is the first event of a stream: %j', async (chunk) => {
    const { server, upstream, sent } = await keyed();
    const refusal = { body: `data: ${JSON.stringify(chunk)}\n\n` };
    server.reply(refusal, HELLO);
    expect([await textOf(upstream), await textOf(upstream), sent()]).toEqual(['Hello!', 'Hello!', [ONE, TWO, TWO]]);
    server.reply(refusal, HELLO);
    expect((await askChat(upstream, {})).text).toContain('Hello!');
    expect(sent()).toEqual([ONE, TWO, TWO, TWO, THREE]);
  });

  it.each([400, 403, 404, 500, 503])('passes on a %s, which every key would get', async (status) => {
    const { server, upstream, sent } = await keyed();
    server.reply(refuses(status));
    expect([await textOf(upstream), sent()]).toEqual([`refused_${status}`, [ONE]]);
  });

  it('reports when to come back where all keys rest, and shows none of them', async () => {
    const { server, upstream } = await keyed([ONE, TWO]);
    clock();
    const text = (key: string) =>
      JSON.stringify({ error: { message: `The key ${key} is used up.`, code: 'rate_limit' } });
    server.reply(
      { status: 429, headers: { 'retry-after': '20' }, body: text(ONE) },
      { status: 429, headers: { 'retry-after': '30' }, body: text(TWO) },
    );
    const failure = await upstream
      .stream(QUESTION, noting().call)
      [Symbol.asyncIterator]()
      .next()
      .catch((error) => error);
    const { status, retryAfter } = await ask(upstream);
    const shown = JSON.stringify([failure.body, failure.message, upstream.servers?.()]);
    expect([failure.status, status, retryAfter, [ONE, TWO].some((key) => shown.includes(key))]).toEqual([
      429,
      503,
      '20',
      false,
    ]);
  });

  it('redacts the key of the call from an error in a raw answer', async () => {
    const { server, upstream } = await keyed();
    server.reply(refuses(429), HELLO);
    const { call } = noting();
    await askChat(upstream, {}, call);
    const error = new ApiError('upstream_error', `The key ${TWO} is bad.`);
    const shown = [call, undefined].map((each) => String(upstream.redact?.(error, each)));
    expect(shown.filter((text) => text.includes(TWO) || text === String(error))).toEqual([]);
  });

  it('redacts what a client brought with its own call', async () => {
    const [server] = await startServers(1);
    if (!server) throw new Error('It was started.');
    const headers = (client: Headers) => ({ authorization: `Bearer ${client.get('x-key')}` });
    const upstream = withKeys((apiKey) => chatAt(server, { apiKey, headers }), KEYS);
    const brought = 'key-of-the-client-1234567890';
    const call = callOf({ headers: new Headers({ 'x-key': brought }) });
    await askChat(upstream, {}, call);
    const error = new ApiError('upstream_error', `The key ${brought} is bad.`);
    expect(String(upstream.redact?.(error, call))).not.toContain(brought);
  });

  it('gives state back whichever key is used: the server is the same', async () => {
    const received: unknown[] = [];
    const upstream = withKeys(
      (key) => ({
        ...speaking(key),
        stateOwner: 'server',
        async *stream(request) {
          received.push(request.items[0]?.providerState);
          yield [{ type: 'finish', reason: 'stop' }] as const;
        },
      }),
      KEYS,
    );
    const { call, notes } = noting();
    await ask(upstream, { items: [{ type: 'reasoning', providerState: { mine: true } }] }, call);
    expect([received, notes, upstream.stateOwner]).toEqual([[{ mine: true }], [], 'server']);
  });

  it.each<readonly [string, unknown, unknown, string]>([
    ['no keys', () => speaking('x'), [], 'at least one key'],
    ['an empty key', () => speaking('x'), ['sk-secret', ''], 'none of them empty'],
    ['a key twice', () => speaking('x'), ['sk-secret', 'sk-secret'], 'twice'],
    ['no function', undefined, ['sk-secret'], 'makeUpstream must be a function'],
    ['another answer', () => 'sk-secret', ['sk-secret'], 'must return an upstream'],
    ['too many', () => speaking('x'), Array.from({ length: 1001 }, (_, index) => `sk-secret-${index}`), 'at most 1000'],
  ])('refuses %s, and quotes no key', (_, make, keys, message) => {
    const create = () => withKeys(make as never, keys as never);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
    expect(create).not.toThrow(/sk-secret/);
  });
});
