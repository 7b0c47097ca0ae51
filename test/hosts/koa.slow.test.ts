/** The suite of the hosts on Koa: the example's adapter. */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { chatCompletionsUpstream, memoryStore, openResponses } from 'express-open-responses/core';
import { startFakeUpstream } from 'express-open-responses/testing';
import Koa, { type Context } from 'koa';
import { createApp } from '../../examples/koa-adapter/app.ts';
import { koaAdapter } from '../../examples/koa-adapter/koa-adapter.ts';
import { listening } from '../support/listening.ts';
import { type Host, TENANT } from './host.ts';
import { hostSuite } from './host-suite.ts';

const host: Host = {
  name: 'Koa',
  mount({ options, byTenant }) {
    const scope = byTenant ? (ctx: Context) => ctx.get(TENANT) : undefined;
    const api = openResponses<Context>({ ...options, scope });
    return { server: createServer(createApp(api).callback()), drain: api.drain };
  },
  // The cast: what the adapter hands on is Koa's own context.
  headerOf: (request, name) => (request as Context).get(name),
  unknownPath: { status: 404, text: 'Not Found' },
  printsOfCutOff: [],
  printsOfBroken: [],
};

hostSuite(host);

describe('the Koa adapter', () => {
  /** An app whose middleware in front does something, and what its API answers to this body. */
  async function answerOf(inFront: Koa.Middleware, body: string): Promise<string> {
    const fake = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k' });
    const app = new Koa().use(inFront).use(koaAdapter(openResponses<Context>({ upstream, store: memoryStore() })));
    const { url, close } = await listening(app.callback());
    const answer = await fetch(`${url}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = await answer.text();
    await Promise.all([close(), fake.close()]);
    return [answer.status, answer.headers.get('x-seen'), JSON.parse(text).status].join(' ');
  }

  it('[X-03] Koa: a body that a parser in front has read is taken', async () => {
    const parser: Koa.Middleware = async (ctx, next) => {
      const body = await json(ctx.req);
      Object.assign(ctx.request, { body });
      await next();
    };
    expect(await answerOf(parser, '{"model":"m","input":"Hi"}')).toBe('200  completed');
  });

  it('[X-03] Koa: a middleware in front sees the answer and may change it, as with every answer of Koa’s', async () => {
    const watcher: Koa.Middleware = async (ctx, next) => {
      await next();
      ctx.set('x-seen', `${ctx.status}:${typeof ctx.body}`);
    };
    expect(await answerOf(watcher, '{"model":"m","input":"Hi"}')).toBe('200 200:string completed');
  });
});
