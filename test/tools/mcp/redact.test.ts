/** Redaction: no spelling of a secret gets through, and what is no secret stays readable. */
import { redactor } from '../../../src/tools/mcp/shared/redact.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

const SECRET = 'sk-"quoted"/0123+45';
const none = { headers: {}, env: {}, url: undefined, inserted: [] };

function masked(confidential: Partial<typeof none> | object, text: string, where: 'error' | 'content'): string {
  return redactor({ ...none, ...confidential })[where](text);
}

describe('redactor', () => {
  const places: readonly (readonly [string, object])[] = [
    ['a header', { headers: { 'x-key': SECRET } }],
    ['a bearer token', { headers: { authorization: `Bearer ${SECRET}` } }],
    ['a secret variable', { env: { API_KEY: SECRET } }],
    ['a query', { url: `http://h/?a=1&key=${encodeURIComponent(SECRET)}` }],
    ['a password', { url: `http://u:${encodeURIComponent(SECRET)}@h/` }],
    ["a database's password", { env: { DB: `postgres://u:${encodeURIComponent(SECRET)}@h/` } }],
  ];

  describe.each(places)('[A-35] masks %s', (_name, confidential) => {
    it.each([
      ['as it is', SECRET],
      ['inside JSON', JSON.stringify({ SECRET })],
      ['inside a URL', `http://h/?x=${encodeURIComponent(SECRET)}`],
    ])('%s', (_spelling, text) => {
      for (const where of ['error', 'content'] as const)
        expect(masked(confidential, text, where)).toMatch(/^[^0]*\*\*\*[^0]*$/);
    });
  });

  it.each([
    ['JSON of PHP', 'ab\\/cd+ef==ghij'],
    ['a path, by Python', 'ab/cd%2Bef%3D%3Dghij'],
    ['a path, in lower case', 'ab/cd%2bef%3d%3dghij'],
  ])('[A-35] masks a key in base64 inside %s', (_, text) => {
    expect(masked({ env: { API_KEY: 'ab/cd+ef==ghij' } }, `<${text}>`, 'content')).toBe('<***>');
  });

  it('[A-35] masks a password whose punctuation is encoded', () => {
    const confidential = { env: { PASSWORD: "it's (not) a*b!" } };
    const form = 'it%27s+%28not%29+a%2Ab%21';
    for (const text of [form, form.replaceAll('+', '%20'), form.toLowerCase()])
      expect(masked(confidential, `<${text}>`, 'content')).toBe('<***>');
  });

  it('[A-35] masks each line of a key', () => {
    const confidential = { env: { PRIVATE_KEY: '-----BEGIN-----\nAAAABBBBCCCC\n' } };
    expect(masked(confidential, 'read AAAABBBBCCCC', 'content')).toBe('read ***');
  });

  it('masks the whole of a secret that begins with another', () => {
    const confidential = { env: { A_KEY: 'abcdefgh', B_KEY: 'abcdefgh-ijkl' } };
    expect(masked(confidential, 'abcdefgh-ijkl and abcdefgh', 'content')).toBe('*** and ***');
  });

  it('[A-35] masks every variable and every value from the host environment in errors', () => {
    const confidential = { env: { MODE: 'production' }, inserted: ['from-host'] };
    expect(masked(confidential, 'production from-host', 'error')).toBe('*** ***');
  });

  it('leaves ordinary settings in results, where a path or a mode is no secret', () => {
    const confidential = { env: { MODE: 'production', ROOT: '/srv/files' }, inserted: ['/srv/files'] };
    expect(masked(confidential, '/srv/files in production', 'content')).toBe('/srv/files in production');
  });

  it('leaves short values in errors, which would garble them', () => {
    expect(masked({ env: { DEBUG: '1' } }, 'code 111', 'error')).toBe('code 111');
  });

  it('[F-13] does work that grows with the text and the secrets, not with one times the other', async () => {
    const shared = 'aaaaaaaa'.repeat(4);
    await expectLinearWork(500, (size) => {
      const values = Array.from({ length: size }, (_, index) => `${shared}${index.toString(36)}x`);
      const { content } = redactor({ ...none, url: `http://h/?${values.map((value) => `k=${value}`).join('&')}` });
      expect(content(`${'a'.repeat(100 * size)}${values[7]}`).endsWith('a***')).toBe(true);
    });
  });
});
