/** What strangers try with `passThroughRouter`: other paths, other servers, others' keys, bodies without end. */
import { EventEmitter, once } from 'node:events';
import { request as ask, type ServerResponse } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import express from 'express';
import {
  chatCompletionsUpstream,
  type PassThroughOptions,
  passThroughRouter,
  type Upstream,
} from '../../../src/index.ts';
import { tokenBudget } from '../../../src/policies/budgets/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { withFailover } from '../../../src/upstreams/routing/index.ts';
import { answersIn, overSocket, type RawAnswer } from '../../hostile/raw-http.ts';
import { closers, EMBEDDING, HOST_KEY, modelServer, post, type Received, serving, start } from './passing.ts';

const BODY = '{"model":"e","input":"x"}';

/** One request of these lines, on a connection that the server closes. */
async function raw(url: string, lines: readonly string[], body = BODY): Promise<RawAnswer | undefined> {
  const head = [...lines, 'Host: app', 'Connection: close', '', ''].join('\r\n');
  return answersIn(await overSocket(url, head + body))[0];
}

const JSON_LINES = ['Content-Type: application/json', `Content-Length: ${BODY.length}`];

describe('[E-07] another path than the host’s', () => {
  it.each([
    'http://elsewhere.example/v1/embeddings',
    'http://app/v1/embeddings',
    '/v1//embeddings',
    '//v1/embeddings',
    '/v1/./embeddings',
    '/v1/%65mbeddings',
    '/v1/embeddings;x=1',
    '/v1/embeddings%00',
    '/v1/embeddings%3f',
    '/v1/embeddings\\..\\files',
    '/v1/embeddings/%2e%2e/files',
    '/v1/embeddings/..%2ffiles',
    '/v1/embeddings/..;/files',
    '/v1/embeddings#/../files',
  ])('is not reached by %s', async (target) => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream, paths: ['/embeddings', '/embeddings/*'] });
    const answer = await raw(url, [`POST ${target} HTTP/1.1`, ...JSON_LINES]);
    expect([answer?.status === 404 || answer?.status === 400, model.received]).toEqual([true, []]);
  });

  it('is not reached by parameters: those that the host has named stand alone', async () => {
    const model = await modelServer();
    const upstream = chatCompletionsUpstream({ baseURL: `${model.url}/v1?api-version=1&key=k-12345678`, retries: 0 });
    closers.unshift(() => upstream.close());
    const { url } = await start({ upstream });
    await post(`${url}/embeddings?api-version=9&x=1&%6bey=mine&key`, BODY);
    expect(model.received.map(({ url: target }) => target)).toEqual([
      '/v1/embeddings?x=1&api-version=1&key=k-12345678',
    ]);
  });
});

describe('[E-07] another request than the one that was sent', () => {
  it('is not smuggled in a body or between two lengths', async () => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream });
    const hidden = 'POST /v1/files HTTP/1.1\r\nHost: app\r\nContent-Length: 0\r\n\r\n';
    const line = 'POST /v1/embeddings HTTP/1.1';
    const json = 'Content-Type: application/json';
    const both = await raw(url, [line, json, 'Content-Length: 4', 'Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`);
    const two = await raw(url, [line, json, 'Content-Length: 4', 'Content-Length: 90'], hidden);
    const folded = await raw(url, [line, json, 'Transfer-Encoding:\r\n chunked', 'Content-Length: 4'], hidden);
    const form = await raw(
      url,
      [
        'POST /v1/audio/translations HTTP/1.1',
        'Content-Type: multipart/form-data; boundary=b',
        'Transfer-Encoding: chunked',
      ],
      `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
    );
    expect([both?.status, two?.status, folded?.status, form?.status]).toEqual([400, 400, 400, 200]);
    expect(model.received.map(({ url: target, body }) => [target, String(body)])).toEqual([
      ['/v1/audio/translations', hidden],
    ]);
  });

  it('carries none of the client’s credentials, forwarding or hop-by-hop headers', async () => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream });
    const sent = [
      ...['Authorization: Bearer sk-client', 'X-Api-Key: sk-client', 'Api-Key: sk-client', 'Cookie: session=1'],
      ...['Proxy-Authorization: Basic abc', 'X-Forwarded-For: 10.0.0.1', 'X-Forwarded-Host: evil', 'Forwarded: for=1'],
      ...[
        'X-Forwarded-Proto: https',
        'X-Real-IP: 10.0.0.1',
        'X-Original-URL: /v1/files',
        'X-HTTP-Method-Override: GET',
      ],
      ...['TE: trailers', 'Trailer: x-end', 'Keep-Alive: timeout=9', 'Openai-Organization: org', 'Openai-Project: p'],
      ...['X-Stainless-Lang: js', 'Origin: https://evil.example', 'Referer: https://evil.example', 'Via: 1.1 evil'],
      ...['Accept-Encoding: gzip', 'Range: bytes=0-1', 'If-None-Match: x', 'X-Request-Id: req-1'],
    ];
    const answer = await raw(url, ['POST /v1/embeddings HTTP/1.1', ...JSON_LINES, ...sent]);
    const headers: Received['headers'] = model.received[0]?.headers ?? {};
    expect([answer?.status, Object.keys(headers).sort(), headers.host, headers.authorization]).toEqual([
      200,
      [
        'accept',
        'accept-encoding',
        'authorization',
        'connection',
        'content-length',
        'content-type',
        'host',
        'x-request-id',
      ],
      new URL(model.url).host,
      `Bearer ${HOST_KEY}`,
    ]);
    expect(headers['accept-encoding']).toBe('identity');
  });

  it('is refused where the client sends two credentials', async () => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream });
    const answer = await post(`${url}/embeddings`, BODY, { authorization: 'Bearer sk-a', 'x-api-key': 'sk-b' });
    expect([answer.status, await answer.text(), model.received]).toEqual([
      400,
      expect.stringContaining('ambiguous_credentials'),
      [],
    ]);
  });
});

describe('[E-07] the model server’s answer', () => {
  it('has no header that speaks of the host’s account, its cookies or its connection', async () => {
    const others = {
      ...{ 'set-cookie': 'a=b', server: 'vllm', location: 'http://inside.example', 'www-authenticate': 'Basic' },
      ...{ 'x-ratelimit-remaining-tokens': '5', 'openai-organization': 'org-host', 'x-inside': '1', via: '1.1 inside' },
      ...{ 'access-control-allow-origin': '*', 'strict-transport-security': 'max-age=1', 'x-request-id': 'theirs' },
    };
    const model = await modelServer(() => ({ ...EMBEDDING, headers: others }));
    const { url } = await start({ upstream: model.upstream });
    const answer = await raw(url, ['POST /v1/embeddings HTTP/1.1', ...JSON_LINES]);
    const names = answer?.head.match(/^[\w-]+(?=:)/gm)?.map((name) => name.toLowerCase());
    expect(names?.sort()).toEqual([
      'connection',
      'content-type',
      'date',
      'transfer-encoding',
      'x-powered-by',
      'x-request-id',
    ]);
    expect(answer?.head).not.toContain('theirs');
  });

  it('cannot lead the request and the host’s key to another server', async () => {
    const other = await modelServer();
    const model = await modelServer(({ url: target }) => ({
      ...{ status: target?.includes('moderations') ? 307 : 302, body: '' },
      headers: { location: `${other.url}/v1/embeddings?key=${HOST_KEY}` },
    }));
    const { url } = await start({ upstream: model.upstream });
    const answers = await Promise.all(['embeddings', 'moderations'].map((path) => post(`${url}/${path}`, BODY)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect([answers.map(({ status }) => status), answers.map(({ headers }) => headers.get('location'))]).toEqual([
      [502, 502],
      [null, null],
    ]);
    expect([texts.join().includes(HOST_KEY), texts.join().includes(new URL(other.url).port), other.received]).toEqual([
      false,
      false,
      [],
    ]);
  });

  it('is what its head says where the server compresses it unasked', async () => {
    const model = await modelServer(() => ({
      body: gzipSync(EMBEDDING.body),
      headers: { 'content-encoding': 'gzip' },
    }));
    const { url } = await start({ upstream: model.upstream });
    const answer = await raw(url, ['POST /v1/embeddings HTTP/1.1', ...JSON_LINES]);
    expect([answer?.head.includes('content-encoding'), answer?.body]).toEqual([false, EMBEDDING.body]);
  });
});

describe('[E-07] a body that is compressed', () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from('{"input":"'), Buffer.alloc(4e6, 'x'), Buffer.from('"}')]));
  const coded = { 'content-encoding': 'gzip' };

  it('passes as it is where nobody here reads it', async () => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream, limits: { request: { bodyBytes: 100_000 } } });
    const answer = await post(`${url}/embeddings`, bomb, coded);
    const { body = Buffer.alloc(0), headers } = model.received[0] ?? {};
    expect([answer.status, body.equals(bomb), headers?.['content-encoding']]).toEqual([200, true, 'gzip']);
  });

  it('is read by guards, and reaches the model server without its coding', async () => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream, guards: { input: [pii()] } });
    const answer = await post(`${url}/embeddings`, gzipSync('{"model":"e","input":"bob@example.com"}'), coded);
    const { body, headers } = model.received[0] ?? {};
    expect([answer.status, String(body), headers?.['content-encoding']]).toEqual([
      200,
      '{"model":"e","input":"[EMAIL]"}',
      undefined,
    ]);
  });

  it.each<[string, PassThroughOptions]>([
    ['guards', { guards: { input: [pii()] } }],
    ['a budget', { budget: tokenBudget({ limits: { tokens: { points: 1e9, duration: 3600 } } }) }],
  ])('is inflated within the limits for %s', async (_, options) => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream, limits: { request: { bodyBytes: 100_000 } }, ...options });
    const answer = await post(`${url}/embeddings`, bomb, coded);
    expect([gunzipSync(bomb).length > 4e6, answer.status, model.received]).toEqual([true, 413, []]);
  });
});

it('[E-07] guards see the text that a parser of the host has read, and nothing else is passed on', async () => {
  const model = await modelServer();
  const options = { upstream: model.upstream, logger: false as const, guards: { input: [pii()] } };
  const app = express().use('/v1', express.text({ type: '*/*' }), passThroughRouter(options));
  const { url } = await serving(app);
  const answer = await post(`${url}/v1/embeddings`, '{"model":"e","input":"bob@example.com"}');
  expect([answer.status, String(model.received[0]?.body)]).toEqual([200, '{"model":"e","input":"[EMAIL]"}']);
});

describe('[E-07] a body that a parser of the host has read', () => {
  it.each([
    ['json', express.json()],
    ['text', express.text({ type: '*/*' })],
    ['raw', express.raw({ type: '*/*' })],
  ])('is not taken for broken off where it is empty: %s', async (_, parser) => {
    const model = await modelServer();
    const { url } = await serving(
      express().use(parser, passThroughRouter({ upstream: model.upstream, logger: false })),
    );
    const answer = await post(`${url}/embeddings`, '');
    expect([answer.status, model.received.length]).toEqual([200, 1]);
  });

  it('is no JSON under the type of a form', async () => {
    const model = await modelServer();
    const parser = express.urlencoded({ extended: true });
    const { url } = await serving(
      express().use(parser, passThroughRouter({ upstream: model.upstream, logger: false })),
    );
    const answer = await post(`${url}/embeddings`, 'model=e', { 'content-type': 'application/x-www-form-urlencoded' });
    expect([answer.status, model.received]).toEqual([415, []]);
  });
});

describe('[E-07] methods', () => {
  const method = (url: string, name: string) =>
    raw(url, [`${name} /v1/embeddings HTTP/1.1`, 'Authorization: Bearer sk-client'], '');

  it.each(['HEAD', 'GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'])('%s stays the host’s', async (name) => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream });
    const answer = await method(url, name);
    expect([answer?.status, model.received]).toEqual([404, []]);
  });

  it.each(['OPTIONS', 'TRACE'])(
    '%s stays the host’s on a path of every method: it would show what was sent',
    async (name) => {
      const model = await modelServer();
      const { url } = await start({ upstream: model.upstream, paths: ['/embeddings'] });
      const answer = await method(url, name);
      expect([answer?.status, model.received]).toEqual([404, []]);
    },
  );

  it('HEAD leaves no call open at the servers that are chosen among', async () => {
    const model = await modelServer();
    const upstream = withFailover([{ upstream: model.upstream, name: 'a' }]);
    const { url } = await start({ upstream, paths: ['/embeddings'] });
    const answer = await method(url, 'HEAD');
    const { headers, method: asked } = model.received[0] ?? {};
    expect([answer?.status, answer?.body, asked, headers?.authorization]).toEqual([
      200,
      '',
      'HEAD',
      `Bearer ${HOST_KEY}`,
    ]);
    expect(upstream.servers?.().map(({ inFlight }) => inFlight)).toEqual([0]);
  });
});

describe('[E-07] a client that leaves', () => {
  /** What the model server sees of the request when its client leaves after the first bytes have arrived there. */
  async function seen(path: string, headers: Readonly<Record<string, string>>, begin: string): Promise<string> {
    let arrived: () => void = () => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    let end: (how: string) => void = () => {};
    const ended = new Promise<string>((resolve) => {
      end = resolve;
    });
    const server = await serving((req, res) => {
      let isWhole = false;
      req.once('end', () => {
        isWhole = true;
      });
      req.once('data', arrived).on('error', () => {});
      res.once('close', () => end(isWhole ? 'whole, and cut off' : 'cut off'));
    });
    const upstream = chatCompletionsUpstream({ baseURL: server.url, retries: 0 });
    closers.unshift(() => upstream.close());
    const { url } = await start({ upstream });
    const req = ask({ port: new URL(url).port, method: 'POST', path: `/v1${path}`, headers }).on('error', () => {});
    req.write(begin);
    await arrival;
    req.destroy();
    return ended;
  }

  it('takes an upload with it, which does not look whole', async () => {
    const form = { 'content-type': 'multipart/form-data; boundary=b' };
    const begin = `--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nw\r\n--b\r\n${' '.repeat(300)}`;
    expect(await seen('/audio/transcriptions', form, begin)).toBe('cut off');
  });

  it('harms nobody while its upload waits for its turn at the model server', async () => {
    const server = chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:9/v1' });
    closers.unshift(() => server.close());
    const asked = new EventEmitter();
    const upstream: Upstream = {
      ...server,
      async pass({ body }, { signal }) {
        const isLeft = once(signal, 'abort');
        asked.emit('asked');
        await isLeft;
        asked.emit('read', await buffer(body as AsyncIterable<Uint8Array>).catch((error: unknown) => error));
        throw signal.reason;
      },
    };
    const isAsked = once(asked, 'asked');
    const read = once(asked, 'read');
    const { url } = await start({ upstream });
    const headers = { 'content-type': 'multipart/form-data; boundary=b', 'content-length': '9000' };
    const target = { port: new URL(url).port, method: 'POST', path: '/v1/audio/translations', headers };
    const req = ask(target).on('error', () => {});
    req.write(`--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nw\r\n--b\r\n${' '.repeat(300)}`);
    await isAsked;
    req.destroy();
    await expect(read).resolves.toMatchObject([{ code: 'request_aborted' }]);
  });

  it('ends the request before its answer has begun', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': String(BODY.length) };
    expect(await seen('/embeddings', headers, BODY)).toBe('whole, and cut off');
  });
});

describe('[E-07] a body without end', () => {
  const PIECE = Buffer.alloc(64 * 1024, 'x');
  const ALL = 96e6;
  /** More than the sockets between the two may hold: 10 MB each on Linux, and what is read in one turn of the loop. */
  const MOST = 72e6;

  /** Writes all of it as fast as the other side takes it. */
  function pour(to: Pick<ServerResponse, 'write' | 'end' | 'once'>, written: (bytes: number) => void): void {
    for (let sent = 0; sent < ALL; sent += PIECE.length) {
      written(PIECE.length);
      if (to.write(PIECE)) continue;
      const rest = sent + PIECE.length;
      to.once('drain', () => pourRest(to, rest, written));
      return;
    }
    to.end();
  }
  function pourRest(
    to: Pick<ServerResponse, 'write' | 'end' | 'once'>,
    from: number,
    written: (bytes: number) => void,
  ) {
    for (let sent = from; sent < ALL; sent += PIECE.length) {
      written(PIECE.length);
      if (!to.write(PIECE)) return void to.once('drain', () => pourRest(to, sent + PIECE.length, written));
    }
    to.end();
  }

  /** Reads with many turns of the loop between two pieces; returns the most that was on its way. */
  async function slowly(from: AsyncIterable<Buffer>, written: () => number): Promise<{ read: number; most: number }> {
    let [read, most, pieces] = [0, 0, 0];
    for await (const piece of from) {
      read += piece.length;
      pieces += 1;
      most = Math.max(most, written() - read);
      if (pieces % 16 === 0) for (let turn = 0; turn < 8; turn += 1) await new Promise((next) => setImmediate(next));
    }
    return { read, most };
  }

  it('waits at the model server for a client that reads slowly', async () => {
    let written = 0;
    const server = await serving((req, res) => {
      req.resume();
      res.writeHead(200, { 'content-type': 'audio/mpeg' });
      pour(res, (bytes) => {
        written += bytes;
      });
    });
    const upstream = chatCompletionsUpstream({ baseURL: server.url, retries: 0 });
    closers.unshift(() => upstream.close());
    const { url } = await start({ upstream });
    const answer = await post(`${url}/audio/speech`, '{}');
    const { read, most } = await slowly(answer.body as unknown as AsyncIterable<Buffer>, () => written);
    expect([read >= ALL, most < MOST]).toEqual([true, true]);
  });

  it('waits at the client for a model server that reads slowly', async () => {
    let written = 0;
    let found = { read: 0, most: 0 };
    const server = await serving(async (req, res) => {
      found = await slowly(req, () => written);
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    const upstream = chatCompletionsUpstream({ baseURL: server.url, retries: 0 });
    closers.unshift(() => upstream.close());
    const { url } = await start({ upstream });
    const { port } = new URL(url);
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const status = await new Promise((resolve, reject) => {
      const req = ask({ port, method: 'POST', path: '/v1/audio/transcriptions', headers }, (res) => {
        res.resume().once('end', () => resolve(res.statusCode));
      });
      req.once('error', reject);
      pour(req as unknown as ServerResponse, (bytes) => {
        written += bytes;
      });
    });
    expect([status, found.read >= ALL, found.most < MOST]).toEqual([200, true, true]);
  });
});

it('[E-07] an upload over HTTP/2 that announces no length is passed on', async () => {
  const model = await modelServer();
  const app = passThroughRouter({ upstream: model.upstream, paths: ['POST /v1/audio/translations'] });
  const server = createHttp2Server((req, res) => app(req as never, res as never, () => res.writeHead(404).end()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const session = connect(`http://127.0.0.1:${port}`);
  closers.push(async () => {
    session.close();
    server.close();
  });
  const stream = session.request({
    ':method': 'POST',
    ':path': '/v1/audio/translations',
    'content-type': 'multipart/form-data; boundary=b',
  });
  stream.write('--b\r\n');
  stream.end('all of it');
  await buffer(stream);
  expect(model.received.map(({ body }) => String(body))).toEqual(['--b\r\nall of it']);
});
