/** balanced: how calls are shared, which of them stay together, and how servers come and go. */

import { balanced } from 'express-open-responses/routing';
import fc from 'fast-check';
import { memoryStore } from '../../../src/index.ts';
import { chatChunk, type FakeUpstream } from '../../../src/testing/index.ts';
import { startApp } from '../../support/app.ts';
import {
  ask,
  askChat,
  callOf,
  chatAt,
  closeAll,
  counts,
  QUESTION,
  refuses,
  speaking,
  startServers,
  textOf,
} from './servers.ts';

afterEach(closeAll);

const WORD = chatChunk({ content: 'word' });
const HELD = { body: WORD, stallAfterBytes: WORD.length };

type Options = Parameters<typeof balanced>[1];

/** Upstreams that only say their names. */
const named = (count: number, weights: readonly number[] = []) =>
  Array.from({ length: count }, (_, index) => ({
    upstream: speaking('plain'),
    name: `s${index}`,
    ...(weights[index] === undefined ? {} : { weight: weights[index] }),
  }));

async function serversOf(upstream: ReturnType<typeof balanced>, calls: number): Promise<readonly unknown[]> {
  const seen = [];
  for (let call = 0; call < calls; call += 1) seen.push((await ask(upstream)).server);
  return seen;
}

async function pair(options: Options = {}) {
  const servers = await startServers(2);
  const targets = servers.map((server, index) => ({ upstream: chatAt(server), name: 'ab'[index] ?? '' }));
  return { servers, upstream: balanced(targets, options) };
}

/** Opens a stream that goes on until it is left. */
async function held(server: FakeUpstream | undefined, upstream: ReturnType<typeof balanced>) {
  server?.reply(HELD);
  const answer = upstream.stream(QUESTION, callOf())[Symbol.asyncIterator]();
  await answer.next();
  return answer;
}

describe('[X-11] balanced', () => {
  it('goes round', async () => {
    expect(await serversOf(balanced(named(3), { by: 'round-robin' }), 5)).toEqual(['s0', 's1', 's2', 's0', 's1']);
  });

  it('goes by weights, and spreads the calls of heavy servers', async () => {
    const upstream = balanced(named(3, [5, 1, 1]), { by: 'weighted' });
    expect((await serversOf(upstream, 7)).join()).toBe('s0,s0,s1,s0,s2,s0,s0');
  });

  it('asks the server with the fewest calls for its weight, and goes round among idle ones', async () => {
    const idle = await serversOf(balanced(named(2)), 4);
    const { servers, upstream } = await pair();
    const first = await held(servers[0], upstream);
    const texts = [await textOf(upstream), await textOf(upstream)];
    await first.return?.();
    expect([idle, texts]).toEqual([
      ['s0', 's1', 's0', 's1'],
      ['b', 'b'],
    ]);
  });

  it('asks another server where one fails before it says anything', async () => {
    const { servers, upstream } = await pair({ by: 'round-robin' });
    servers[0]?.reply(refuses(500));
    expect([await textOf(upstream), counts(servers)]).toEqual(['b', [1, 1]]);
  });

  it('stays with one server for all rounds of a turn', async () => {
    const upstream = balanced(named(3), { by: 'round-robin' });
    const call = callOf();
    const rounds = [await ask(upstream, {}, call), await ask(upstream), await ask(upstream, {}, call)];
    expect(rounds.map(({ server }) => server)).toEqual(['s0', 's1', 's0']);
  });
});

describe('[X-11] balanced by sticky', () => {
  const serverOf = async (upstream: ReturnType<typeof balanced>, request: Partial<typeof QUESTION>) =>
    (await ask(upstream, request)).server;
  const user = (content: unknown) => ({ type: 'message', role: 'user', content });
  const answer = { type: 'message', role: 'assistant', content: 'Yes.' };

  it('keeps together what has a cache key, and else what begins alike', async () => {
    const upstream = balanced(named(16), { by: 'sticky' });
    const keyed = await Promise.all(
      ['One.', 'Two.'].map((text) => serverOf(upstream, { promptCacheKey: 'k', items: [user(text)] })),
    );
    const opening = [{ type: 'input_text', text: 'Where is the sea?' }];
    const begun = await Promise.all(
      [[user(opening)], [user(opening), answer, user('And the sky?')]].map((items) => serverOf(upstream, { items })),
    );
    expect([new Set(keyed).size, new Set(begun).size]).toEqual([1, 1]);
  });

  it('keeps a conversation on one server over HTTP, however its turns are continued', async () => {
    const servers = await startServers(8);
    const upstream = balanced(
      servers.map((server) => chatAt(server)),
      { by: 'sticky' },
    );
    const app = await startApp({ options: { upstream, store: memoryStore() } });
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await answer.json()) as { readonly id: string };
    };
    for (const question of ['Where is the sea?', 'Who are you?', 'Why?']) {
      const first = await post('/responses', { model: 'm', input: question });
      const second = await post('/responses', { model: 'm', input: 'And then?', previous_response_id: first.id });
      await post('/responses', { model: 'm', input: 'And now?', previous_response_id: second.id });
      const { id: conversation } = await post('/conversations', {});
      for (const input of [question, 'And then?', 'And now?'])
        await post('/responses', { model: 'm', input, conversation });
    }
    await app.close();
    // Three conversations of six turns each, and no part of one on another server.
    const asked = counts(servers);
    expect([asked.every((count) => count % 6 === 0), asked.reduce((sum, count) => sum + count, 0)]).toEqual([true, 18]);
  });

  it('keeps the calls of Chat Completions together, too', async () => {
    const servers = await startServers(3);
    const upstream = balanced(
      servers.map((server) => chatAt(server)),
      { by: 'sticky' },
    );
    const messages = [{ role: 'system', content: 'Be brief.' }, user('Where?')];
    const longer = [...messages, { role: 'assistant', content: 'There.' }, user('When?')];
    for (const each of [messages, longer]) await askChat(upstream, { messages: each });
    for (const key of [1, 2]) await askChat(upstream, { prompt_cache_key: 'k', messages: [user(`${key}`)] });
    const asked = counts(servers).filter((count) => count > 0);
    expect([asked.every((count) => count % 2 === 0), asked.reduce((sum, count) => sum + count, 0)]).toEqual([true, 4]);
  });

  it('shares the keys by weight, and moves few of them when a server comes or goes', async () => {
    const upstream = balanced(named(4, [1, 1, 1, 2]), { by: 'sticky' });
    const keys = Array.from({ length: 500 }, (_, index) => `key-${index}`);
    const places = () => Promise.all(keys.map((promptCacheKey) => serverOf(upstream, { promptCacheKey })));
    const before = await places();
    upstream.add({ upstream: speaking('plain'), name: 's4' });
    const more = await places();
    await upstream.drain('s4');
    await upstream.drain('s0');
    const fewer = await places();
    const share = (name: string) => before.filter((place) => place === name).length / keys.length;
    const moved = more.filter((place, index) => place !== before[index]);
    const left = before.filter((place, index) => place !== fewer[index]);
    expect([new Set(moved), new Set(left)]).toEqual([new Set(['s4']), new Set(['s0'])]);
    // A sixth of the keys each, and a third.
    expect([share('s0') > 0.1, share('s0') < 0.3, share('s3') > 0.3, share('s3') < 0.5]).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  it('finds a server whatever the client sends', async () => {
    const upstream = balanced(named(3), { by: 'sticky' });
    const content = fc.oneof(fc.string(), fc.jsonValue(), fc.array(fc.record({ text: fc.jsonValue() })));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ role: fc.string(), content })), async (messages) => {
        const items = messages.map((message) => ({ type: 'message', ...message }));
        expect(await serverOf(upstream, { items })).toMatch(/^s[012]$/);
      }),
      { numRuns: 50 },
    );
  });
});

describe('[X-11] servers of balanced', () => {
  it('get calls once they are added', async () => {
    const upstream = balanced(named(1), { by: 'round-robin' });
    upstream.add(speaking('plain'));
    expect([await serversOf(upstream, 2), upstream.servers?.().length]).toEqual([['s0', 'plain'], 2]);
  });

  it('get no new calls once they are drained, and are gone when theirs have ended', async () => {
    const { servers, upstream } = await pair({ by: 'round-robin' });
    const running = await held(servers[0], upstream);
    const drained = upstream.drain('a');
    const texts = [await textOf(upstream), await textOf(upstream)];
    const names = () => upstream.servers?.().map(({ name, inFlight }) => [name, inFlight]);
    const before = names();
    await running.return?.();
    expect([texts, before, await drained, names()]).toEqual([
      ['b', 'b'],
      [
        ['a', 1],
        ['b', 0],
      ],
      true,
      [['b', 0]],
    ]);
  });

  it('are gone after the time they are given, while their calls go on', async () => {
    const { servers, upstream } = await pair();
    const running = await held(servers[0], upstream);
    const isIdle = await upstream.drain('a', { timeoutMs: 10 });
    expect([isIdle, upstream.servers?.().map(({ name }) => name), servers[0]?.requests[0]?.aborted]).toEqual([
      false,
      ['b'],
      false,
    ]);
    await running.return?.();
  });

  it('are missed with a 503 when all of them are gone', async () => {
    const upstream = balanced(named(1));
    await upstream.drain('s0');
    const { status, code, retryAfter } = await ask(upstream);
    expect([status, code, retryAfter]).toEqual([503, 'upstream_unavailable', '1']);
  });

  it('are checked as they come and go', async () => {
    const upstream = balanced(named(1));
    expect(() => upstream.add({ upstream: speaking('plain'), name: 's0' })).toThrow("two servers have the name 's0'");
    expect(() => upstream.add({} as never)).toThrow('upstream must be an upstream');
    await expect(upstream.drain('s1')).rejects.toThrow("there is no server 's1'");
    await expect(upstream.drain('s0', { timeoutMs: -1 })).rejects.toThrow(TypeError);
    expect(() => balanced(named(2), { by: 'luck' as never })).toThrow("one of 'round-robin', 'weighted'");
    for (let count = 1; count < 1000; count += 1) upstream.add(speaking('plain'));
    expect(() => upstream.add(speaking('plain'))).toThrow('at most 1000 servers');
  });
});
