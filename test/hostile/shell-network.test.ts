/** What hostile commands try with an allow list of domains: to reach what is not on it, and to take more of the network than they may. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { CodeContainer, CodeRuntime } from '../../src/ports/hosted-tools/code-runtime.ts';
import { bubblewrapRuntime } from '../../src/tools/shell/index.ts';
import { describeWith, findProgram } from '../support/services.ts';
import { certificateFor, type Site, startSite } from '../tools/egress/site.ts';

const PATIENCE = 120_000;
const NEVER = new AbortController().signal;
const BYTES = 1_000_000;
const CONNECTIONS = 4;
const NAMES = ['site.example', 'moved.example', 'endless.example', 'open.example'];
const certificate = certificateFor(NAMES.map((name) => `DNS:${name}`));

/** Names of suffixes that the host opens, whose owners answer with addresses of the host's network. */
const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(NAMES.map((name) => [name, ['127.0.0.1']])),
  'loopback.public.example': ['127.0.0.1'],
  'private.public.example': ['10.0.0.1'],
  'metadata.public.example': ['169.254.169.254'],
  'mapped.public.example': ['::ffff:127.0.0.1'],
  'mixed.public.example': ['93.184.215.14', '127.0.0.1'],
  'nothing.public.example': [],
};
const PRIVATE = Object.keys(ADDRESSES).filter((name) => name.endsWith('.public.example'));

let site: Site;
let runtime: CodeRuntime;
let container: CodeContainer;
let waiting: ServerResponse | undefined;

beforeAll(async () => {
  if (!certificate) return;
  site = await startSite((req, res) => {
    const host = req.headers.host?.split(':')[0];
    if (host === 'moved.example') return void res.writeHead(302, { location: 'https://open.example/' }).end();
    if (host === 'endless.example') return void res.end('x'.repeat(3 * BYTES));
    if (req.url === '/wait') {
      waiting = res;
      return void res.write('begun\n');
    }
    res.end('reached');
  }, certificate);
  runtime = bubblewrapRuntime({
    limits: { runMs: 20_000 },
    network: {
      allow: [...NAMES.map((host) => ({ host })), { suffix: '.public.example' }],
      ports: [site.port],
      ...{ connections: CONNECTIONS, bytes: BYTES },
      resolve: async (name) => ADDRESSES[name] ?? [],
    },
  });
  // All but one: what the host opens is not thereby open to this container.
  const allowedDomains = [...NAMES.filter((name) => name !== 'open.example'), ...PRIVATE];
  container = await runtime.create(NEVER, '', { allowedDomains });
}, PATIENCE);
afterAll(async () => {
  await container?.close();
  await runtime?.close();
  await site?.close();
});

async function ran(command: string): Promise<string> {
  const run = await container.exec?.({ command }, NEVER);
  return `${run?.stdout}${run?.stderr}`;
}

/** What the way out answers to these bytes, and to those that follow. `<long>` becomes a header of a megabyte, `<many>` thousands of them. */
function told(
  request: string,
  { at = "socket.create_connection(('127.0.0.1', 3128))", more = '' } = {},
): Promise<string> {
  return ran(`python3 - <<'END'
import socket
s = ${at}
s.settimeout(8)
try:
    request = ${JSON.stringify(request)}.replace('<long>', 'X: ' + 'x' * 1000000).replace('<many>', 'X: y\\r\\n' * 20000)
    s.sendall(request.encode('latin1'))
    got = s.recv(65536)
    ${more || 'pass'}
    print(got.decode('latin1'))
except (OSError, EOFError) as error:
    print('ended:', error)
END`);
}

const connectTo = (authority: string, headers = '') =>
  `CONNECT ${authority} HTTP/1.1\r\nHost: site.example\r\n${headers}\r\n`;
const REFUSED = /^HTTP\/1\.1 (403|400|431) |^ended: |^\s*$/;

const isReady = certificate !== undefined && findProgram('bwrap') !== undefined;
describeWith(isReady ? findProgram('bwrap') : undefined, 'bubblewrap and openssl')(
  '[E-01] a command with an allow list',
  () => {
    it(
      'reaches a domain that is on it, and learns how from its environment',
      async () => {
        expect(await ran(`curl -sSk https://site.example:${site.port}/`)).toBe('reached');
        expect(await ran(`curl -sSk https://SITE.example:${site.port}/`)).toBe('reached');
      },
      PATIENCE,
    );

    it.each([
      ['a domain that is not on it, though the host opens it', () => `open.example:${site.port}`],
      ['a domain that nobody opens', () => `evil.example:${site.port}`],
      ['a domain below one that is on it', () => `www.site.example:${site.port}`],
      ['a domain that ends like one', () => `evilsite.example:${site.port}`],
      ['this machine', () => `127.0.0.1:${site.port}`],
      ['this machine by its name', () => `localhost:${site.port}`],
      ['this machine as a number', () => `2130706433:${site.port}`],
      ['this machine in hexadecimal', () => `0x7f.1:${site.port}`],
      ['this machine over IPv6', () => `[::1]:${site.port}`],
      ['this machine as a mapped address', () => `[::ffff:127.0.0.1]:${site.port}`],
      ['the metadata of a cloud', () => '169.254.169.254:80'],
      ['a user in front of another host', () => `site.example@127.0.0.1:${site.port}`],
      ['a password in front of another host', () => `site.example:${site.port}@127.0.0.1:${site.port}`],
      ['a name with a dot at its end', () => `site.example.:${site.port}`],
      ['a name with a percent sign', () => `site.example%00.evil.example:${site.port}`],
      ['a name with a path', () => `site.example/@127.0.0.1:${site.port}`],
      ['a name with a backslash', () => `site.example\\@127.0.0.1:${site.port}`],
      ['a name with a null byte', () => `site.example\0.evil.example:${site.port}`],
      ['another port', () => 'site.example:22'],
      ['a port that is none', () => 'site.example:99999'],
      ['no port', () => 'site.example'],
      ['two names', () => `site.example:${site.port} evil.example:${site.port}`],
    ])(
      'does not reach %s',
      async (_, authority) => {
        const before = site.connections;
        expect(await told(connectTo(authority()))).toMatch(REFUSED);
        expect(site.connections).toBe(before);
      },
      PATIENCE,
    );

    it(
      'hears the same of addresses of the host’s network, and of names that do not exist',
      async () => {
        const before = site.connections;
        const answers = [];
        for (const name of PRIVATE) answers.push(await told(connectTo(`${name}:${site.port}`)));
        expect(new Set(answers)).toEqual(new Set([expect.stringMatching(/^HTTP\/1\.1 502 .*cannot be reached/s)]));
        expect([answers.length, site.connections]).toEqual([6, before]);
      },
      PATIENCE,
    );

    it.each([
      ['plain HTTP', () => `GET http://site.example:${site.port}/ HTTP/1.1\r\nHost: site.example\r\n\r\n`],
      ['plain HTTP to the metadata of a cloud', () => 'GET http://169.254.169.254/ HTTP/1.1\r\nHost: x\r\n\r\n'],
      ['a path of its own', () => 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n'],
      [
        'another protocol',
        () => `GET / HTTP/1.1\r\nHost: site.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
      ],
      ['two lengths', () => connectTo('evil.example:443', 'Content-Length: 1\r\nContent-Length: 2\r\n')],
      [
        'a length and chunks',
        () => connectTo('evil.example:443', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'),
      ],
      ['lines without a return', () => `CONNECT evil.example:443 HTTP/1.1\nHost: site.example:${site.port}\n\n`],
      ['a folded header', () => connectTo('evil.example:443', `X: a\r\n ${connectTo(`site.example:${site.port}`)}`)],
      ['headers of a megabyte', () => connectTo(`site.example:${site.port}`, '<long>\r\n')],
      ['thousands of headers', () => connectTo(`site.example:${site.port}`, '<many>')],
      ['no HTTP at all', () => '\x16\x03\x01\x00\x05hello'],
    ])(
      'sends nothing on by %s',
      async (_, request) => {
        const [connections, requests] = [site.connections, site.requests.length];
        expect(await told(request())).toMatch(REFUSED);
        expect([site.connections, site.requests.length]).toEqual([connections, requests]);
      },
      PATIENCE,
    );

    it.each([
      ['plain HTTP', `s.sendall(b'GET / HTTP/1.1\\r\\nHost: site.example\\r\\n\\r\\n'); got = s.recv(9)`],
      ['bytes that come with the request', 'got = s.recv(9)', 'GET / HTTP/1.1\r\n\r\n'],
      ['half a greeting', `s.sendall(bytes([22, 3, 1, 2, 0, 1])); s.shutdown(1); got = s.recv(9)`],
      ['TLS for another name', tls("'evil.example'")],
      ['TLS for a name on the list that is another host', tls("'moved.example'")],
      ['TLS without a name', tls('None')],
    ])(
      'sends nothing through an open tunnel but TLS for its domain: %s',
      async (_, more, after = '') => {
        const requests = site.requests.length;
        const text = await told(connectTo(`site.example:${site.port}`) + after, { more });
        expect(text).toMatch(/^ended: |^\s*$/);
        expect(site.requests.length).toBe(requests);
      },
      PATIENCE,
    );

    it(
      'finds the same where it goes to the socket itself, which it cannot replace',
      async () => {
        const at = 'socket.socket(socket.AF_UNIX); s.connect("/proxy")';
        expect(await told(connectTo(`open.example:${site.port}`), { at })).toMatch(/^HTTP\/1\.1 403 /);
        expect(await told(connectTo(`site.example:${site.port}`), { at })).toMatch(/^HTTP\/1\.1 200 /);
        expect(await ran('rm /proxy; echo > /proxy; ls -l /proxy | cut -c1')).toMatch(/(Read-only|busy).*s\n$/s);
      },
      PATIENCE,
    );

    it(
      'follows no redirect to what is not on it, and has no other way',
      async () => {
        expect(await ran(`curl -sSkL https://moved.example:${site.port}/`)).toMatch(/403/);
        expect(await ran('getent hosts site.example; echo "found: $?"')).toContain('found: 2');
        expect(await ran(`curl -sSk -m 3 --noproxy '*' https://127.0.0.1:${site.port}/`)).toMatch(/connect|refused/i);
        expect(await ran('(exec 3<>/dev/tcp/1.1.1.1/53)')).toMatch(/unreachable/i);
      },
      PATIENCE,
    );

    it(
      'gets no more bytes than a command may, and the next command as many again',
      async () => {
        const text = await ran(`curl -sSk https://endless.example:${site.port}/ | wc -c`);
        expect(Number(/^\d+/m.exec(text)?.[0])).toBeLessThan(BYTES + 1);
        expect(await ran(`curl -sSk https://site.example:${site.port}/`)).toBe('reached');
      },
      PATIENCE,
    );

    it(
      'has no more connections than it may',
      async () => {
        const before = site.connections;
        const script = `python3 - <<'END'
import socket
opened = []
for _ in range(40):
    s = socket.create_connection(('127.0.0.1', 3128))
    s.settimeout(3)
    try:
        s.sendall(b'CONNECT site.example:${site.port} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
        opened.append(s.recv(100).startswith(b'HTTP/1.1 200') and s)
    except OSError:
        pass
print(len([s for s in opened if s]))
END`;
        expect(Number(await ran(script))).toBe(CONNECTIONS);
        expect(site.connections - before).toBe(CONNECTIONS);
      },
      PATIENCE,
    );

    it(
      'leaves no connection open when it ends',
      async () => {
        const url = `https://site.example:${site.port}/wait`;
        await ran(`(curl -skN ${url} > out &) ; while ! grep -q begun out; do sleep 0.1; done`);
        if (!waiting) throw new Error('It did not reach the site.');
        if (!waiting.socket?.destroyed) await once(waiting, 'close');
        expect(await ran('cat out; curl -m 1 -sk https://site.example/ ; pgrep curl')).toBe('begun\n');
      },
      PATIENCE,
    );

    it(
      'has no way out of a container without a list, nor with an empty one',
      async () => {
        const others = [await runtime.create(NEVER), await runtime.create(NEVER, '', { allowedDomains: [] })];
        const tried = [];
        for (const other of others) {
          const command = `ls /proxy; curl -sSk -m 3 https://site.example:${site.port}/`;
          const run = await other.exec?.({ command }, NEVER);
          tried.push(`${run?.stdout}${run?.stderr}`);
          await other.close();
        }
        expect(tried).toEqual([expect.stringMatching(/No such file.*resolve/s), expect.stringMatching(/403/)]);
      },
      PATIENCE,
    );
  },
);

/** A greeting for this name, whose failure is printed. */
function tls(name: string): string {
  return `import ssl; c = ssl._create_unverified_context(); c.check_hostname = False; c.wrap_socket(s, server_hostname=${name}).sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')`;
}
