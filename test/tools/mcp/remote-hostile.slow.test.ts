/** What remote servers do to hosts that connect to them, and what requests try with them: the process lives, and reveals nothing. */
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { NOBODY } from '../../support/listening.ts';
import { closeAll, failureOf, never } from '../../support/mcp-client.ts';
import { warningLogger } from '../../support/warning-logger.ts';
import { type ConnectionWatch, watchConnections } from '../egress/site.ts';
import {
  callOf,
  describeRemote,
  drip,
  egressTo,
  HOST,
  named,
  namesOf,
  remoteFor,
  resolving,
  startFlooding,
  startRemote,
  startScripted,
  startTlsSite,
} from './remote-support.ts';

const SECRET = 'hunter2-hunter2-hunter2';
const MB = 1024 * 1024;

let watch: ConnectionWatch;
beforeEach(() => {
  watch = watchConnections();
});
afterEach(async () => {
  watch.stop();
  await closeAll();
});

const refused = { status: 400, code: 'invalid_value', param: 'tools[2].server_url' };
const unavailable = { status: 422, code: 'mcp_server_unavailable', param: 'tools[2]' };
const unreachable = { ...unavailable, param: 'tools[2].server_url' };
/** Also of a server that says something, and nothing that could be used. */
const givenUp = { ...unavailable, param: expect.stringMatching(/^tools\[2\](\.server_url)?$/) };
const unauthorized = { status: 424, code: 'http_error', type: 'external_connector_error', param: 'tools[2]' };
const attempted = () => [...new Set(watch.attempts)];

const UNREACHABLE =
  "The MCP server 'docs' cannot be reached: its host is not known, does not answer, or is not one that this server may go to.";

/** Everything that an error could show in a log. */
function unseen(...values: readonly unknown[]): void {
  expect(inspect(values, { depth: 20, showHidden: true })).not.toContain('hunter2');
}

describeRemote('URLs that requests may not name', () => {
  it.each([
    'http://tools.example/mcp',
    'https://user:password@tools.example/mcp',
    'https://tools.example./mcp',
    'https://tools.example:22/mcp',
    'file:///etc/passwd',
    'ws://tools.example/mcp',
    '/mcp',
    '',
  ])('[T-09] [B-19] [B-40] refuses %j without a connection', async (url) => {
    const remote = remoteFor([]);
    const error = await failureOf(remote.open({ ...named({ port: 443 }), url }, 'a', never()));
    expect([error, attempted()]).toEqual([expect.objectContaining(refused), []]);
  });

  it.each([
    'https://127.0.0.1/mcp',
    'https://0x7f000001/mcp',
    'https://2130706433/mcp',
    'https://[::1]/mcp',
    'https://[::ffff:127.0.0.1]/sse',
    'https://localhost/mcp',
    'https://a.localhost/mcp',
    'https://10.0.0.1/mcp',
    'https://169.254.169.254/latest/meta-data/',
    'https://[fd00:ec2::254]/latest/meta-data/',
    'https://8.8.8.8/mcp',
    'https://other.example/mcp',
    'https://tools.example.evil.test/tools/mcp',
  ])('[T-09] [B-19] [B-40] [F-20] goes to no host of %j, and does not say why', async (url) => {
    const remote = remoteFor([]);
    const error = await failureOf(remote.open({ ...named({ port: 443 }), url }, 'a', never()));
    expect([error, attempted()]).toEqual([expect.objectContaining(unreachable), []]);
  });

  it('[F-20] reports the same to untrusted clients of every host that cannot be reached, and the cause to the host', async () => {
    const server = await startRemote();
    const open = { ...egressTo(server, { allow: undefined, deny: [{ host: 'denied.example' }] }) };
    const to = (url: string, addresses: readonly string[], more: object = open) =>
      remoteFor([], { ...more, ...resolving(addresses) }).open({ ...named(server), url }, 'a', never());
    const own = `https://${HOST}:${server.port}/mcp`;
    const errors = await Promise.all(
      [
        to(`https://denied.example:${server.port}/mcp`, ['93.184.215.14']),
        to(`https://10.0.0.7:${server.port}/mcp`, []),
        to(own, ['10.0.0.7']),
        to(own, ['169.254.169.254']),
        to(own, ['93.184.215.14', '127.0.0.1']),
        to(own, []),
        to(own.replace(/:\d+/, `:${NOBODY.port}`), ['127.0.0.1'], egressTo(NOBODY, {})),
        // Something answers there, and it does not speak TLS with a name that we trust.
        remoteFor([], { ...egressTo(server, {}), egressResources: { resolve: async () => ['127.0.0.1'] } }).open(
          named(server),
          'a',
          never(),
        ),
      ].map(failureOf),
    );
    // The casts: `failureOf` answers what was thrown, which has been checked to be of this shape.
    const shown = errors.map((error) => JSON.stringify({ ...error, message: error.message, cause: undefined }));
    expect([new Set(shown).size, errors[0]]).toEqual([1, expect.objectContaining(unreachable)]);
    expect(errors.map(({ cause }) => (cause as { code?: string; message: string }).code ?? String(cause))).toEqual([
      'host_refused',
      'host_refused',
      'address_refused',
      'address_refused',
      'address_refused',
      'unresolved',
      expect.stringContaining('ECONNREFUSED'),
      expect.stringContaining('SELF_SIGNED'),
    ]);
  });

  it('[F-20] takes its time to report it, whatever the reason', async () => {
    let isTime = false;
    setTimeout(() => {
      isTime = true;
    }, 200);
    await failureOf(remoteFor([]).open({ ...named({ port: 443 }), url: 'https://10.0.0.7/mcp' }, 'a', never()));
    expect(isTime).toBe(true);
  });

  it.each([
    ['a private address', ['10.0.0.7']],
    ['a metadata service', ['169.254.169.254']],
    ['a public and a private address', ['93.184.215.14', '127.0.0.1']],
    ['no address', []],
  ])('[T-09] [B-19] refuses a name that has %s without a connection', async (_name, addresses) => {
    const server = await startRemote();
    const options = { ...egressTo(server, { allow: undefined }), ...resolving(addresses) };
    const errors = await Promise.all(
      ['/mcp', '/sse'].map((path) => failureOf(remoteFor([], options).open(named(server, { path }), 'a', never()))),
    );
    expect([errors, attempted()]).toEqual([
      [expect.objectContaining(unreachable), expect.objectContaining(unreachable)],
      [],
    ]);
  });

  it('[T-09] says no more of a URL than its host', async () => {
    const server = await startRemote();
    const url = (path: string) => ({ ...named(server), url: `https://${path}` });
    const errors = await Promise.all([
      failureOf(remoteFor([]).open(url(`other.example/${SECRET}?key=${SECRET}#${SECRET}`), 'a', never())),
      failureOf(remoteFor([]).open(url(`${SECRET}:${SECRET}@${HOST}/`), 'a', never())),
      failureOf(remoteFor([server], resolving([])).open(url(`${HOST}:${server.port}/${SECRET}`), 'a', never())),
    ]);
    expect(errors.map(({ message }) => message)).toEqual([
      UNREACHABLE,
      'Egress to https://tools.example refused: a URL must not hold a user or a password.',
      UNREACHABLE,
    ]);
    unseen(errors);
  });

  it.each([
    ['a line break', { 'x-key': `${SECRET}\r\nx: y` }],
    ['a name of its own', { 'x key': SECRET }],
    ['the host', { host: `${SECRET}.example` }],
    ['the length', { 'content-length': '7' }],
  ])('[T-09] refuses headers with %s, without their values', async (_name, headers) => {
    const server = await startRemote();
    const error = await failureOf(remoteFor([server]).open(named(server, { headers }), 'a', never()));
    expect([error, server.requests]).toEqual([
      expect.objectContaining({ status: 400, code: 'invalid_value', param: 'tools[2].headers' }),
      [],
    ]);
    unseen(error);
  });
});

describeRemote('the secrets of a request', () => {
  it('[B-15] [B-32] are not revealed by an error, whatever the server answers', async () => {
    const server = await startRemote();
    const query = encodeURIComponent('hunter2-in-the-query?&');
    const part = 'hunter2-in-the-path';
    const parts = { headers: { authorization: `Bearer ${SECRET}`, 'x-key': SECRET } };
    const hidden = [...SECRET].join('\u0000');
    const body = `No ${SECRET}, no Bearer ${SECRET}, no ${hidden}, no ${query}, no /${part}/mcp.${'x'.repeat(9_000)}`;
    server.refuseWith = { status: 401, body };
    const remote = remoteFor([server]);
    const errors = await Promise.all(
      [`/${part}/mcp?key=${query}`, `/sse?key=${query}`].map((path) =>
        failureOf(remote.open(named(server, { path, ...parts }), 'a', never())),
      ),
    );
    expect(errors).toEqual([expect.objectContaining(unauthorized), expect.objectContaining(unauthorized)]);
    expect(errors[0]?.message).toBe("The MCP server 'docs' answered with HTTP 401 (Unauthorized).");
    const long = named(server, { label: 'x'.repeat(5_000) });
    expect((await failureOf(remote.open(long, 'a', never()))).message.length).toBe(4_096);
    unseen(errors);
  });

  it('[B-32] are not revealed by tools, results, errors of calls and warnings', async () => {
    const warnings: string[] = [];
    const server = await startRemote();
    const remote = remoteFor([server], { logger: warningLogger(warnings) });
    const headers = { authorization: `Bearer ${SECRET}` };
    const provider = await remote.open(named(server, { headers, path: `/sse?key=${SECRET}` }), 'a', never());
    const reported = await callOf(provider, 'headers');
    const error = await failureOf(callOf(provider, 'refuse', { because: SECRET }));
    await failureOf(callOf(provider, 'crash'));
    expect([String(reported.content).includes('***'), error.message, warnings]).toEqual([
      true,
      'refused: ***',
      [`remoteMcp: server '${HOST}:${server.port}' lost its connection, which is reopened when it is needed.`],
    ]);
    unseen(provider, reported, error, warnings, await provider.list(never()), remote);
  });

  it.each([301, 302, 307, 308])('[T-09] do not follow a %d to a metadata service', async (status) => {
    const location = 'https://169.254.169.254/latest/meta-data/';
    const site = await startTlsSite((_request, response) => response.writeHead(status, { location }).end());
    const errors = [];
    for (const path of ['/mcp', '/sse'])
      errors.push(await failureOf(remoteFor([site]).open(named(site, { path }), 'a', never())));
    const seen = [errors, attempted(), new Set(site.requests.map(({ method }) => method))];
    expect(seen).toEqual([
      [expect.objectContaining(unavailable), expect.objectContaining(unavailable)],
      ['127.0.0.1'],
      new Set(['POST', 'GET']),
    ]);
  });

  it('[T-09] do not follow an SSE endpoint of another origin', async () => {
    const other = await startRemote();
    const site = await startTlsSite((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: https://${HOST}:${other.port}/mcp\n\n`);
    });
    const remote = remoteFor([site, other]);
    const error = await failureOf(remote.open(named(site, { path: '/sse' }), 'a', never()));
    expect([error, other.requests]).toEqual([expect.objectContaining(unavailable), []]);
  });

  it('[T-09] do not follow a name to an address that it did not have when the connection was opened', async () => {
    const server = await startRemote();
    const addresses = ['127.0.0.1'];
    const provider = await remoteFor([server], resolving(addresses)).open(named(server), 'a', never());
    const before = attempted();
    addresses[0] = '169.254.169.254';
    server.cut();
    const errors = [await failureOf(callOf(provider, 'echo')), await failureOf(callOf(provider, 'echo'))];
    const names = errors.map(({ name }) => name);
    expect([names, before, attempted()]).toEqual([['McpCallError', 'McpCallError'], ['127.0.0.1'], ['127.0.0.1']]);
  });
});

describeRemote('a hostile server', () => {
  const soon = { connectTimeoutMs: 1_000 };

  it('[T-09] whose list has no end has 256 pages', async () => {
    let page = 0;
    const site = await startScripted(() => ({ tools: [{ name: `t${page++}` }], nextCursor: `${page}` }));
    const provider = await remoteFor([site]).open(named(site), 'a', never());
    expect([(await namesOf(provider)).length, page]).toEqual([256, 256]);
  });

  it('[T-09] whose list is large offers what fits into 1 Mi characters', async () => {
    const warnings: string[] = [];
    const inputSchema = { type: 'object', description: 'd'.repeat(100_000) };
    const site = await startScripted((_method, { cursor = 0 }) => ({
      tools: Array.from({ length: 50 }, (_tool, index) => ({ name: `t${Number(cursor) + index}`, inputSchema })),
      ...(Number(cursor) < 450 ? { nextCursor: `${Number(cursor) + 50}` } : {}),
    }));
    const remote = remoteFor([site], { logger: warningLogger(warnings) });
    const provider = await remote.open(named(site), 'a', never());
    expect([(await namesOf(provider)).length, warnings]).toEqual([
      10,
      [
        `remoteMcp: server '${HOST}:${site.port}': left out tools that need tasks, are invalid or exceed a limit: "t10" and 489 more`,
      ],
    ]);
  });

  it.each([
    ['says nothing', () => {}],
    [
      'drips its head',
      (response: ServerResponse) =>
        drip(response, () => response.socket?.writable && response.socket.write('x'), 'HTTP/1.1 200 O'),
    ],
    ['drips its body', (response: ServerResponse) => drip(response.writeHead(200), () => response.write('x'))],
  ])('[T-09] that %s is given up, and its sockets are closed', async (_name, answer) => {
    const left: Promise<unknown>[] = [];
    const site = await startTlsSite((request, response) => {
      // Not by `once` of node:events, which a reset would fail.
      left.push(new Promise((resolve) => request.socket.once('close', resolve)));
      answer(response);
    });
    const errors = await Promise.all(
      ['/mcp', '/sse'].map((path) => failureOf(remoteFor([site], soon).open(named(site, { path }), 'a', never()))),
    );
    await Promise.all(left);
    expect([errors, left.length > 1]).toEqual([
      [expect.objectContaining(givenUp), expect.objectContaining(givenUp)],
      true,
    ]);
  });

  it('[T-09] that never lists its tools is given up', async () => {
    const site = await startScripted(() => undefined);
    const error = await failureOf(remoteFor([site], soon).open(named(site), 'a', never()));
    expect(error).toEqual(
      expect.objectContaining({
        ...unavailable,
        message: "The MCP server 'docs' is not available: It did not answer within 1000 ms.",
      }),
    );
  });

  it.each(['application/json', 'text/event-stream'])(
    '[T-09] that answers a call with 100 MB of %s fails that call, and serves the next',
    async (type) => {
      let written = 0;
      const server = await startRemote();
      const site = await startFlooding(type, (bytes) => {
        written += bytes;
      });
      const remote = remoteFor([server, site]);
      const provider = await remote.open(named(site), 'a', never());
      const error = await failureOf(callOf(provider, 'flood'));
      expect([error.name, written < 100 * MB, await callOf(provider, 'small')]).toEqual([
        'McpCallError',
        true,
        { content: 'small' },
      ]);
    },
  );

  it('[T-09] [B-40] that answers with more than egress.maxBytes fails that call', async () => {
    const server = await startRemote();
    const remote = remoteFor([server], egressTo(server, { maxBytes: MB }));
    const provider = await remote.open(named(server), 'a', never());
    const error = await failureOf(callOf(provider, 'large'));
    expect([error.name, await callOf(provider, 'echo', { text: 'again' })]).toEqual([
      'McpCallError',
      { content: 'again' },
    ]);
  });

  it('[T-09] whose texts hide something is shown without it', async () => {
    const bell = '\u0007\u001B[2J\u0085';
    const tag = String.fromCodePoint(0xe0041);
    const hidden = `a\tb\nc\r${bell}d\u202Ee${tag}\u200D\u00E9`;
    const site = await startScripted((method) =>
      method === 'tools/list'
        ? {
            tools: [
              { name: 'good', description: hidden, inputSchema: { type: 'object', description: hidden } },
              { name: `bad${bell}`, description: 'x' },
              { name: `good${tag}`, description: 'the same to the eye' },
            ],
          }
        : { content: [{ type: 'text', text: hidden }], isError: true },
    );
    const provider = await remoteFor([site]).open(named(site), 'a', never());
    const shown = 'a\tb\nc[2Jde\u200D\u00E9';
    expect([await provider.list(never()), await callOf(provider, 'good')]).toEqual([
      [
        expect.objectContaining({
          name: 'good',
          server: 'docs',
          description: shown,
          parameters: { type: 'object', description: shown },
        }),
      ],
      { content: shown, isError: true },
    ]);
  });

  it.each([
    ['no JSON', '<html>'],
    ['JSON of another kind', '[1]'],
    ['an answer to nobody', '{"jsonrpc":"2.0","id":99,"result":{}}'],
    ['deep JSON', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ])('[T-09] that answers with %s is not available', async (_name, body) => {
    const site = await startTlsSite((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(body),
    );
    const error = await failureOf(remoteFor([site], soon).open(named(site), 'a', never()));
    expect(error).toEqual(expect.objectContaining(unavailable));
  });

  it('[T-09] whose certificate nobody vouches for is sent nothing', async () => {
    const server = await startRemote();
    const resolve = async () => ['127.0.0.1'];
    const errors = [];
    for (const path of ['/mcp', '/sse']) {
      const remote = remoteFor([server], { egressResources: { resolve } });
      errors.push(await failureOf(remote.open(named(server, { path }), 'a', never())));
    }
    expect([errors.map(({ message }) => message), server.requests]).toEqual([[UNREACHABLE, UNREACHABLE], []]);
  });
});
