/** routedUpstream: which server a model's name leads to, under which name, and what clients learn of the others. */

import express from 'express';
import { balanced, routedUpstream, withFailover } from 'express-open-responses/routing';
import fc from 'fast-check';
import { chatCompletionsRouter, memoryStore, type Upstream } from '../../../src/index.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { startApp } from '../../support/app.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { NOBODY } from '../../support/listening.ts';
import {
  ask,
  askChat,
  callOf,
  chatAt,
  closeAll,
  refuses,
  speaking,
  startServers,
  textOf,
  withoutChat,
} from './servers.ts';

afterEach(closeAll);

const plain = speaking('plain');
const serverOf = async (upstream: Upstream, model: string) => {
  const { server, code } = await ask(upstream, { model });
  return code ?? server;
};

describe('[X-11] routedUpstream', () => {
  it('prefers a name to a pattern, and a pattern that says more to one that says less', async () => {
    const routes = { '*': plain, 'gpt-*': plain, '*-mini': plain, 'gpt-*-mini': plain, 'gpt-5': plain };
    const upstream = routedUpstream({ routes });
    const names = ['gpt-5', 'gpt-5-mini', 'gpt-4', 'o4-mini', 'claude', 'gpt-', 'constructor', '*'];
    expect(await Promise.all(names.map((name) => serverOf(upstream, name)))).toEqual([
      'gpt-5',
      'gpt-*-mini',
      'gpt-*',
      '*-mini',
      '*',
      'gpt-*',
      '*',
      '*',
    ]);
  });

  it('has no model with a name that is longer than any', async () => {
    const upstream = routedUpstream({ routes: { '*': plain } });
    const names = [256, 257].map((length) => 'x'.repeat(length));
    expect(await Promise.all(names.map((name) => serverOf(upstream, name)))).toEqual(['*', 'model_not_found']);
  });

  it('gives each server its own name for the model', async () => {
    const [server] = await startServers(1);
    if (!server) throw new Error('It was started.');
    const upstream = chatAt(server);
    const routed = routedUpstream({
      routes: {
        same: upstream,
        fixed: { upstream, model: 'theirs' },
        'made-*': { upstream, model: (model) => model.slice('made-'.length) },
      },
      aliases: { alias: 'made-it', again: 'alias' },
    });
    for (const model of ['same', 'fixed', 'made-up', 'alias', 'again']) await ask(routed, { model });
    await askChat(routed, { model: 'fixed', temperature: 0.5 });
    expect(server.requests.map(({ body }) => (body as { model: string }).model)).toEqual([
      'same',
      'theirs',
      'up',
      'it',
      'it',
      'theirs',
    ]);
    expect(server.requests.at(-1)?.body).toMatchObject({ temperature: 0.5 });
  });

  it('counts no call for which the host has no name', async () => {
    const names = [undefined, new RangeError('Unknown.')];
    const model = () => {
      const name = names.pop();
      if (name) throw name;
      // The cast: what a host without types may return.
      return name as never;
    };
    const upstream = routedUpstream({ routes: { '*': { upstream: plain, model } } });
    const codes = [await textOf(upstream), await textOf(upstream)];
    expect([codes, upstream.servers?.()[0]?.inFlight]).toEqual([
      ['RangeError: Unknown.', "TypeError: routing: model of server '*' must return a name, got undefined"],
      0,
    ]);
  });

  it('answers a model that there is not with what there is, however much that is', async () => {
    const routes = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`model-${index}`, plain]));
    const { status, code } = await ask(routedUpstream({ routes }), { model: 'other' });
    const failure = await routedUpstream({ routes: { 'claude-*': plain }, aliases: { fast: 'claude-x' } })
      .stream({ model: 'x'.repeat(5000), items: [], tools: [] }, callOf())
      [Symbol.asyncIterator]()
      .next()
      .catch((error) => error);
    expect([status, code, failure.message]).toEqual([
      404,
      'model_not_found',
      `The model '${'x'.repeat(100)}' does not exist. There are: 'claude-*', 'fast'.`,
    ]);
  });

  it('lists what requests can name: models of its patterns, names and aliases, each once, without servers that are down', async () => {
    const one = await startFakeUpstream({ models: ['gpt-1', 'gpt-2', 'claude-1', 'gpt-own'] });
    const two = await startFakeUpstream({ models: ['gpt-1', 'other'] });
    const upstream = routedUpstream({
      routes: {
        'gpt-*': chatAt(one),
        'gpt-own': { upstream: chatAt(one), model: 'gpt-2' },
        '*': chatAt(two),
        gone: chatAt({ ...one, ...NOBODY }),
      },
      aliases: { fast: 'gpt-1', lost: 'gone' },
    });
    const listed = await upstream.models?.(callOf());
    await Promise.all([one.close(), two.close()]);
    expect(listed?.map(({ id, owned_by: owner }) => [id, owner])).toEqual([
      ['gpt-1', 'fake-upstream'],
      ['gpt-2', 'fake-upstream'],
      ['other', 'fake-upstream'],
      ['gpt-own', 'chat-completions'],
      ['fast', 'chat-completions'],
    ]);
  });

  it('does work in proportion to the name, whatever the patterns', async () => {
    const routes = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`${'a*'.repeat(60)}${index}`, plain]));
    const upstream = routedUpstream({ routes });
    for (const longest of [256, 1_000_000])
      await expectLinearWork(longest, (size) => void ask(upstream, { model: 'a'.repeat(size) }));
  });

  it('finds the route that a plain search finds', async () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 5 });
    const fits = (pattern: string, name: string): boolean => {
      if (pattern === '') return name === '';
      if (pattern[0] !== '*') return pattern[0] === name[0] && fits(pattern.slice(1), name.slice(1));
      return fits(pattern.slice(1), name) || (name !== '' && fits(pattern, name.slice(1)));
    };
    const asked = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(pattern, { minLength: 1, maxLength: 6 }), asked, async (patterns, name) => {
        const found = await serverOf(
          routedUpstream({ routes: Object.fromEntries(patterns.map((each) => [each, plain])) }),
          name,
        );
        const fitting = patterns.filter((each) => fits(each, name));
        const literals = (each: string) => each.replaceAll('*', '').length;
        const most = Math.max(...fitting.map(literals));
        if (fitting.length === 0) expect(found).toBe('model_not_found');
        else expect([fitting.includes(String(found)), literals(String(found))]).toEqual([true, most]);
      }),
    );
  });
});

describe('[X-11] routes over HTTP', () => {
  it('serve both APIs, each model from a server that has the API, with the whole path of the one that answers', async () => {
    const servers = await startServers(3);
    const [one, two, three] = servers.map((server) => chatAt(server, { retries: 0 }));
    if (!one || !two || !three) throw new Error('They were made.');
    servers[0]?.reply(refuses(503));
    const upstream = routedUpstream({
      routes: {
        'gpt-*': withFailover([balanced([one], { name: 'eu' }), { upstream: two, name: 'us' }]),
        other: withoutChat(three),
      },
    });
    const seen: unknown[] = [];
    const options = { upstream, hooks: { onResponse: ({ server }: { server?: string }) => void seen.push(server) } };
    const app = await startApp({ options });
    const chat = await startApp({ options });
    chat.server
      .removeAllListeners('request')
      .on('request', express().use('/v1', chatCompletionsRouter({ ...options, store: memoryStore() })));
    const post = async (url: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      return [answer.status, ((await answer.json()) as { error?: { code: string } }).error?.code];
    };
    const messages = [{ role: 'user', content: 'Hi' }];
    const answers = [
      await post(`${app.url}/responses`, { model: 'gpt-5', input: 'Hi' }),
      await post(`${app.url}/responses`, { model: 'other', input: 'Hi' }),
      await post(`${app.url}/responses`, { model: 'none', input: 'Hi' }),
      await post(`${chat.url}/chat/completions`, { model: 'gpt-5', messages }),
      await post(`${chat.url}/chat/completions`, { model: 'other', messages }),
      await post(`${chat.url}/chat/completions`, { model: 'none', messages }),
    ];
    const status = await app.router.status();
    await Promise.all([app.close(), chat.close()]);
    expect(answers).toEqual([
      [200, undefined],
      [200, undefined],
      [404, 'model_not_found'],
      [200, undefined],
      [400, 'invalid_value'],
      [404, 'model_not_found'],
    ]);
    expect(seen).toEqual(['gpt-*/us', 'other', 'gpt-*/us']);
    expect(status.upstream.servers?.map(({ name, lastError }) => [name, lastError])).toEqual([
      ['gpt-*', null],
      ['gpt-*/eu', 'refused_503'],
      [`gpt-*/eu/${new URL(servers[0]?.baseURL ?? '').host}`, 'refused_503'],
      ['gpt-*/us', null],
      ['other', null],
    ]);
  });
});

describe('[X-11] the options of routedUpstream', () => {
  it.each<readonly [string, unknown, string]>([
    ['nothing', undefined, 'the options must be an object'],
    ['no routes', { routes: {} }, 'at least one route'],
    ['an empty name', { routes: { '': plain } }, '1 to 256 characters'],
    ['a long name', { routes: { ['x'.repeat(257)]: plain } }, '1 to 256 characters'],
    ['something else', { routes: { x: 'plain' } }, "routes: 'x': the options must be an object"],
    [
      'too many patterns',
      { routes: Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`${i}*`, plain])) },
      'at most 256',
    ],
    [
      'too many routes',
      { routes: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`m${i}`, plain])) },
      'at most 1000',
    ],
    ['a name of its own', { routes: { x: { upstream: plain, name: 'y' } } }, 'is named by its pattern'],
    ['a weight', { routes: { x: { upstream: plain, weight: 2 } } }, 'has no weight'],
    ['an unknown option', { routes: { x: plain }, alias: {} }, "unknown option 'alias'"],
    ['an alias of itself', { routes: { x: plain }, aliases: { y: 'y' } }, 'leads in a circle'],
    ['aliases in a circle', { routes: { x: plain }, aliases: { y: 'z', z: 'y' } }, 'leads in a circle'],
    ['an alias of nothing', { routes: { x: plain }, aliases: { y: 'z' } }, "names 'z', which no route has"],
    [
      'an alias that is a route',
      { routes: { x: plain, y: plain }, aliases: { y: 'x' } },
      'is the name of a route, too',
    ],
    ['an alias with a wildcard', { routes: { x: plain }, aliases: { 'y*': 'x' } }, "a name without '*'"],
    ['an alias of no text', { routes: { x: plain }, aliases: { y: 1 } }, 'must name a model'],
  ])('refuses %s', (_, options, message) => {
    const create = () => routedUpstream(options as never);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
  });

  it('takes a pattern that nothing else stands beside', async () => {
    expect(await textOf(routedUpstream({ routes: { '*': speaking('x', { type: 'text-delta', text: 'ok' }) } }))).toBe(
      'ok',
    );
  });
});
