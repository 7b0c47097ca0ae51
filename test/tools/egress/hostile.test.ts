/** URLs and DNS answers that must not get out: none of them makes this process open a connection. */
import { type EgressErrorCode, type EgressPolicy, egressGuard } from '../../../src/tools/egress/index.ts';
import { type ConnectionWatch, rejectionOf, type Site, startSite, watchConnections } from './site.ts';

let site: Site;
let watch: ConnectionWatch;

beforeAll(async () => {
  site = await startSite((_req, res) => res.end('reached'));
  watch = watchConnections();
});
afterAll(async () => {
  watch.stop();
  await site.close();
});

const PUBLIC = ['93.184.215.14'];

interface Hostile {
  readonly url: string;
  /** What the resolver answers, each time the next, the last again and again. */
  readonly answers?: readonly (readonly string[])[];
  readonly policy?: EgressPolicy;
  readonly code?: EgressErrorCode;
}

/** `PORT` becomes the site's own, so that whatever slips through and ends on loopback is seen there. */
async function attack({ url, answers = [PUBLIC], policy = {} }: Hostile) {
  const requested: string[] = [];
  const resolve = async (hostname: string) => {
    requested.push(hostname);
    return answers[Math.min(requested.length, answers.length) - 1] ?? [];
  };
  const open: EgressPolicy = { schemes: ['http', 'https'], ports: [site.port, 80, 443] };
  const guard = egressGuard({ timeoutMs: 5_000, ...open, ...policy }, { resolve });
  const error = await rejectionOf(guard.fetch(url.replaceAll('PORT', String(site.port))));
  await guard.close();
  return { error, requested };
}

/** Refused for what they are: the resolver is not even asked. */
const URLS: readonly (Hostile | string)[] = [
  // This machine, in every spelling that a URL parser knows.
  'http://127.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.0.0.1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://017700000001:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://%31%32%37.0.0.1:PORT/',
  'http://１２７.０.０.１:PORT/',
  'http://127。0。0。1:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://[::]:PORT/',
  'http://[::1]:PORT/',
  'http://[0:0:0:0:0:0:0:1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[::1%25lo]:PORT/',
  'http://[fe80::1%25eth0]:PORT/',
  'http://localhost:PORT/',
  'http://LOCALHOST:PORT/',
  'http://localhost.:PORT/',
  'http://a.localhost:PORT/',
  'http://a.b.LocalHost:PORT/',
  'http://ｌｏｃａｌｈｏｓｔ:PORT/',
  'http://loc\talhost:PORT/',
  'http://\\localhost:PORT/',
  // Networks and services around it, and addresses at all.
  'http://10.0.0.1/',
  'http://192.168.1.1/',
  'http://172.16.0.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://[::ffff:169.254.169.254]/latest/meta-data/',
  'http://2852039166/latest/meta-data/',
  'http://0xa9fea9fe/latest/meta-data/',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://100.100.100.200/',
  'http://168.63.129.16/',
  'http://8.8.8.8/',
  'https://[2606:4700:4700::1111]/',
  // Not plain web addresses.
  'http://user@a.example:PORT/',
  'http://user:password@a.example:PORT/',
  'http://a.example@127.0.0.1:PORT/',
  'http://a.example:PORT@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT\\@a.example/',
  'http://a.example.:PORT/',
  'http://a.example:22/',
  'http://a.example:6379/',
  'https://a.example:8443/',
  'ftp://a.example/',
  'file:///etc/passwd',
  'data:text/plain,hello',
  'blob:https://a.example/1',
  'javascript:1',
  'ws://a.example:PORT/',
  'gopher://127.0.0.1:PORT/_SET',
  '//127.0.0.1:PORT/',
  '/relative',
  '',
  'http://',
  'http://a.example:99999/',
  `http://${'a.'.repeat(200)}example:PORT/`,
  { url: 'http://a.example/', policy: { schemes: ['https'] } },
  { url: 'https://a.example:PORT/', policy: { ports: undefined } },
  // Rules.
  { url: 'https://b.example/', policy: { allow: [{ host: 'a.example' }] } },
  { url: 'https://a.example.evil.test/', policy: { allow: [{ host: 'a.example' }, { suffix: '.a.example' }] } },
  { url: 'https://evila.example/', policy: { allow: [{ suffix: '.a.example' }] } },
  { url: 'https://example/', policy: { allow: [{ suffix: '.example' }] } },
  { url: 'https://аpple.example/', policy: { allow: [{ host: 'apple.example' }] } },
  { url: 'https://xn--pple-43d.example/', policy: { allow: [{ host: 'apple.example' }] } },
  { url: 'https://a.example/', policy: { allow: [] } },
  { url: 'https://a.example/', policy: { deny: [{ host: 'A.EXAMPLE' }] } },
  { url: 'https://x.a.example/', policy: { deny: [{ suffix: '.a.example' }], allow: [{ suffix: '.example' }] } },
  { url: 'http://127.0.0.1:PORT/', policy: { allow: [{ host: 'a.example' }, { suffix: '.example' }] } },
  { url: 'http://127.0.0.2:PORT/', policy: { allow: [{ host: '127.0.0.1' }, { cidr: '127.0.0.1/32' }] } },
  { url: 'http://a.example:PORT/', answers: [['127.0.0.1']], policy: { allow: [{ host: '127.0.0.1' }] } },
  { url: 'http://127.0.0.1:PORT/', policy: { allow: [{ cidr: '127.0.0.0/8' }], deny: [{ host: '127.0.0.1' }] } },
];

/** Refused for where they lead. */
const ANSWERS: readonly Hostile[] = [
  ...['127.0.0.1', '127.8.8.8', '10.1.2.3', '172.20.0.1', '192.168.0.10', '169.254.169.254', '100.64.1.1', '0.0.0.0'],
  ...['100.100.100.200', '168.63.129.16', '224.0.0.251', '255.255.255.255', '198.18.0.1', '192.0.0.192'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe', 'fe80::1', 'fe80::1%lo', '::1%lo', 'fd00:ec2::254'],
  ...['fc00::1', 'ff02::1', '64:ff9b::7f00:1', '2002:7f00:1::1', '2001::1', '::7f00:1', '127.1', '0x7f.1', 'localhost'],
]
  .map((address): Hostile => ({ url: 'http://a.example:PORT/', answers: [[address]] }))
  .concat([
    { url: 'http://a.example:PORT/', answers: [[...PUBLIC, '127.0.0.1']] },
    { url: 'http://a.example:PORT/', answers: [['127.0.0.1', ...PUBLIC]] },
    { url: 'http://a.example:PORT/', answers: [['2606:4700::1', '::1', ...PUBLIC]] },
    { url: 'http://xn--pple-43d.example:PORT/', answers: [['127.0.0.1']] },
    { url: 'http://intranet:PORT/', answers: [['10.0.0.7']] },
    { url: 'http://127.0.0.1.nip.example:PORT/', answers: [['127.0.0.1']] },
    // What rules open, they open no further.
    { url: 'http://a.example:PORT/', answers: [['127.0.0.1']], policy: { allow: [{ suffix: '.example' }] } },
    { url: 'http://a.example:PORT/', answers: [['127.0.0.1']], policy: { allow: [{ cidr: '10.0.0.0/8' }] } },
    { url: 'http://a.example:PORT/', answers: [PUBLIC], policy: { allow: [{ cidr: '10.0.0.0/8' }] } },
    { url: 'http://a.example:PORT/', answers: [['169.254.169.254']], policy: { allow: [{ host: 'a.example' }] } },
    { url: 'http://a.example:PORT/', answers: [['fd00:ec2::254']], policy: { allow: [{ host: 'a.example' }] } },
    { url: 'http://b.localhost:PORT/', answers: [['127.0.0.1']], policy: { allow: [{ suffix: '.localhost' }] } },
    { url: 'http://a.example:PORT/', answers: [PUBLIC], policy: { deny: [{ cidr: '93.0.0.0/8' }] } },
    { url: 'http://a.example:PORT/', answers: [['::ffff:93.184.215.14']], policy: { deny: [{ cidr: '93.0.0.0/8' }] } },
    { url: 'http://a.example:PORT/', answers: [PUBLIC], policy: { deny: [{ host: '93.184.215.14' }] } },
  ]);

function titled(rows: readonly (Hostile | string)[]): [string, Hostile][] {
  return rows
    .map((row) => (typeof row === 'string' ? { url: row } : row))
    .map((row) => [[row.url, ...(row.answers ?? []), row.policy && JSON.stringify(row.policy)].join(' '), row]);
}

describe('hostile requests', () => {
  it.each(titled(URLS))('[T-09] refuses %j before it asks a resolver', async (_title, row) => {
    const { error, requested } = await attack(row);
    expect({ error, requested, attempts: watch.attempts }).toEqual({
      error: expect.objectContaining({ name: 'EgressError', code: expect.stringMatching(/^(url|host)_refused$/) }),
      requested: [],
      attempts: [],
    });
  });

  it.each(titled(ANSWERS))('[T-09] does not go to %j', async (_title, row) => {
    const { error, requested } = await attack(row);
    expect({ error, requested: requested.length, attempts: watch.attempts }).toEqual({
      error: expect.objectContaining({ name: 'EgressError', code: 'address_refused' }),
      requested: 1,
      attempts: [],
    });
  });

  it.each([
    ['no answer', async () => []],
    ['a failure', async () => Promise.reject(new Error('ENOTFOUND'))],
  ])('[T-09] reports that a name has no address after %s', async (_title, resolve) => {
    const guard = egressGuard({}, { resolve });
    const error = await rejectionOf(guard.fetch('https://a.example/'));
    await guard.close();
    expect([error, watch.attempts]).toEqual([expect.objectContaining({ code: 'unresolved' }), []]);
  });

  it('[T-09] gives up on a resolver that never answers', async () => {
    const guard = egressGuard({ timeoutMs: 50 }, { resolve: () => new Promise(() => {}) });
    const error = await rejectionOf(guard.fetch('https://a.example/'));
    await guard.close();
    expect(error).toEqual(expect.objectContaining({ code: 'answer_too_slow' }));
  });

  it('[T-09] reached nobody in all of that', () => {
    expect(site.connections).toBe(0);
  });
});

describe('a name whose address changes', () => {
  const policy = (): EgressPolicy => ({ schemes: ['http'], ports: [site.port], allow: [{ cidr: '127.0.0.1/32' }] });

  it('[T-09] is connected to at the address that was checked, and asked for once', async () => {
    const requested: string[] = [];
    const resolve = async (hostname: string) => [requested.push(hostname) === 1 ? '127.0.0.1' : '127.0.0.2'];
    const guard = egressGuard(policy(), { resolve });
    const before = watch.attempts.length;
    const response = await guard.fetch(`http://a.example:${site.port}/`);
    const text = await response.text();
    await guard.close();
    expect([text, requested, watch.attempts.slice(before)]).toEqual(['reached', ['a.example'], ['127.0.0.1']]);
  });

  it('[T-09] is checked again for each new connection', async () => {
    let calls = 0;
    const resolve = async () => [++calls === 1 ? '127.0.0.1' : '169.254.169.254'];
    const closing = await startSite((_req, res) => res.setHeader('connection', 'close').end('once'));
    const guard = egressGuard({ ...policy(), ports: [closing.port] }, { resolve });
    const before = watch.attempts.length;
    const text = await (await guard.fetch(`http://a.example:${closing.port}/`)).text();
    const error = await rejectionOf(guard.fetch(`http://a.example:${closing.port}/`));
    await guard.close();
    await closing.close();
    expect([text, error, watch.attempts.slice(before)]).toEqual([
      'once',
      expect.objectContaining({ code: 'address_refused' }),
      ['127.0.0.1'],
    ]);
  });
});

describe('messages', () => {
  it('[T-09] hold nothing of a URL but scheme, host and port, and no address', async () => {
    const guard = egressGuard({}, { resolve: async () => ['10.9.8.7'] });
    const urls = [
      'https://me:secret@a.example/secret?secret#secret',
      'https://a.example/secret?key=secret',
      '::secret',
    ];
    const errors = await Promise.all(urls.map((url) => rejectionOf(guard.fetch(url))));
    await guard.close();
    expect(errors.map(String)).toEqual([
      'EgressError: Egress to https://a.example refused: a URL must not hold a user or a password.',
      'EgressError: Egress to a.example refused: its address is not public.',
      'EgressError: Egress to a URL refused: it is not an absolute URL.',
    ]);
  });

  it('[T-09] leave the address to the cause, for the logs', async () => {
    const guard = egressGuard({}, { resolve: async () => ['10.9.8.7'] });
    const error = await rejectionOf(guard.fetch('https://a.example/'));
    await guard.close();
    expect(error).toEqual(expect.objectContaining({ cause: new Error('a.example resolved to 10.9.8.7 (private)') }));
  });
});
