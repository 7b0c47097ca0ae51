/** Hostile heads of requests: names, values, lengths, paths and methods that no client sends. The process survives and reveals nothing. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { errorIn, parsed } from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { answersIn, overSocket, type RawAnswer } from './raw-http.ts';
import { tally } from './tally.ts';

const { tried } = tally('heads of requests');

const BODY = '{"model":"m","input":"Hi"}';
/** Texts that must be in no answer: the model server's key and address, and our internals. */
const SECRETS = /upstream-key|node_modules|\/src\/|\bat \w+.*:\d+:\d+|sk-secret/;

let fake: FakeUpstream;
let app: App;
const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', note).on('uncaughtExceptionMonitor', note);
  fake = await startFakeUpstream();
  app = await startApp({ upstream: fake });
});

afterAll(async () => {
  process.off('unhandledRejection', note).off('uncaughtExceptionMonitor', note);
  await Promise.all([app.close(), fake.close()]);
});

/** After each attack, the next request is served as usual. */
afterEach(async () => {
  const [answer] = await sent(post());
  expect([answer?.status, uncaught, 'polluted' in {}]).toEqual([200, [], false]);
});

function post({ path = '/v1/responses', method = 'POST', headers = '', body = BODY } = {}): string {
  const fixed = `host: app\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\n${fixed}${headers}\r\n${body}`;
}

async function sent(...pieces: readonly (string | Buffer)[]): Promise<readonly RawAnswer[]> {
  const received = await overSocket(app.url, ...pieces);
  expect(received).not.toMatch(SECRETS);
  return answersIn(received);
}

/** The status, and the code of an error, whose envelope is checked. */
function reported({ status, head, body }: RawAnswer): string {
  expect(status).not.toBe(500);
  if (status < 400 || !/content-type: application\/json/i.test(head)) return String(status);
  return `${status} ${errorIn(parsed(body)).code}`;
}

function requestIdOf({ head }: RawAnswer): string | undefined {
  return /\r\nx-request-id: (.*?)(\r\n|$)/i.exec(head)?.[1];
}

describe('a request id', () => {
  it.each([
    ['a good one', 'abc-1.2:3_4', true],
    ['128 characters', 'x'.repeat(128), true],
    ['129 characters', 'x'.repeat(129), false],
    ['nothing', '', false],
    ['blanks', '   ', false],
    ['a tab', 'a\tb', false],
    ['a quote', 'a"b', false],
    ['markup', '<script>alert(1)</script>', false],
    ['bytes beyond ASCII', 'é\u0080ÿ', false],
    ['a list', 'a, b', false],
    ['a path', '../../etc/passwd', false],
    ['a format', '%s%n%x', false],
    ['escapes of a terminal', '\u009b31mred', false],
  ])('is returned if it is valid in a header, and replaced otherwise: %s', async (_, id, isKept) => {
    const [answer] = await sent(Buffer.from(post({ headers: `x-request-id: ${id}\r\n` }), 'latin1'));
    const back = answer && requestIdOf(answer);
    expect([answer?.status, isKept ? back === id : /^req_[0-9a-f]{32}$/.test(back ?? '')]).toEqual([200, true]);
    tried('request ids');
  });

  it('is single, however many are sent', async () => {
    const headers = Array.from({ length: 20 }, (_, index) => `x-request-id: id${index}\r\n`).join('');
    const [answer] = await sent(post({ headers }));
    expect(answer?.head.match(/x-request-id/gi)).toHaveLength(1);
    tried('request ids', 20);
  });

  it.each(['a\r\nx-evil: 1', 'a\nx-evil: 1', 'a\rx-evil: 1', 'a\0b', 'a\u000bb'])(
    'cannot put a header into the answer: %j',
    async (id) => {
      for (const { head } of await sent(Buffer.from(post({ headers: `x-request-id: ${id}\r\n` }), 'latin1')))
        expect(head).not.toMatch(/x-evil/i);
      tried('request ids');
    },
  );
});

describe('header names and values', () => {
  const ANY = [200, 400, 431];

  it.each([
    ['a name from the prototype', '__proto__: polluted\r\nconstructor: x\r\nprototype: x\r\n'],
    ['a name of another case', 'CONTENT-TYPE: text/plain\r\n'],
    ['a blank before the colon', 'x-a : b\r\n'],
    ['a name that is empty', ': b\r\n'],
    ['a line without a colon', 'nonsense\r\n'],
    ['a folded line', 'x-a: b\r\n c\r\n'],
    ['a NUL', 'x-a: b\0c\r\n'],
    ['bytes beyond ASCII', 'x-a: \u00ff\u0080\r\n'],
    ['a name beyond ASCII', 'x-\u00e9: b\r\n'],
    ['300 headers', Array.from({ length: 300 }, (_, index) => `x-${index}: y\r\n`).join('')],
    ['3,000 headers', Array.from({ length: 3000 }, (_, index) => `x-${index}: y\r\n`).join('')],
    ['one header a thousand times', 'accept: a\r\n'.repeat(1000)],
    ['a value of 10,000 characters', `x-a: ${'b'.repeat(10_000)}\r\n`],
    ['a value of a million characters', `x-a: ${'b'.repeat(1_000_000)}\r\n`],
    ['a name of 20,000 characters', `${'a'.repeat(20_000)}: b\r\n`],
    ['a long authorization', `authorization: Bearer ${'a'.repeat(15_000)}\r\n`],
    ['an authorization that is nothing', 'authorization: \r\n'],
    ['two authorizations', 'authorization: Bearer a\r\nauthorization: Bearer b\r\n'],
    ['upgrade to nothing', 'connection: upgrade\r\nupgrade: nothing\r\n'],
    ['an expectation', 'expect: 200-maybe\r\n'],
    ['a million cookies', `cookie: ${'a=b;'.repeat(3000)}\r\n`],
    ['a forwarded address', 'x-forwarded-for: 127.0.0.1, ::1\r\nforwarded: for="[::1]"\r\nx-real-ip: localhost\r\n'],
    ['another method', 'x-http-method-override: DELETE\r\nx-method-override: DELETE\r\n'],
    ['another path', 'x-original-url: /v1/admin\r\nx-rewrite-url: /v1/admin\r\n'],
  ])('are taken or refused: %s', async (_, headers) => {
    const before = process.memoryUsage().rss;
    const [answer] = await sent(Buffer.from(post({ headers }), 'latin1'));
    // Express, or Node itself, answers an expectation that it does not know with 417.
    expect([...ANY, 417, undefined]).toContain(answer?.status);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    if (answer) reported(answer);
    tried('names and values of headers');
  });
});

describe('the length of a body', () => {
  const head = (lines: string) =>
    `POST /v1/responses HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\n${lines}\r\n`;
  const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  const length = BODY.length;
  const SMUGGLED = 'GET /v1/responses/resp_smuggled HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n';

  it.each<[string, string, string]>([
    ['two that are the same', `content-length: ${length}\r\ncontent-length: ${length}\r\n`, BODY],
    ['two that differ', `content-length: ${length}\r\ncontent-length: 3\r\n`, BODY + SMUGGLED],
    ['a list of two', `content-length: ${length}, 3\r\n`, BODY + SMUGGLED],
    [
      'a length and chunks',
      `content-length: 3\r\ntransfer-encoding: chunked\r\n`,
      `${chunk(BODY)}0\r\n\r\n${SMUGGLED}`,
    ],
    [
      'chunks and a length',
      `transfer-encoding: chunked\r\ncontent-length: 3\r\n`,
      `${chunk(BODY)}0\r\n\r\n${SMUGGLED}`,
    ],
    ['an encoding nobody knows', 'transfer-encoding: rot13\r\n', BODY],
    ['chunks under a false name', `transfer-encoding: xchunked\r\ncontent-length: ${length}\r\n`, BODY + SMUGGLED],
    ['chunks twice', 'transfer-encoding: chunked, chunked\r\n', `${chunk(BODY)}0\r\n\r\n`],
    ['chunks that are not last', 'transfer-encoding: chunked, identity\r\n', `${chunk(BODY)}0\r\n\r\n`],
    ['a blank before the colon', 'transfer-encoding : chunked\r\n', `${chunk(BODY)}0\r\n\r\n${SMUGGLED}`],
    ['a negative one', 'content-length: -1\r\n', BODY],
    ['one with a plus', `content-length: +${length}\r\n`, BODY],
    ['one in hexadecimal', `content-length: 0x${length.toString(16)}\r\n`, BODY],
    ['one beyond all numbers', 'content-length: 99999999999999999999999999\r\n', BODY],
    ['a chunk of a negative size', 'transfer-encoding: chunked\r\n', `-1\r\n${BODY}\r\n0\r\n\r\n`],
    ['a chunk beyond all numbers', 'transfer-encoding: chunked\r\n', `ffffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`],
    [
      'a chunk with a megabyte of extension',
      'transfer-encoding: chunked\r\n',
      `1a;${'x'.repeat(1_000_000)}\r\n${BODY}\r\n0\r\n\r\n`,
    ],
    [
      'trailers that look like headers',
      'transfer-encoding: chunked\r\n',
      `${chunk(BODY)}0\r\nauthorization: Bearer x\r\n\r\n`,
    ],
    ['bare line feeds in chunks', 'transfer-encoding: chunked\r\n', `1a\n${BODY}\n0\n\n${SMUGGLED}`],
  ])('cannot hide a second request: %s', async (_, lines, body) => {
    const answers = await sent(head(lines) + body);
    expect(answers.filter((answer) => answer.body.includes('resp_smuggled') && !lines.includes('chunked'))).toEqual([]);
    for (const answer of answers) reported(answer);
    tried('lengths of bodies');
  });

  it('that declares more than the limit is discarded and refused, and takes no memory', async () => {
    const size = 256 * 1024 * 1024;
    const piece = Buffer.alloc(1024 * 1024, 0x20);
    const before = process.memoryUsage().rss;
    const pieces = Array.from({ length: size / piece.length }, () => piece);
    const [answer] = await sent(head(`content-length: ${size}\r\nconnection: close\r\n`), ...pieces);
    expect(answer && reported(answer)).toBe('413 request_too_large');
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    tried('lengths of bodies');
  });

  it('that is over the limit is refused before anything of it is kept', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => sent(head('content-length: 1000000000\r\nconnection: close\r\n'), BODY)),
    );
    expect(new Set(answers.flat().map(reported))).toEqual(new Set(['413 request_too_large']));
    tried('lengths of bodies', 50);
  });

  it('in 100,000 chunks of one byte is one body, read in linear work', async () => {
    await expectLinearWork(100_000, async (size) => {
      const text = JSON.stringify({ model: 'm', input: 'x'.repeat(size) });
      const pieces = [...text].map(chunk).join('');
      const [answer] = await sent(head('transfer-encoding: chunked\r\nconnection: close\r\n') + pieces, '0\r\n\r\n');
      expect(answer?.status).toBe(200);
    });
    tried('chunks', 100_000);
  });
});

describe('the type of a body', () => {
  const typed = (type: string, more = '') =>
    `POST /v1/responses HTTP/1.1\r\nhost: app\r\nconnection: close\r\n${type}content-length: ${BODY.length}\r\n${more}\r\n${BODY}`;

  it.each<[string, string]>([
    ['content-type: application/json\r\n', '200'],
    ['content-type: APPLICATION/JSON\r\n', '200'],
    ['content-type: application/json; charset=utf-8\r\n', '200'],
    ['content-type: application/json;charset="utf-8"\r\n', '200'],
    ['content-type: application/json; charset=utf-16\r\n', '415 unsupported_media_type'],
    ['content-type: text/plain\r\n', '415 unsupported_media_type'],
    ['content-type: text/plain; application/json\r\n', '415 unsupported_media_type'],
    ['content-type: application/x-www-form-urlencoded\r\n', '415 unsupported_media_type'],
    ['content-type: multipart/form-data; boundary=application/json\r\n', '415 unsupported_media_type'],
    ['content-type: application/jsonx\r\n', '415 unsupported_media_type'],
    // A page of another origin cannot send this type without a preflight, either.
    ['content-type: xapplication/json\r\n', '200'],
    ['content-type: text/plain\r\ncontent-type: application/json\r\n', '415 unsupported_media_type'],
    [`content-type: ${'a'.repeat(5000)}/json\r\n`, '200'],
    [`content-type: application/json;${' ;'.repeat(5000)}\r\n`, '200'],
  ])('is JSON or refused: %j', async (type, expected) => {
    const [answer] = await sent(typed(type));
    expect(answer && reported(answer)).toBe(expected);
    tried('types of bodies');
  });

  it.each([
    'gzip, gzip, gzip, gzip',
    'br',
    'identity, gzip',
    'x'.repeat(5000),
    '__proto__',
    'gzip\r\ncontent-encoding: br',
  ])('is refused in an unknown encoding: %j', async (encoding) => {
    const [answer] = await sent(typed('content-type: application/json\r\n', `content-encoding: ${encoding}\r\n`));
    expect(answer?.status === 400 || answer?.status === 415).toBe(true);
    if (answer) reported(answer);
    tried('encodings of bodies');
  });
});

describe('paths and methods', () => {
  const get = (path: string, method = 'GET') => `${method} ${path} HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n`;

  it.each([
    '//v1/responses/resp_x',
    '/v1//responses/resp_x',
    '/v1/responses//resp_x',
    '/v1/responses/',
    '/v1/responses/%2e%2e/models',
    '/v1/responses/../models',
    '/v1/responses/..%2fmodels',
    '/v1/responses/resp_%2e%2e%2f',
    '/v1/responses/resp_x%2finput_items',
    '/v1/responses/resp_x%5cinput_items',
    '/v1/responses/%00',
    '/v1/responses/%',
    '/v1/responses/%zz',
    '/v1/responses/%c0%ae%c0%ae',
    '/v1/responses/%ff%fe',
    '/v1/responses/%F0%9F%99%82',
    '/v1/responses/resp_x;a=b',
    '/v1/responses/resp_x?__proto__[polluted]=1&constructor[prototype][polluted]=1',
    `/v1/responses/resp_x?${'a=b&'.repeat(3000)}`,
    `/v1/responses/resp_x?a${'[a]'.repeat(2000)}=1`,
    `/v1/responses/${'x'.repeat(10_000)}`,
    `/v1/responses/${'/'.repeat(5000)}`,
    `/v1/responses/${'%2f'.repeat(4000)}`,
    '/v1/responses/chat_resp_x',
    '/v1/responses/approval_mcpr_x',
    '/v1/responses/resp_*',
    "/v1/responses/resp_x'%20OR%20'1'='1",
    '/v1/responses/$%7bjndi:ldap://x%7d',
    '/v1/responses/%0d%0ax-evil:%201',
    '/v1/responses/__proto__/input_items',
    '/v1/responses/constructor/cancel',
    '/v1/conversations/__proto__',
    '/v1/conversations/__proto__/items/constructor',
    '/v1/conversations/%2e%2e/items',
    'http://elsewhere.example/v1/responses/resp_x',
    'http://user:sk-other@elsewhere.example:99/v1/responses/resp_x',
    'https:///v1/responses/resp_x',
    '*',
    'v1/responses',
    '/v1/responses/resp_x#fragment',
    '\\v1\\responses',
  ])('are refused in the envelope, or reach no router: GET %s', async (path) => {
    const answers = await sent(get(path));
    for (const answer of answers) {
      reported(answer);
      expect([answer.status >= 400 || /\/models/.test(path), answer.head]).toEqual([
        true,
        expect.not.stringMatching(/x-evil/i),
      ]);
    }
    tried('paths');
  });

  it.each([
    'PUT',
    'PATCH',
    'TRACE',
    'CONNECT',
    'OPTIONS',
    'HEAD',
    'PROPFIND',
    'SEARCH',
    'PURGE',
    'M-SEARCH',
    'get',
    'G\u0000T',
    'POSTPOST',
  ])('are refused, and start nothing: %s', async (method) => {
    const before = fake.requests.length;
    const answers = await sent(post({ method }));
    for (const answer of answers) if (method !== 'HEAD') reported(answer);
    expect(fake.requests.length).toBe(before);
    tried('methods');
  });

  it('with ids as long as a request may be are not found, in linear work', async () => {
    await expectLinearWork(14_000, async (size) => {
      const [answer] = await sent(get(`/v1/responses/resp_${'0'.repeat(size)}`));
      expect(answer && reported(answer)).toBe('404 response_not_found');
    });
    tried('paths', 3);
  });

  it('of random bytes are answered, or the connection ends', async () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const bytes = Buffer.from(
        Array.from({ length: 40 }, (_, index) => (seed * 7919 + index * index * 104_729) % 256),
      );
      const received = await overSocketFast(
        Buffer.concat([Buffer.from('GET /v1/'), bytes, Buffer.from('\r\n\r\n\r\n')]),
      );
      expect(received).not.toMatch(SECRETS);
      expect(received).not.toMatch(/^HTTP\/1\.1 5/);
    }
    tried('paths of any bytes', 300);
  });

  /** Ends with a complete request, so that bytes that cannot be parsed are answered at once. */
  function overSocketFast(bytes: Buffer): Promise<string> {
    return overSocket(app.url, bytes, 'GET / HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n');
  }
});

it('answers pipelined requests in order, each by itself', async () => {
  const kept = (input: string) => {
    const body = JSON.stringify({ model: 'm', input });
    return `POST /v1/responses HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  };
  const broken =
    'POST /v1/responses HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n{';
  const answers = await sent(kept('1') + broken + kept('2') + post({ body: '{"model":"m","input":"3"}' }));
  const outcomes = answers.map((answer) =>
    answer.status === 200 ? (parsed(answer.body) as JsonObject).status : reported(answer),
  );
  expect(outcomes).toEqual(['completed', '400 invalid_json', 'completed', 'completed']);
  tried('pipelined requests', 4);
});
