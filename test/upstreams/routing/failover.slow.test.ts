/** withFailover: which errors lead to the next server, what rests, and what is never given to another server. */

import { withFailover } from 'express-open-responses/routing';
import fc from 'fast-check';
import {
  ApiError,
  type AttemptInfo,
  type ModelServerStatus,
  memoryStore,
  type ResponseInfo,
} from '../../../src/index.ts';
import {
  chatChunk,
  type FakeReply,
  type FakeResponder,
  type FakeUpstream,
  textStream,
} from '../../../src/testing/index.ts';
import { startApp } from '../../support/app.ts';
import {
  ask,
  askChat,
  callOf,
  chatAt,
  clock,
  closeAll,
  counts,
  noting,
  QUESTION,
  refuses,
  says,
  speaking,
  startServers,
  textOf,
  withoutChat,
} from './servers.ts';

afterEach(closeAll);
afterEach(() => import.meta.jest.restoreAllMocks());

const ROLE = chatChunk({ role: 'assistant', content: '' });
const WORD = chatChunk({ content: 'word' });
const ERROR = `data: ${JSON.stringify({ error: { message: 'Overloaded.', type: 'overloaded_error' } })}\n\n`;

async function pair(...replies: readonly FakeResponder[]) {
  const servers = await startServers(2);
  servers[0]?.reply(...replies);
  return servers;
}

const over = (servers: readonly FakeUpstream[], options: Parameters<typeof withFailover>[1] = {}) =>
  withFailover(
    servers.map((server, index) => ({ upstream: chatAt(server), name: 'ab'[index] ?? `${index}` })),
    options,
  );

const NEXT: readonly (readonly [string, FakeResponder])[] = [
  ...[408, 429, 500, 501, 502, 503, 504, 529].map((status) => [`a ${status}`, refuses(status)] as const),
  ['a connection that is reset', { reset: 'before-headers' }],
  ['an error in a stream without output', { body: ERROR }],
  ['a stream that is cut before it says anything', { body: ROLE, cutAfterBytes: ROLE.length }],
  ['a stream that ends before it says anything', { body: ROLE }],
  ['a page of something else', { body: '<html></html>' }],
];

const PASSED: readonly (readonly [string, FakeReply, string])[] = [
  ...[400, 401, 403, 404, 409, 413, 415, 422].map(
    (status) => [`a ${status}`, refuses(status) as FakeReply, `refused_${status}`] as const,
  ),
  [
    'a filter, whatever its status',
    { status: 500, body: '{"error":{"message":"No.","code":"content_filter"}}' },
    'content_filter',
  ],
  [
    'a conversation that is too long, whatever its status',
    { status: 500, body: '{"error":{"message":"prompt is too long"}}' },
    'context_length_exceeded',
  ],
];

describe('[X-11] withFailover', () => {
  it.each(NEXT)('asks the next server after %s', async (_, reply) => {
    const servers = await pair(reply);
    const seen = await ask(over(servers));
    expect([seen.text, seen.server, counts(servers)]).toEqual(['b', 'b', [1, 1]]);
  });

  it('asks the next server after one that sends nothing in time', async () => {
    const servers = await pair({ hang: true });
    expect(await textOf(over(servers, { firstByteTimeoutMs: 1000 }))).toBe('b');
    await servers[0]?.closed(0);
  });

  it.each(PASSED)('passes on %s, which another server would answer in the same way', async (_, reply, code) => {
    const servers = await pair(reply);
    expect([await textOf(over(servers)), counts(servers)]).toEqual([code, [1, 0]]);
  });

  it('goes by the table, whatever the status and the headers', async () => {
    const servers = await startServers(2);
    const upstream = over(servers, { breaker: false });
    const times = clock();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 400, max: 599 }), fc.option(fc.string()), async (status, retryAfter) => {
        const [before = 0, other = 0] = counts(servers);
        // What no header can carry is no answer of a server.
        const headers = retryAfter && /^[\x20-\x7e]+$/.test(retryAfter) ? { 'retry-after': retryAfter } : {};
        servers[0]?.reply(refuses(status, headers));
        const { code } = await ask(upstream);
        times.advance(3_600_000);
        const asked = counts(servers).map((count, index) => count - ([before, other][index] ?? 0));
        const goesOn = status === 408 || status === 429 || status >= 500;
        expect([code, asked]).toEqual(goesOn ? [undefined, [1, 1]] : [`refused_${status}`, [1, 0]]);
      }),
      { numRuns: 60 },
    );
  });

  it('gives nobody the rest of what one server has begun to say', async () => {
    const servers = await pair({ body: ROLE + WORD, cutAfterBytes: ROLE.length + WORD.length });
    const seen = await ask(over(servers));
    expect([seen.text, seen.code, counts(servers)]).toEqual(['word', 'upstream_truncated', [1, 0]]);
  });

  it('reports the last error where no server is left, and asks no more of them than it may', async () => {
    const servers = await startServers(4);
    for (const [index, server] of servers.entries()) server.reply(refuses(500 + index));
    const upstreams = servers.map((server) => chatAt(server, { retries: 0 }));
    expect([await textOf(withFailover(upstreams, { attempts: 3 })), counts(servers)]).toEqual([
      'refused_502',
      [1, 1, 1, 0],
    ]);
  });

  it('asks the last server as often as it is set to, and no other more than once', async () => {
    const servers = await startServers(2);
    servers[0]?.reply(refuses(503));
    servers[1]?.reply(refuses(503), says('late'));
    expect([await textOf(over(servers)), counts(servers)]).toEqual(['late', [1, 2]]);
  });

  it('reports all attempts of a call, with the server of each and what failed before', async () => {
    const servers = await pair(refuses(500));
    const attempts: unknown[] = [];
    const upstream = withFailover([{ upstream: over(servers), name: 'eu' }]);
    await ask(upstream, {}, callOf({ onAttempt: (attempt) => attempts.push(attempt) }));
    const hosts = servers.map(({ baseURL }) => new URL(baseURL).host);
    expect(attempts).toEqual([
      { attempt: 1, host: hosts[0], server: 'eu/a' },
      { attempt: 2, host: hosts[1], server: 'eu/b', after: 'refused_500' },
    ]);
  });

  it('asks nobody for a client that has left, and frees the server of one that leaves', async () => {
    const servers = await pair({ body: WORD, stallAfterBytes: WORD.length });
    const upstream = over(servers);
    const reason = new Error('The client left.');
    await expect(
      upstream
        .stream(QUESTION, callOf({ signal: AbortSignal.abort(reason) }))
        [Symbol.asyncIterator]()
        .next(),
    ).rejects.toBe(reason);
    for await (const batch of upstream.stream(QUESTION, callOf())) if (batch.length > 0) break;
    await servers[0]?.closed(0);
    expect([counts(servers), upstream.servers?.().map(({ inFlight, state }) => [inFlight, state])]).toEqual([
      [1, 0],
      [
        [0, 'closed'],
        [0, 'closed'],
      ],
    ]);
  });

  it('asks nobody for a client that has left, or leaves while a server is chosen', async () => {
    let asked = 0;
    const counting = {
      ...speaking('one'),
      async *stream() {
        asked += 1;
        yield [];
      },
    };
    const upstream = withFailover([counting]);
    const reason = new Error('The client left.');
    const aborted = upstream.stream(QUESTION, callOf({ signal: AbortSignal.abort(reason) }))[Symbol.asyncIterator]();
    await expect(aborted.next()).rejects.toBe(reason);
    const answer = upstream.stream(QUESTION, callOf())[Symbol.asyncIterator]();
    void answer.next();
    await answer.return?.();
    await new Promise(setImmediate);
    expect([asked, upstream.servers?.()[0]?.inFlight]).toEqual([0, 0]);
  });

  it('does not blame a server for a request that this server itself ends', async () => {
    const servers = await pair({ hang: true });
    const upstream = over(servers, { breaker: { failures: 1 } });
    const router = new AbortController();
    const answer = textOf(upstream, {}, callOf({ signal: router.signal }));
    await servers[0]?.nextRequest();
    router.abort(new ApiError('server_draining', 'Shutting down.'));
    expect([await answer, counts(servers), upstream.servers?.()[0]]).toEqual([
      'server_draining',
      [1, 0],
      { name: 'a', state: 'closed', inFlight: 0, lastError: null },
    ]);
  });

  it('asks no other server when the client leaves while one is silent', async () => {
    const servers = await pair({ hang: true });
    const client = new AbortController();
    const reason = new Error('The client left.');
    const answer = over(servers)
      .stream(QUESTION, callOf({ signal: client.signal }))
      [Symbol.asyncIterator]();
    const first = answer.next();
    await servers[0]?.nextRequest();
    client.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(counts(servers)).toEqual([1, 0]);
  });

  it('counts the calls of each server until they end', async () => {
    const [server] = await startServers(1);
    if (!server) throw new Error('It was started.');
    server.reply({ body: [WORD, textStream('end')], paceMs: 5 }, refuses(400));
    const upstream = withFailover([chatAt(server)]);
    const inFlight = () => upstream.servers?.()[0]?.inFlight;
    const seen: unknown[] = [inFlight()];
    for await (const batch of upstream.stream(QUESTION, callOf())) if (batch.length > 0) seen.push(inFlight());
    seen.push(inFlight());
    await ask(upstream);
    expect([new Set(seen.slice(1, -1)), seen[0], seen.at(-1), inFlight()]).toEqual([new Set([1]), 0, 0, 0]);
  });
});

describe('[X-11] a server that throttles', () => {
  it('rests for as long as it says, and is then tried by one call at a time', async () => {
    const servers = await pair(refuses(429, { 'retry-after': '30' }), { hang: true });
    const times = clock();
    const upstream = over(servers);
    const texts = [await textOf(upstream), await textOf(upstream)];
    const states = [upstream.servers?.()[0]?.state];
    times.advance(29_000);
    texts.push(await textOf(upstream));
    times.advance(1_000);
    states.push(upstream.servers?.()[0]?.state);
    const client = new AbortController();
    const trial = textOf(upstream, {}, callOf({ signal: client.signal }));
    await servers[0]?.nextRequest();
    texts.push(await textOf(upstream));
    client.abort();
    await trial;
    servers[0]?.reply(says('back'));
    texts.push(await textOf(upstream));
    states.push(upstream.servers?.()[0]?.state);
    expect([texts, states, counts(servers)]).toEqual([
      ['b', 'b', 'b', 'b', 'back'],
      ['open', 'half-open', 'closed'],
      [3, 4],
    ]);
  });

  it('goes on resting while calls that it took before are answered', async () => {
    const servers = await pair(
      { body: textStream('slow'), firstByteDelayMs: 50 },
      refuses(429, { 'retry-after': '30' }),
    );
    clock();
    const upstream = over(servers);
    const slow = textOf(upstream);
    await servers[0]?.nextRequest();
    const texts = [await textOf(upstream), await slow, await textOf(upstream)];
    expect([texts, upstream.servers?.()[0]?.state, counts(servers)]).toEqual([['b', 'slow', 'b'], 'open', [2, 2]]);
  });

  it('rests no longer than ten minutes', async () => {
    const servers = await pair(refuses(429, { 'retry-after': '86400' }), says('back'));
    const times = clock();
    const upstream = over(servers);
    await ask(upstream);
    times.advance(600_000);
    expect(await textOf(upstream)).toBe('back');
  });

  it('leads to a 503 with retry-after where all of them rest', async () => {
    const servers = await startServers(2);
    servers[0]?.reply(refuses(429, { 'retry-after': '30' }));
    servers[1]?.reply(refuses(503, { 'retry-after': '20' }));
    clock();
    const upstream = over(servers);
    const first = await ask(upstream);
    const second = await ask(upstream);
    expect([first.code, second, counts(servers)]).toEqual([
      'refused_503',
      { text: '', code: 'upstream_unavailable', status: 503, retryAfter: '20', server: undefined },
      [1, 1],
    ]);
  });
});

describe('[X-11] keys of clients', () => {
  const headers = (client: Headers) => ({ authorization: `Bearer ${client.get('x-key')}` });
  const brought = (key: string) => callOf({ headers: new Headers({ 'x-key': key }) });

  it.each([
    ['with retry-after', { 'retry-after': '600' }],
    ['without', {}],
  ])('are their own: one that is throttled, %s, keeps the server from nobody else', async (_, retryAfter) => {
    const servers = await pair(refuses(429, retryAfter), refuses(429, retryAfter), says('a'));
    const upstreams = servers.map((server) => chatAt(server, { headers, retries: 0 }));
    const upstream = withFailover(upstreams, { clientKeys: true, breaker: { failures: 1 } });
    const texts = [];
    for (const key of ['used-up', 'used-up', 'fresh']) texts.push(await textOf(upstream, {}, brought(key)));
    const { state, lastError } = upstream.servers?.()[0] ?? {};
    expect([texts, state, lastError]).toEqual([['b', 'b', 'a'], 'closed', 'refused_429']);
  });

  it('do not keep a server that is down from resting', async () => {
    const servers = await pair(refuses(503, { 'retry-after': '60' }));
    const upstream = withFailover(
      servers.map((server) => chatAt(server, { headers })),
      { clientKeys: true },
    );
    await ask(upstream, {}, brought('any'));
    expect(upstream.servers?.()[0]?.state).toBe('open');
  });
});

describe('[X-11] the circuit breaker', () => {
  it('leaves a server alone after so many failures in a row, and tries it with one call at a time', async () => {
    const servers = await pair(refuses(500), refuses(500), says('a'), refuses(500), refuses(500), refuses(500));
    const times = clock();
    const upstream = over(servers, { breaker: { failures: 3, resetMs: 1000 } });
    const states: unknown[] = [];
    for (let call = 0; call < 8; call += 1) {
      await ask(upstream);
      states.push(upstream.servers?.()[0]?.state);
    }
    servers[0]?.reply({ hang: true });
    times.advance(1000);
    const client = new AbortController();
    const trial = textOf(upstream, {}, callOf({ signal: client.signal }));
    await servers[0]?.nextRequest();
    const meanwhile = await textOf(upstream);
    client.abort();
    await trial;
    // That trial showed nothing: the next call is one, too, and then rests for the whole time again.
    servers[0]?.reply(refuses(500), says('back'));
    const after = [await textOf(upstream), await textOf(upstream)];
    times.advance(1000);
    expect([states, meanwhile, after, await textOf(upstream), upstream.servers?.()[0]]).toEqual([
      ['closed', 'closed', 'closed', 'closed', 'closed', 'open', 'open', 'open'],
      'b',
      ['b', 'b'],
      'back',
      { name: 'a', state: 'closed', inFlight: 0, lastError: 'refused_500' },
    ]);
    expect(counts(servers)).toEqual([9, 10]);
  });

  it('reports each change to the host, and none twice', async () => {
    const servers = await pair(refuses(500), refuses(500), refuses(429, { 'retry-after': '5' }), says('a'));
    const times = clock();
    const seen: unknown[] = [];
    const onState = ({ name, state, lastError }: ModelServerStatus) => void seen.push([name, state, lastError]);
    const upstream = over(servers, { breaker: { failures: 2, resetMs: 1000 }, onState });
    for (const pause of [0, 0, 0, 1000, 5000, 0]) {
      times.advance(pause);
      await ask(upstream);
      await new Promise(setImmediate);
    }
    expect(seen).toEqual([
      ['a', 'open', 'refused_500'],
      ['a', 'half-open', 'refused_500'],
      ['a', 'open', 'refused_429'],
      ['a', 'half-open', 'refused_429'],
      ['a', 'closed', 'refused_429'],
    ]);
    expect(upstream.status()).toEqual(upstream.servers?.());
  });

  it('goes on where the host’s function fails', async () => {
    const warn = import.meta.jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const servers = await pair(refuses(500));
    const onState = () => {
      throw new Error('The pager is down.');
    };
    const upstream = over(servers, { breaker: { failures: 1 }, onState });
    const texts = [await textOf(upstream), await textOf(upstream)];
    expect([texts, String(warn.mock.calls[0]?.[0])]).toEqual([
      ['b', 'b'],
      expect.stringContaining('onState threw: Error: The pager is down.'),
    ]);
  });

  it('is not closed for all by a client that leaves while its call tries the server', async () => {
    const servers = await pair(refuses(500), { hang: true });
    const times = clock();
    const upstream = over(servers, { breaker: { failures: 1, resetMs: 1000 } });
    await ask(upstream);
    times.advance(1000);
    for (let trial = 0; trial < 2; trial += 1) {
      const client = new AbortController();
      const left = textOf(upstream, {}, callOf({ signal: client.signal }));
      await servers[0]?.nextRequest();
      const texts = [await textOf(upstream), upstream.servers?.()[0]?.state];
      client.abort();
      await left;
      expect(texts).toEqual(['b', 'half-open']);
    }
  });

  it('counts streams that a server cuts, though they had begun', async () => {
    const cut = { body: ROLE + WORD, cutAfterBytes: ROLE.length + WORD.length };
    const servers = await pair(cut);
    const upstream = over(servers, { breaker: { failures: 2 } });
    const codes = [await textOf(upstream), await textOf(upstream), await textOf(upstream)];
    expect(codes).toEqual(['upstream_truncated', 'upstream_truncated', 'b']);
  });

  it('does not count refusals of requests, nor clients that leave', async () => {
    const servers = await pair(refuses(400), refuses(404), { body: WORD, stallAfterBytes: WORD.length });
    const upstream = over(servers, { breaker: { failures: 1 } });
    await ask(upstream);
    await ask(upstream);
    for await (const batch of upstream.stream(QUESTION, callOf())) if (batch.length > 0) break;
    expect(upstream.servers?.()[0]?.state).toBe('closed');
  });

  it('does not open for a server that reports when it is back', async () => {
    const servers = await pair(refuses(429, { 'retry-after': '1' }), says('back'));
    const times = clock();
    const upstream = over(servers, { breaker: { failures: 1, resetMs: 60_000 } });
    await ask(upstream);
    times.advance(1000);
    expect(await textOf(upstream)).toBe('back');
  });

  it('reports when to come back where all circuits are open', async () => {
    const servers = await startServers(1);
    servers[0]?.reply(refuses(500));
    const times = clock();
    const upstream = over(servers, { breaker: { failures: 1, resetMs: 10_000 } });
    await ask(upstream);
    times.advance(4000);
    const { status, retryAfter } = await ask(upstream);
    expect([status, retryAfter]).toEqual([503, '6']);
  });

  it('passes over a server that has all the calls it may have at once', async () => {
    const servers = await pair({ body: WORD, stallAfterBytes: WORD.length });
    const upstream = over(servers, { bulkhead: { calls: 1 } });
    const held = upstream.stream(QUESTION, callOf())[Symbol.asyncIterator]();
    await held.next();
    const meanwhile = await textOf(upstream);
    await held.return?.();
    servers[0]?.reply(says('free'));
    expect([meanwhile, await textOf(upstream)]).toEqual(['b', 'free']);
  });
});

describe('[X-11] provider state', () => {
  const STATE = { type: 'reasoning-end', state: { signature: 'sealed' } } as const;
  const received: unknown[] = [];
  const signing = (name: string, fails = false) => ({
    ...speaking(name, { type: 'reasoning-delta', text: 'Hm.' }, STATE),
    stateOwner: name,
    async *stream(request: typeof QUESTION) {
      received.push([name, ...request.items.map(({ providerState }) => providerState)]);
      if (fails) throw new ApiError('upstream_error', 'Down.');
      yield* speaking(name, { type: 'reasoning-delta', text: 'Hm.' }, STATE).stream(request, callOf());
    },
  });

  it('goes back to the server that wrote it, and to no other, which is noted once', async () => {
    received.length = 0;
    const events = [];
    for await (const batch of withFailover([signing('one'), signing('two')]).stream(QUESTION, callOf()))
      events.push(...batch);
    const end = events.find(({ type }) => type === 'reasoning-end');
    const item = { type: 'reasoning', providerState: end?.type === 'reasoning-end' ? end.state : undefined };
    const { call, notes } = noting();
    const items = [item, ...QUESTION.items];
    await ask(withFailover([signing('one'), signing('two')]), { items }, call);
    const same = notes.length;
    await ask(withFailover([signing('two', true), signing('three')]), { items }, call);
    expect([received, same, notes.map(({ code }) => code)]).toEqual([
      [
        ['one', undefined],
        ['one', STATE.state, undefined],
        ['two', undefined, undefined],
        ['three', undefined, undefined],
      ],
      0,
      ['server_replaced'],
    ]);
  });
});

describe('[X-11] over HTTP', () => {
  it('names the server to hooks and shows all of them in the status, without addresses or keys', async () => {
    const servers = await pair(refuses(503, { 'retry-after': '60' }));
    const seen: ResponseInfo[] = [];
    const attempts: AttemptInfo[] = [];
    const hooks = {
      onResponse: (info: ResponseInfo) => void seen.push(info),
      onAttempt: (info: AttemptInfo) => void attempts.push(info),
    };
    const app = await startApp({ options: { upstream: over(servers), hooks, store: memoryStore() } });
    const body = JSON.stringify({ model: 'm', input: 'Hi' });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${app.url}/responses`, { method: 'POST', headers, body });
    const status = await app.router.status();
    await app.close();
    const requestId = answer.headers.get('x-request-id');
    expect(attempts).toEqual([
      { requestId, attempt: 1, host: new URL(servers[0]?.baseURL ?? '').host, server: 'a' },
      { requestId, attempt: 2, host: new URL(servers[1]?.baseURL ?? '').host, server: 'b', after: 'refused_503' },
    ]);
    expect([answer.status, seen.map(({ server }) => server), status.status, status.upstream.servers]).toEqual([
      200,
      ['b'],
      'degraded',
      [
        { name: 'a', state: 'open', inFlight: 0, lastError: 'refused_503' },
        { name: 'b', state: 'closed', inFlight: 0, lastError: null },
      ],
    ]);
  });

  it('serves Chat Completions from the servers that can, byte for byte', async () => {
    const [down, none, able] = await startServers(3);
    if (!down || !none || !able) throw new Error('They were started.');
    down.reply({ body: ERROR });
    const upstream = withFailover([
      chatAt(down),
      withoutChat(chatAt(none)),
      { upstream: chatAt(able), model: 'theirs' },
    ]);
    const { text, server } = await askChat(upstream);
    expect([text.includes('"content":"c"'), text.endsWith('[DONE]'), server, counts([down, none, able])]).toEqual([
      true,
      true,
      new URL(able.baseURL).host,
      [1, 0, 1],
    ]);
    expect(able.requests[0]?.body).toMatchObject({ model: 'theirs' });
  });

  it('has no chat where no server has', async () => {
    const [server] = await startServers(1);
    expect(server && withFailover([withoutChat(chatAt(server))]).chat).toBeUndefined();
  });

  it('closes each upstream once', async () => {
    let closed = 0;
    const close = async () => {
      closed += 1;
    };
    const upstream = { ...speaking('one'), close };
    const pool = withFailover([upstream, { upstream, name: 'again' }]);
    await pool.close?.();
    await pool.close?.();
    expect(closed).toBe(1);
  });
});

describe('[X-11] the options of withFailover', () => {
  const one = speaking('one');

  it.each<readonly [string, unknown, unknown, string]>([
    ['no list', undefined, {}, 'at least one upstream'],
    ['an empty list', [], {}, 'at least one upstream'],
    ['too many', Array.from({ length: 1001 }, () => one), {}, 'at most 1000 servers, got 1001'],
    ['something else', [{ name: 'one' }], {}, 'server 1: upstream must be an upstream'],
    ['nothing', [null], {}, 'server 1: the options must be an object'],
    [
      'a second name',
      [
        { upstream: one, name: 'x' },
        { upstream: one, name: 'x' },
      ],
      {},
      "two servers have the name 'x'",
    ],
    [
      'a weight of 0',
      [{ upstream: one, weight: 0 }],
      {},
      'server 1: weight must be a number over 0, up to 1000000, got 0',
    ],
    ['a weight of no number', [{ upstream: one, weight: NaN }], {}, 'got NaN'],
    ['a model without a name', [{ upstream: one, model: '' }], {}, "model must be a name or a function, got ''"],
    ['a name of no text', [{ upstream: one, name: 7 }], {}, 'name must be a name of 1 to 100 characters, got 7'],
    [
      'an upstream that cannot stream',
      [{ upstream: { name: 'x' } }],
      {},
      "upstream must be an upstream, got { name: 'x' }",
    ],
    ['an unknown setting', [{ upstream: one, wieght: 1 }], {}, "unknown option 'wieght'"],
    ['an unknown option', [one], { retries: 1 }, "unknown option 'retries'"],
    ['attempts', [one], { attempts: 0 }, 'attempts must be a whole number from 1 to 1000, got 0'],
    ['many attempts', [one], { attempts: 1001 }, 'got 1001'],
    ['a breaker of another kind', [one], { breaker: true }, 'breaker must be an object or false, got true'],
    ['an unknown setting of a breaker', [one], { breaker: { fails: 1 } }, "breaker: unknown option 'fails'"],
    [
      'failures',
      [one],
      { breaker: { failures: 0 } },
      'breaker: failures must be a whole number from 1 to 1000000, got 0',
    ],
    ['a reset', [one], { breaker: { resetMs: 2 ** 31 } }, 'breaker: resetMs must be a whole number of milliseconds'],
    ['a bulkhead', [one], { bulkhead: {} }, 'bulkhead: calls must be a whole number from 1 to 1000000, got null'],
    ['a bulkhead of another kind', [one], { bulkhead: 5 }, 'bulkhead must be an object, got 5'],
    ['calls', [one], { bulkhead: { calls: 1.5 } }, 'bulkhead: calls must be a whole number from 1 to 1000000, got 1.5'],
    [
      'a time',
      [one],
      { firstByteTimeoutMs: -1 },
      'firstByteTimeoutMs must be a whole number of milliseconds from 1 to 2147483647, got -1',
    ],
    ['a long name', [one], { name: 'x'.repeat(101) }, 'name must be a name of 1 to 100 characters'],
    ['what no state can be reported to', [one], { onState: 'log' }, "onState must be a function, got 'log'"],
    ['whose keys they are', [one], { clientKeys: 1 }, 'clientKeys must be true or false, got 1'],
  ])('refuses %s', (_, servers, options, message) => {
    // The casts: what a host without types may give.
    const create = () => withFailover(servers as never, options as never);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
  });

  it('numbers servers that have no other name', () => {
    const upstream = withFailover([one, one, { ...one, origin: 'http://10.0.0.1:8000' }]);
    expect(upstream.servers?.().map(({ name }) => name)).toEqual(['one', 'one-2', '10.0.0.1:8000']);
  });
});
