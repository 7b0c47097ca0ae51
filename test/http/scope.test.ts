/** Tenancy: another scope's response is as missing as one that never was, on every path. */

import type { Request } from 'express';
import { functionTools, type RouterOptions } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { ask, askJson, parsed, send } from './client.ts';

let fake: FakeUpstream;
let app: App;

beforeEach(async () => {
  fake = await startFakeUpstream();
});

afterEach(() => Promise.all([app.close(), fake.close()]));

async function start(options: RouterOptions = {}): Promise<void> {
  app = await startApp({ upstream: fake, options });
}

type Headers = Readonly<Record<string, string>>;
const ALICE: Headers = { authorization: 'Bearer alice' };
const BOB: Headers = { authorization: 'Bearer bob' };

/** What each path that takes an id answers, with the id blotted out. */
async function answersFor(id: string, headers: Headers): Promise<readonly unknown[]> {
  const create = async (body: JsonObject) => {
    const response = await ask(app.url, body, { headers });
    return { status: response.status, body: parsed(await response.text()) };
  };
  const answers = [
    await send(`${app.url}/responses/${id}`, 'GET', headers),
    await send(`${app.url}/responses/${id}/input_items`, 'GET', headers),
    await create({ previous_response_id: id }),
    await create({ previous_response_id: id, stream: true }),
    await send(`${app.url}/responses/${id}`, 'DELETE', headers),
  ];
  return JSON.parse(JSON.stringify(answers).replaceAll(id, '<id>'));
}

const MISSING = `resp_${'0'.repeat(32)}`;

function notFound(status: number, code: string, param: string, message: string) {
  return { status, body: { error: { message, type: 'invalid_request_error', param, code } } };
}

const RETRIEVE = notFound(404, 'response_not_found', 'response_id', "Response with id '<id>' not found.");
const CONTINUE = notFound(
  400,
  'previous_response_not_found',
  'previous_response_id',
  "Previous response with id '<id>' not found.",
);
const NOTHING = [RETRIEVE, RETRIEVE, CONTINUE, CONTINUE, RETRIEVE];

describe('a response of another scope', () => {
  it.each<[string, Headers, Headers]>([
    ['another key', ALICE, BOB],
    ['no key', ALICE, {}],
    ['a key, where it was made without one', {}, ALICE],
    ['a key that differs by case', ALICE, { authorization: 'Bearer Alice' }],
  ])('[P-13] is answered as a missing one on every path, by the Authorization header: %s', async (_, owner, other) => {
    await start();
    const { id } = await askJson(app.url, {}, { headers: owner });
    const foreign = await answersFor(String(id), other);
    const missing = await answersFor(MISSING, other);
    const own = await send(`${app.url}/responses/${id}`, 'GET', owner);
    expect([foreign, missing, own.status]).toEqual([NOTHING, NOTHING, 200]);
  });

  it('[P-13] is not found by a reference to one of its items', async () => {
    await start();
    const { output } = await askJson(app.url, {}, { headers: ALICE });
    const [item] = output as readonly { id: string }[];
    const reference = { type: 'item_reference', id: item?.id };
    const input = [reference, { role: 'user', content: 'What did you say?' }];
    await askJson(app.url, { input }, { headers: BOB });
    await askJson(app.url, { input }, { headers: ALICE });
    const texts = fake.requests
      .slice(1)
      .map(({ body }) => (body as { messages: JsonObject[] }).messages.map(({ content }) => content));
    expect(texts).toEqual([['What did you say?'], ['Hello!', 'What did you say?']]);
  });
});

describe('the host’s own scope', () => {
  const byTenant = { scope: (req: Request) => String(req.headers['x-tenant']) };

  it('[P-13] decides, whatever the Authorization header says', async () => {
    await start(byTenant);
    const { id } = await askJson(app.url, {}, { headers: { ...ALICE, 'x-tenant': 'a' } });
    const same = await send(`${app.url}/responses/${id}`, 'GET', { ...BOB, 'x-tenant': 'a' });
    const foreign = await answersFor(String(id), { ...ALICE, 'x-tenant': 'b' });
    expect([same.status, foreign]).toEqual([200, NOTHING]);
  });

  it.each([
    ['a:b', 'a'],
    ['', 'undefined'],
    ['__proto__', 'constructor'],
    ['a', 'a '],
    ['a\u0000', 'a'],
  ])('[P-13] keeps %j and %j apart', async (one, other) => {
    let tenant = one;
    await start({ scope: () => tenant });
    const { id } = await askJson(app.url);
    const own = (await send(`${app.url}/responses/${id}`)).status;
    tenant = other;
    const foreign = await answersFor(String(id), {});
    expect([own, foreign]).toEqual([200, NOTHING]);
  });

  it('[P-13] sees what the host’s middlewares have put on the request', async () => {
    await start({ scope: (req) => `${req.method} ${req.baseUrl}` });
    const { id } = await askJson(app.url);
    // The scope of a GET is another one here, so that nothing is found.
    expect((await send(`${app.url}/responses/${id}`)).status).toBe(404);
  });
});

describe('a request with a cookie and no key', () => {
  const COOKIE: Headers = { cookie: 'session=ada' };

  it('[F-08] is answered, stored nowhere and reports that', async () => {
    await start();
    const { id, status, store } = await askJson(app.url, { store: true }, { headers: COOKIE });
    const answers = await answersFor(String(id), COOKIE);
    expect([status, store, answers]).toEqual(['completed', false, NOTHING]);
  });

  it.each<[string, string, JsonObject]>([
    ['a response in the background', '/responses', { background: true }],
    ['compaction', '/responses', { context_management: [{ type: 'compaction', compact_threshold: 5000 }] }],
    ['compaction', '/responses', { input: [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }] }],
    ['compaction', '/responses/compact', {}],
    ['a conversation', '/conversations', {}],
  ])('[F-08] is refused what needs storage, with what to do about it: %s at %s', async (what, path, more) => {
    await start();
    const body = JSON.stringify(path === '/conversations' ? {} : { model: 'm', input: 'Hi', ...more });
    const headers = { 'content-type': 'application/json', ...COOKIE };
    const response = await fetch(`${app.url}${path}`, { method: 'POST', headers, body });
    const { error } = parsed(await response.text()) as { error: JsonObject };
    const says = new RegExp(`^${what} needs storage, .* Send an Authorization header, or .* option 'scope'\\.$`, 'i');
    expect([response.status, error.code, says.test(String(error.message)), fake.requests.length]).toEqual([
      400,
      'tenant_unknown',
      true,
      0,
    ]);
  });

  it('[F-08] is refused a tool that waits for approval, since no approval could be found again', async () => {
    const tools = functionTools({ wipe: { execute: () => 'Gone.' } });
    await start({ tools, approval: () => true });
    const response = await ask(app.url, {}, { headers: COOKIE });
    const { error } = parsed(await response.text()) as { error: JsonObject };
    expect([response.status, error.code, fake.requests.length]).toEqual([400, 'tenant_unknown', 0]);
  });

  it('[F-08] is as any other once the host has named its user', async () => {
    await start({ scope: () => 'ada' });
    const { id } = await askJson(app.url, {}, { headers: COOKIE });
    expect((await send(`${app.url}/responses/${id}`, 'GET', COOKIE)).status).toBe(200);
  });
});

describe('ids', () => {
  it('[P-13] hold 128 bits that nobody can guess', async () => {
    await start();
    const ids = await Promise.all(Array.from({ length: 50 }, async () => String((await askJson(app.url)).id)));
    expect([ids.every((id) => /^resp_[0-9a-f]{32}$/.test(id)), new Set(ids.map((id) => id.slice(0, 13))).size]).toEqual(
      [true, 50],
    );
  });
});
