/** What does get out, and how much of an answer comes back, over real sockets. */
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { createGzip, gzipSync } from 'node:zlib';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type EgressGuard, type EgressPolicy, egressGuard } from '../../../src/tools/egress/index.ts';
import { startMcpServer } from '../../support/mcp-http-server.ts';
import { describeWhere } from '../../support/skipping.ts';
import { certificateFor, rejectionOf, type Site, startSite } from './site.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const LOOPBACK: EgressPolicy = { schemes: ['http'], allow: [{ cidr: '127.0.0.0/8' }] };
const MB = 1024 * 1024;

async function started(answer: RequestListener): Promise<Site> {
  const site = await startSite(answer);
  closers.push(site.close);
  return site;
}

function guardOf(policy: EgressPolicy, ca?: string): EgressGuard {
  const guard = egressGuard(policy, { resolve: async () => ['127.0.0.1'], ca });
  closers.push(guard.close);
  return guard;
}

/** A site and a guard that lets requests to it out; `url` is the site's. */
async function opened(answer: RequestListener, policy: EgressPolicy = {}) {
  const site = await started(answer);
  const guard = guardOf({ ...LOOPBACK, ports: [site.port], ...policy });
  return { site, guard, url: `http://a.example:${site.port}` };
}

/** What a caller ends with who reads everything: the error, or how much there was. */
async function readingOf(promise: Promise<Response>): Promise<unknown> {
  const reading = promise.then(async (response) => (await response.arrayBuffer()).byteLength);
  return reading.catch((error: unknown) => error);
}

const coded = (code: string) => expect.objectContaining({ name: 'EgressError', code });

const certificate = certificateFor(['DNS:a.example', 'IP:127.0.0.1']);
const describeTls = describeWhere(certificate !== undefined, 'no openssl to make a certificate');

describeTls('over TLS', () => {
  const ca = certificate?.cert;
  const names = ({ requests }: Site) => requests.map(({ host, servername }) => ({ host, servername }));

  async function startedTls(): Promise<Site> {
    const site = await startSite((_req, res) => res.end('hello'), certificate);
    closers.push(site.close);
    return site;
  }

  it('[T-09] reaches an allowed name at its address, and asks for it by name', async () => {
    const site = await startedTls();
    const guard = guardOf({ ports: [site.port], allow: [{ host: 'a.example' }] }, ca);
    const text = await (await guard.fetch(`https://a.example:${site.port}/`)).text();
    expect([text, names(site)]).toEqual(['hello', [{ host: `a.example:${site.port}`, servername: 'a.example' }]]);
  });

  it('[T-09] reaches an allowed address', async () => {
    const site = await startedTls();
    const guard = guardOf({ ports: [site.port], allow: [{ cidr: '127.0.0.1/32' }] }, ca);
    expect(await (await guard.fetch(`https://127.0.0.1:${site.port}/`)).text()).toBe('hello');
  });

  it('[T-09] sends nothing to a server whose certificate is for another name', async () => {
    const site = await startedTls();
    const guard = guardOf({ ports: [site.port], allow: [{ host: 'b.example' }] }, ca);
    const error = await rejectionOf(guard.fetch(`https://b.example:${site.port}/`));
    const cause = expect.objectContaining({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect([error, site.requests]).toEqual([expect.objectContaining({ cause }), []]);
  });

  it('[T-09] sends nothing to a server that nobody vouches for', async () => {
    const site = await startedTls();
    const guard = guardOf({ ports: [site.port], allow: [{ host: 'a.example' }] });
    const error = await rejectionOf(guard.fetch(`https://a.example:${site.port}/`));
    const cause = expect.objectContaining({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect([error, site.requests]).toEqual([expect.objectContaining({ cause }), []]);
  });
});

describe('requests', () => {
  it('[T-09] go out as they were given', async () => {
    const bodies: string[] = [];
    const { site, guard, url } = await opened(async (req, res) => {
      for await (const chunk of req) bodies.push(String(chunk));
      res.writeHead(201, { 'x-answer': 'yes' }).end();
    });
    const headers = { authorization: 'Bearer key', 'x-key': 'k' };
    const response = await guard.fetch(`${url}/path?a=b#c`, { method: 'post', headers, body: 'text' });
    const [seen] = site.requests;
    expect([response.status, response.headers.get('x-answer'), bodies, seen]).toEqual([
      201,
      'yes',
      ['text'],
      expect.objectContaining({ url: '/path?a=b', headers: expect.objectContaining(headers) }),
    ]);
  });

  it.each(['host', 'connection', 'transfer-encoding', 'proxy-authorization', 'upgrade'])(
    '[T-09] may not bring their own %s header',
    async (name) => {
      const { site, guard, url } = await opened((_req, res) => res.end());
      const error = await rejectionOf(guard.fetch(url, { headers: { [name]: 'evil.test' } }));
      expect([error, site.requests]).toEqual([coded('request_refused'), []]);
    },
  );

  it('[T-09] with a broken header are refused without its value', async () => {
    const { guard, url } = await opened((_req, res) => res.end());
    const error = await rejectionOf(guard.fetch(url, { headers: { 'x-key': 'secret\r\nx: y' } }));
    expect(error).toEqual(coded('request_refused'));
    expect(`${error} ${(error as Error).cause}`).not.toContain('secret');
  });

  it('[T-09] end when their caller ends them', async () => {
    const { site, guard, url } = await opened((_req, res) => res.flushHeaders());
    const caller = new AbortController();
    const response = await guard.fetch(url, { signal: caller.signal });
    const reading = readingOf(Promise.resolve(response));
    const reason = new Error('enough');
    caller.abort(reason);
    expect([await reading, site.requests.length]).toEqual([reason, 1]);
  });

  it('[T-09] whose caller had already ended them do not go out', async () => {
    const { site, guard, url } = await opened((_req, res) => res.end());
    const reason = new Error('enough');
    const error = await rejectionOf(guard.fetch(url, { signal: AbortSignal.abort(reason) }));
    expect([error, site.requests]).toEqual([reason, []]);
  });
});

describe('redirects', () => {
  const to = (location: string, status = 302): RequestListener => {
    return (req, res) => (req.url === '/there' ? res.end('there') : res.writeHead(status, { location }).end());
  };

  it('[T-09] are refused', async () => {
    const { site, guard, url } = await opened(to('/there'));
    const error = await rejectionOf(guard.fetch(url));
    expect([error, site.requests.length]).toEqual([coded('redirect_refused'), 1]);
  });

  it('[T-09] are followed where the host allows it, as often as it allows', async () => {
    const { guard, url } = await opened(to('/there'), { maxRedirects: 1 });
    const { guard: loop, url: start, site } = await opened(to('/again'), { maxRedirects: 3 });
    const text = await (await guard.fetch(url)).text();
    const error = await rejectionOf(loop.fetch(start));
    expect([text, error, site.requests.length]).toEqual(['there', coded('redirect_refused'), 4]);
  });

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://0xa9fea9fe/',
    'http://10.0.0.1/',
    'http://a.example:22/',
    'http://user@a.example/',
    '//192.168.0.1/',
    'https://a.example/',
    'file:///etc/passwd',
    'http://',
  ])('[T-09] to %s are refused', async (location) => {
    const { site, guard, url } = await opened(to(location), { maxRedirects: 5 });
    const error = await rejectionOf(guard.fetch(url));
    expect([error, site.requests.length]).toEqual([coded(expect.stringMatching(/^(url|host)_refused$/)), 1]);
  });

  it('[T-09] to a name that resolves to a metadata service are refused', async () => {
    const site = await started(to('http://b.example/'));
    const resolve = async (name: string) => [name === 'a.example' ? '127.0.0.1' : '169.254.169.254'];
    const guard = egressGuard({ ...LOOPBACK, ports: [site.port, 80], maxRedirects: 1 }, { resolve });
    closers.push(guard.close);
    const error = await rejectionOf(guard.fetch(`http://a.example:${site.port}/`));
    expect(error).toEqual(coded('address_refused'));
  });

  it('[T-09] show another origin no key', async () => {
    const other = await started((_req, res) => res.end('other'));
    const site = await started(to(`http://b.example:${other.port}/`));
    const guard = guardOf({ ...LOOPBACK, ports: [site.port, other.port], maxRedirects: 1 });
    const headers = { authorization: 'Bearer key', cookie: 'k=1', 'x-api-key': 'key', accept: 'text/plain' };
    const text = await (await guard.fetch(`http://a.example:${site.port}/`, { headers })).text();
    const seen = other.requests.map((request) => Object.keys(headers).filter((name) => name in request.headers));
    expect([text, seen]).toEqual(['other', [['accept']]]);
  });

  it('[T-09] show another origin no body', async () => {
    const other = await started((_req, res) => res.end());
    const site = await started(to(`http://b.example:${other.port}/`, 307));
    const guard = guardOf({ ...LOOPBACK, ports: [site.port, other.port], maxRedirects: 1 });
    const error = await rejectionOf(guard.fetch(`http://a.example:${site.port}/`, { method: 'POST', body: 'secret' }));
    expect([error, other.requests]).toEqual([coded('redirect_refused'), []]);
  });

  it('[T-09] are handed to a caller that asks for them', async () => {
    const { guard, url } = await opened(to('http://10.0.0.1/'));
    const response = await guard.fetch(url, { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://10.0.0.1/']);
  });
});

describe('answers', () => {
  /** Writes as long as somebody takes it; resolves to how many bytes were written when the client left. */
  function endless(piece: Buffer) {
    let written = 0;
    const write = (res: ServerResponse) => {
      while (!res.destroyed && res.write(piece)) written += piece.length;
      res.once('drain', () => write(res));
    };
    return { write, written: () => written };
  }

  it('[T-09] may be as large as allowed, and not a byte larger', async () => {
    const { guard, url } = await opened((req, res) => res.end(Buffer.alloc(req.url === '/over' ? 1001 : 1000)), {
      maxBytes: 1000,
    });
    const readings = [await readingOf(guard.fetch(url)), await readingOf(guard.fetch(`${url}/over`))];
    expect(readings).toEqual([1000, coded('answer_too_large')]);
  });

  it('[T-09] that announce 100 MB are cut before they come', async () => {
    const left: Promise<unknown>[] = [];
    const { guard, url } = await opened((_req, res) => {
      left.push(once(res, 'close'));
      res.writeHead(200, { 'content-length': 100 * MB }).flushHeaders();
    });
    const error = await rejectionOf(guard.fetch(url));
    await Promise.all(left);
    expect([error, left.length]).toEqual([coded('answer_too_large'), 1]);
  });

  it('[T-09] without end are cut, and the server stops writing', async () => {
    const source = endless(Buffer.alloc(64 * 1024));
    const left: Promise<unknown>[] = [];
    const { guard, url } = await opened((_req, res) => {
      left.push(once(res, 'close'));
      source.write(res);
    });
    const error = await readingOf(guard.fetch(url));
    await Promise.all(left);
    expect([error, source.written() < 100 * MB]).toEqual([coded('answer_too_large'), true]);
  });

  it('[T-09] are counted unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * MB));
    const { guard, url } = await opened((_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    const error = await readingOf(guard.fetch(url));
    expect([error, bomb.length < MB]).toEqual([coded('answer_too_large'), true]);
  });

  it('[T-09] packed without end are cut', async () => {
    const { guard, url } = await opened((_req, res) => {
      res.writeHead(200, { 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(res);
      endlessInto(gzip, res);
    });
    expect(await readingOf(guard.fetch(url))).toEqual(coded('answer_too_large'));
  });

  function endlessInto(gzip: ReturnType<typeof createGzip>, res: ServerResponse): void {
    const piece = Buffer.alloc(MB);
    const write = () => {
      if (!res.destroyed) gzip.write(piece, write);
    };
    write();
  }

  it('[T-09] that no Response can hold fail, and their socket is closed', async () => {
    const left: Promise<unknown>[] = [];
    const { guard, url } = await opened((_req, res) => {
      left.push(once(res, 'close'));
      res.socket?.write('HTTP/1.1 999 Odd\r\ncontent-length: 1000\r\n\r\nhello');
    });
    const error = await readingOf(guard.fetch(url));
    await Promise.all(left);
    expect([error, left.length]).toEqual([expect.objectContaining({ name: 'RangeError' }), 1]);
  });

  it('[T-09] that nobody reads leave no timer behind when the guard is closed', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const { guard, url } = await opened((_req, res) => res.end(Buffer.alloc(MB)));
    const before = timers();
    const responses = await Promise.all([guard.fetch(url), guard.fetch(url)]);
    const reading = timers();
    await guard.close();
    const left = timers();
    const readings = await Promise.all(responses.map((response) => readingOf(Promise.resolve(response))));
    expect([reading - before >= 2, left <= before, readings]).toEqual([
      true,
      true,
      [expect.any(Error), expect.any(Error)],
    ]);
  });

  it('[T-09] that never begin are cut', async () => {
    const { guard, url } = await opened(() => {}, { timeoutMs: 50 });
    expect(await readingOf(guard.fetch(url))).toEqual(coded('answer_too_slow'));
  });

  it.each(['application/json', 'text/event-stream'])('[T-09] that drip byte by byte are cut, as %s', async (type) => {
    const drips: NodeJS.Timeout[] = [];
    const { guard, url } = await opened(
      (_req, res) => {
        res.writeHead(200, { 'content-type': type });
        drips.push(setInterval(() => res.write('x'), 10));
      },
      { timeoutMs: 100 },
    );
    const error = await readingOf(guard.fetch(url));
    drips.forEach(clearInterval);
    expect(error).toEqual(coded('answer_too_slow'));
  });
});

describe('event streams', () => {
  const asEvents = { 'content-type': 'text/event-stream' };

  it('[T-09] come through as they are sent', async () => {
    const streams: ServerResponse[] = [];
    const { guard, url } = await opened((_req, res) => {
      streams.push(res);
      res.writeHead(200, asEvents).write('data: 1\n\n');
    });
    const reader = (await guard.fetch(url)).body?.getReader();
    const first = await reader?.read();
    streams[0]?.end('data: 2\n\n');
    const second = await reader?.read();
    const texts = [first, second].map((piece) => Buffer.from(piece?.value ?? []).toString());
    expect(texts).toEqual(['data: 1\n\n', 'data: 2\n\n']);
  });

  it('[T-09] may hold more than one message may, in all', async () => {
    const { guard, url } = await opened((_req, res) => res.writeHead(200, asEvents).end('data: 12\n\n'.repeat(1000)), {
      maxBytes: 10,
    });
    expect(await readingOf(guard.fetch(url))).toBe(10_000);
  });

  it('[T-09] may be silent before and between events for longer than one may take', async () => {
    const streams: ServerResponse[] = [];
    const { guard, url } = await opened(
      (_req, res) => {
        streams.push(res);
        res.writeHead(200, asEvents).flushHeaders();
      },
      { timeoutMs: 50 },
    );
    const reader = (await guard.fetch(url)).body?.getReader();
    const texts: string[] = [];
    for (const [isSilence, text] of [
      [true, 'data: 1\r\n'],
      [false, '\r\n'],
      [true, 'data: 2\n\n'],
    ] as const) {
      if (isSilence) await silence(150);
      streams[0]?.write(text);
      texts.push(Buffer.from((await reader?.read())?.value ?? []).toString());
    }
    expect(texts).toEqual(['data: 1\r\n', '\r\n', 'data: 2\n\n']);
  });

  /** Not a sleep: the clock of another guard has to run out, which is what the first guard's must not do. */
  async function silence(timeoutMs: number): Promise<void> {
    const { guard, url } = await opened(() => {}, { timeoutMs });
    await readingOf(guard.fetch(url));
  }

  it('[T-09] are cut at an event that is too large', async () => {
    const event = `data: ${'x'.repeat(100)}\n: a comment\n`;
    const { guard, url } = await opened((_req, res) => res.writeHead(200, asEvents).end(event.repeat(20)), {
      maxBytes: 1000,
    });
    expect(await readingOf(guard.fetch(url))).toEqual(coded('answer_too_large'));
  });
});

describe("the MCP SDK's client", () => {
  it('[T-09] [B-40] works through the guard', async () => {
    const server = await startMcpServer();
    closers.push(server.close);
    const guard = guardOf({ ...LOOPBACK, ports: [server.port] });
    const client = new Client({ name: 'test', version: '1' });
    const url = new URL(server.url);
    url.hostname = 'mcp.example';
    await client.connect(new StreamableHTTPClientTransport(url, { fetch: guard.fetch }));
    const { tools } = await client.listTools();
    const fromServer = await namesFrom(server.url);
    await client.close();
    expect([tools.length > 0, tools.map(({ name }) => name)]).toEqual([true, fromServer]);
  });

  async function namesFrom(url: string): Promise<readonly string[]> {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const { tools } = await client.listTools();
    await client.close();
    return tools.map(({ name }) => name);
  }
});
