/** The recipes for authentication keep users apart as their page says. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type FakeUpstream, startFakeUpstream, textStream } from 'express-open-responses/testing';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JsonObject } from '../../src/protocol/record.ts';
import { answerOf, post, type Recipe, startRecipe } from './recipe.ts';

type Headers = Readonly<Record<string, string>>;

const AUDIENCE = 'model-api';
const HELLO = { body: textStream('Hello!') };

let fake: FakeUpstream;
let recipe: Recipe | undefined;

beforeEach(async () => {
  fake = await startFakeUpstream({ reply: () => HELLO });
});
afterEach(async () => {
  await recipe?.close();
  await fake.close();
});

async function start(name: string, variables: Headers = {}): Promise<string> {
  recipe = await startRecipe(name, { UPSTREAM_BASE_URL: fake.baseURL, ...variables });
  return recipe.url;
}

/** The statuses with which each reads a response of the first of them. */
async function seenBy(url: string, readers: readonly Headers[]): Promise<readonly number[]> {
  const { body } = await answerOf(post(`${url}/v1/responses`, { model: 'm', input: 'Hi.' }, readers[0]));
  const read = (headers: Headers) => fetch(`${url}/v1/responses/${body.id}`, { headers });
  return Promise.all(readers.map(async (headers) => (await read(headers)).status));
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

describe('the recipe for API keys', () => {
  it('[X-01] [P-13] knows a user by any of their keys, in either header', async () => {
    const url = await start('api-keys');
    const readers = [
      bearer('key-of-ada'),
      { 'x-api-key': 'new-key-of-ada' },
      bearer('key-of-bob'),
      bearer('key-of-eve'),
      {},
    ];
    expect(await seenBy(url, readers)).toEqual([200, 200, 404, 401, 401]);
  });
});

describe('the recipe for bearer tokens', () => {
  let provider: Server;

  afterEach(() => provider.close());

  /** An identity provider: its address, and how it signs tokens. */
  async function startProvider() {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }] });
    provider = createServer((req, res) => {
      const isKeys = req.url === '/.well-known/jwks.json';
      res.writeHead(isKeys ? 200 : 404, { 'content-type': 'application/json' }).end(isKeys ? keys : '{}');
    }).listen(0, '127.0.0.1');
    await once(provider, 'listening');
    // The cast: a server that listens on TCP has an address, and it is no pipe's name.
    const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`;
    const sign = ({ claims = {}, audience = AUDIENCE, key = privateKey, expires = '1h' }: SignOptions) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setExpirationTime(expires)
        .sign(key);
    return { issuer, sign };
  }

  interface SignOptions {
    readonly claims?: JsonObject;
    readonly audience?: string;
    readonly key?: CryptoKey;
    readonly expires?: string;
  }

  it('[X-01] [P-13] knows a user by the subject of the token, and refuses all other tokens', async () => {
    const { issuer, sign } = await startProvider();
    const url = await start('bearer-tokens', { TOKEN_ISSUER: issuer, TOKEN_AUDIENCE: AUDIENCE });
    const { privateKey: foreign } = await generateKeyPair('RS256');
    const ada = { sub: 'ada' };
    const tokens = await Promise.all([
      sign({ claims: ada }),
      sign({ claims: { ...ada, jti: 'another' } }),
      sign({ claims: { sub: 'bob' } }),
      sign({ claims: ada, audience: 'another-service' }),
      sign({ claims: ada, key: foreign }),
      sign({ claims: ada, expires: '-1h' }),
      sign({}),
    ]);
    expect(await seenBy(url, tokens.map(bearer))).toEqual([200, 200, 404, 401, 401, 401, 401]);
  });
});

describe('the recipe for sessions', () => {
  /** The cookie of a new session. */
  async function logIn(url: string, user: string, password = `password-of-${user}`): Promise<Headers> {
    const { status, headers } = await post(`${url}/login`, { user, password });
    const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? '';
    return { cookie, status: String(status) };
  }

  it('[X-01] [P-13] knows a user by the session, also by a new one, and refuses the form of another site', async () => {
    const url = await start('sessions');
    const readers = [
      await logIn(url, 'ada'),
      await logIn(url, 'ada'),
      await logIn(url, 'bob'),
      await logIn(url, 'ada', 'wrong'),
    ];
    const seen = await seenBy(url, readers);
    const headers = { ...readers[0], 'content-type': 'text/plain' };
    const form = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body: '{"model":"m","input":"Hi."}' });
    expect([readers.map(({ status }) => status), seen, form.status]).toEqual([
      ['204', '204', '204', '401'],
      [200, 200, 404, 401],
      415,
    ]);
  });
});
