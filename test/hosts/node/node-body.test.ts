/** How a request's body is read and replaced, and where a response's headers are found. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { headerIn, replaceBody, requestBody } from '../../../src/hosts/node/node-body.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';

type Request = IncomingMessage & { body?: unknown; _body?: boolean };

/** What is made of a request: what the reader answers, what stands on the request then, and what it was refused with. */
async function read(init: RequestInit, before: (req: Request) => unknown = () => {}) {
  let seen: JsonObject = {};
  const server = createServer(async (req: Request, res) => {
    await before(req);
    const { code, status, ...body } = await requestBody(req, { bodyBytes: 100, bodyValues: 100 }).then(
      (value) => ({ value }) as JsonObject,
      ({ code, status }) => ({ code, status }) as JsonObject,
    );
    const { 'content-length': length, 'content-type': type, 'content-encoding': encoding } = req.headers;
    const on = { body: req.body, length: length !== undefined, type, encoding };
    seen = code === undefined ? { ...body, on } : { code, status };
    res.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { method: 'POST', ...init })).text();
  await new Promise((resolve) => server.close(resolve));
  return seen;
}

const JSON_TYPE = { 'content-type': 'application/json' };

describe('bodyOf', () => {
  it('[X-02] reads JSON and leaves it on the request, as a body parser would', async () => {
    expect(await read({ body: '{"a":1}', headers: JSON_TYPE })).toEqual({
      value: { a: 1 },
      on: { body: { a: 1 }, length: false, type: 'application/json', encoding: undefined },
    });
  });

  it('[X-02] decodes what is compressed, and then no longer declares that it is', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' };
    expect(await read({ body: gzipSync('{"a":1}'), headers })).toEqual({
      value: { a: 1 },
      on: { body: { a: 1 }, length: false, type: 'application/json', encoding: undefined },
    });
  });

  it('[X-01] takes what a parser of the host’s has read, whatever it is', async () => {
    const parsed = await Promise.all(
      [{ a: 2 }, 'text', null].map((body) =>
        read({ body: '{"a":1}', headers: JSON_TYPE }, (req) => Object.assign(req, { body })),
      ),
    );
    expect(parsed.map(({ value, on }) => [value, (on as JsonObject).length])).toEqual([
      [{ a: 2 }, true],
      ['text', true],
      [null, true],
    ]);
  });

  it('[X-02] reads JSON for which a parser of another type has only set an empty object', async () => {
    const unread = await read({ body: '{"a":1}', headers: JSON_TYPE }, (req) => Object.assign(req, { body: {} }));
    const parsed = await read({ body: '{"a":1}', headers: JSON_TYPE }, async (req) => {
      for await (const _ of req);
      req.body = {};
    });
    const empty = await read({ headers: JSON_TYPE }, (req) => Object.assign(req, { body: {} }));
    expect([unread, parsed, empty].map(({ value }) => value)).toEqual([{ a: 1 }, {}, {}]);
  });

  it('[X-01] leaves alone what is not a POST of JSON, and what somebody has read without keeping it', async () => {
    const left = await Promise.all([
      read({ method: 'PUT', body: '{"a":1}', headers: JSON_TYPE }),
      read({ body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
      read({ body: '{"a":1}', headers: JSON_TYPE }, async (req) => {
        for await (const _ of req);
      }),
    ]);
    expect(left.map(({ value, on }) => [value, (on as JsonObject).body])).toEqual(
      left.map(() => [undefined, undefined]),
    );
  });

  it('[P-11] refuses what is too large or no JSON', async () => {
    const refused = await Promise.all([
      read({ body: JSON.stringify('x'.repeat(100)), headers: JSON_TYPE }),
      read({ body: gzipSync(JSON.stringify('x'.repeat(200))), headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }),
      read({ body: '{"a":', headers: JSON_TYPE }),
    ]);
    expect(refused).toEqual([
      { code: 'request_too_large', status: 413 },
      { code: 'request_too_large', status: 413 },
      { code: 'invalid_json', status: 400 },
    ]);
  });
});

describe('replaceBody', () => {
  it.each([{ 'content-length': '7' }, { 'transfer-encoding': 'chunked' }])(
    '[X-02] drops the framing that is no longer true, and keeps parsers from reading again',
    (framing) => {
      const req = { headers: { ...framing, host: 'x' }, body: { a: 1 } } as unknown as Request;
      replaceBody(req, { b: 2 });
      expect(req).toEqual({ headers: { host: 'x' }, body: { b: 2 }, _body: true });
    },
  );
});

describe('headerIn', () => {
  const given: readonly (readonly [string, readonly unknown[], string | undefined])[] = [
    ['nothing', [], undefined],
    ['a status', [200], undefined],
    ['a status and a reason', [200, 'Fine'], undefined],
    ['an object', [200, { 'content-type': 'a/b' }], 'a/b'],
    ['an object in other case', [200, 'Fine', { 'Content-Type': 'a/b' }], 'a/b'],
    ['names and values in turn', [200, ['X', 'content-type', 'CONTENT-TYPE', 'a/b']], 'a/b'],
    [
      'pairs',
      [
        200,
        [
          ['x', 'y'],
          ['Content-Type', 'a/b'],
        ],
      ],
      'a/b',
    ],
    ['another header', [200, { 'content-length': 7 }], undefined],
    ['a number', [200, { 'content-type': 7 }], '7'],
  ];
  const responseWith = (headers: JsonObject) => {
    const response = new ServerResponse({ method: 'POST' } as IncomingMessage);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, String(value));
    return response;
  };

  for (const [name, words, value] of given)
    it(`[A-20] finds what writeHead was given as ${name}, before what was set`, () => {
      const found = [{}, { 'Content-Type': 'set/before' }].map((set) =>
        headerIn(responseWith(set), words, 'content-type'),
      );
      expect(found).toEqual([value, value ?? 'set/before']);
    });
});
