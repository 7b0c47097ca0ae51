/** The default of the option `scope`: what distinguishes tenants where the host does not. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { tenantStore } from '../../src/apis/endpoint/tenant-store.ts';
import { memoryStore } from '../../src/index.ts';
import { defaultScope, isUntracked, limitScope, requireTenant } from '../../src/ports/scope.ts';

const scopeOf = (headers: Readonly<Record<string, string>>) => defaultScope(new Headers(headers));

describe('the default scope', () => {
  it('[F-08] is what it always was where there is Authorization alone, or nothing at all', () => {
    const digest = createHash('sha256').update('Bearer a').digest('base64url');
    const withCookie = scopeOf({ authorization: 'Bearer a', cookie: 'session=1' });
    expect([scopeOf({ authorization: 'Bearer a' }), withCookie, scopeOf({})]).toEqual([digest, digest, 'anonymous']);
  });

  it('[F-08] distinguishes every key', () => {
    const requests = [
      {},
      { authorization: 'a' },
      { authorization: 'A' },
      { authorization: 'Bearer b' },
      { 'x-api-key': 'c' },
      { 'api-key': 'd' },
      { authorization: 'Basic YTpi' },
      { authorization: '[["x-api-key","a"]]' },
      { authorization: 'anonymous' },
    ];
    expect(new Set(requests.map(scopeOf)).size).toBe(requests.length);
  });

  it('[G-04] is one for a key, whatever else is sent and however it is spelt, or the request is refused', () => {
    const key = fc.constantFrom('a', 'sk-1', 'dTpw');
    const spelling = fc.oneof(
      key.map((secret) => ({ 'x-api-key': secret })),
      key.map((secret) => ({ 'api-key': ` ${secret}, ${secret}` })),
      fc
        .tuple(
          fc.constantFrom('Bearer', 'bearer', 'BEARER', 'Token', 'x'),
          fc.constantFrom(' ', '  ', '\t '),
          key,
          fc.constantFrom('', ' x'),
        )
        .map(([scheme, space, secret, more]) => ({ authorization: `${scheme}${space}${secret}${more}` })),
      key.map((secret) => ({ authorization: secret })),
    );
    const tenants = (requests: readonly Readonly<Record<string, string>>[]) => {
      const scopes = requests.flatMap((headers) => {
        try {
          return scopeOf(headers);
        } catch (error) {
          expect(error).toMatchObject({ code: 'ambiguous_credentials', status: 400 });
          return [];
        }
      });
      return new Set(scopes).size;
    };
    fc.assert(
      fc.property(fc.array(fc.array(spelling, { minLength: 1, maxLength: 3 }), { maxLength: 20 }), (requests) => {
        expect(tenants(requests.map((parts) => Object.assign({}, ...parts)))).toBeLessThanOrEqual(3);
      }),
    );
    expect(tenants(['Basic dTpw', 'basic  dTpw=', 'BASIC dTpw==='].map((authorization) => ({ authorization })))).toBe(
      1,
    );
    expect(tenants([{ 'x-api-key': 'a, b' }, { authorization: 'Bearer a', 'api-key': 'b' }])).toBe(0);
  });

  it('[F-08] is another for each request with a cookie alone, all of which share one share of every limit', () => {
    const [one, other] = [scopeOf({ cookie: 'session=1' }), scopeOf({ cookie: 'session=1' })];
    expect([one !== other, isUntracked(one), isUntracked('untracked:'), limitScope(one) === limitScope(other)]).toEqual(
      [true, true, false, true],
    );
    expect(() => requireTenant(one, 'It', null)).toThrow(
      'It needs storage, and this server cannot tell whose request it is',
    );
  });
});

it('[F-08] a store keeps and finds nothing for a request with a cookie alone', async () => {
  const host = memoryStore();
  const puts: unknown[] = [];
  const store = tenantStore({ ...host, put: (response) => void puts.push(response) });
  const key = { scope: scopeOf({ cookie: 'a=b' }), id: 'resp_1' };
  await store.put({ ...key, createdAt: 0, input: [], output: [], resource: {} });
  const { conversations } = store;
  const found = [
    await store.get(key),
    await store.chain?.(key, 2),
    await store.delete(key),
    await conversations?.get(key),
    await conversations?.items(key),
    await conversations?.append(key, []),
    await conversations?.removeItem(key, 'msg_1'),
    await conversations?.delete(key),
  ];
  expect([puts, found]).toEqual([[], [undefined, [], false, undefined, [], false, false, false]]);
  expect(() => conversations?.put({ ...key, createdAt: 0, metadata: {} })).toThrow('A conversation needs storage');
});

describe('the warning', () => {
  const warned = (headers: string, env: Readonly<Record<string, string>> = {}) => {
    const url = join(import.meta.dirname, '../../dist/esm/core.js');
    const code = `import { openResponses } from ${JSON.stringify(url)};
      const api = openResponses();
      const request = { method: 'GET', path: '/responses/resp_1', headers: ${headers}, signal: new AbortController().signal };
      for (const _ of [1, 2]) await api.handle(request);`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
      env: { ...process.env, OPENAI_BASE_URL: 'http://127.0.0.1:1', ...env },
    });
    return stderr.match(/ExpressOpenResponsesWarning: .*/g) ?? [];
  };

  it('[F-08] says once, for a cookie, which line to write', () => {
    const [first = '', ...more] = warned("{ cookie: 'a=b' }");
    expect([first.includes('responsesRouter({ scope: (req) => req.user.id })'), more]).toEqual([true, []]);
  });

  it('[F-08] says once that all without a key share one scope, in production alone', () => {
    const production = warned('{}', { NODE_ENV: 'production' });
    expect([production.length, warned('{}', { NODE_ENV: 'development' })]).toEqual([1, []]);
  });
});
