/** Policies: what is a mistake, what the defaults let out, and what rules mean. */
import { type EgressPolicy, egressGuard } from '../../../src/tools/egress/index.ts';

/** Deliberately of any shape: a policy may come out of a configuration file. */
const MISTAKES: readonly [policy: unknown, named: string][] = [
  [null, 'the options must be an object, got null'],
  [{ alow: [] }, "unknown option 'alow'"],
  [{ allow: 'a.example' }, "allow must be a list of rules, got 'a.example'"],
  [{ allow: ['a.example'] }, "allow[0] must be one of { host }, { suffix }, { cidr }, got 'a.example'"],
  [{ allow: [{}] }, 'allow[0] must be one of'],
  [{ allow: [{ host: 'a.example', cidr: '10.0.0.0/8' }] }, 'allow[0] must be one of'],
  [
    { deny: [{ host: 'a.example' }, { name: 'b.example' }] },
    "deny[1] must be one of { host }, { suffix }, { cidr }, got { name: 'b.example' }",
  ],
  [{ allow: [{ host: 1 }] }, 'got { host: 1 }'],
  ...[
    '',
    '.',
    'a.example.',
    'https://a.example',
    'a.example:443',
    'a.example/path',
    'me@a.example',
    '*.example',
    '[::1]',
    'a b',
    '127.0.0.256',
  ].map((host): [unknown, string] => [{ allow: [{ host }] }, 'allow[0] must be a host name or an IP address']),
  ...['', '.', 'example', '*.example', '.example.', '.0.1', '.a/b'].map((suffix): [unknown, string] => [
    { deny: [{ suffix }] },
    "deny[0] must be a dot and a name, '.example'",
  ]),
  ...[
    '',
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0/8',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '::/129',
    '::ffff:10.0.0.0/104',
    '0:0:0:0:0:ffff::/96',
    'a.example/8',
  ].map((cidr): [unknown, string] => [{ allow: [{ cidr }] }, "allow[0] must be a range, '10.0.0.0/8'"]),
  [{ schemes: [] }, "schemes must be a list of 'https', 'http' or both, not empty, got []"],
  [{ schemes: ['ftp'] }, "got [ 'ftp' ]"],
  [{ ports: [] }, 'ports must be a list of ports, not empty, got []'],
  [{ ports: [0] }, 'got [ 0 ]'],
  [{ ports: ['443'] }, "got [ '443' ]"],
  [{ ports: [65_536] }, 'got [ 65536 ]'],
  [{ maxBytes: 0 }, 'maxBytes must be a positive whole number, got 0'],
  [
    { timeoutMs: 2_147_483_648 },
    'timeoutMs must be a whole number of milliseconds from 1 to 2147483647, got 2147483648',
  ],
  [{ maxRedirects: -1 }, 'maxRedirects must be a whole number from 0 to 20, got -1'],
];

describe('a policy', () => {
  it.each(MISTAKES)('[T-09] of %j is a mistake', (policy, named) => {
    // The cast: this is what TypeScript would have refused.
    const make = () => egressGuard(policy as EgressPolicy);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(/^egressGuard: /);
    expect(make).toThrow(named);
  });

  it('[T-09] takes undefined for omitted', async () => {
    const names = ['allow', 'deny', 'schemes', 'ports', 'maxBytes', 'timeoutMs', 'maxRedirects'];
    const guard = egressGuard(Object.fromEntries(names.map((name) => [name, undefined])));
    expect(() => guard.check('https://a.example/')).not.toThrow();
    await guard.close();
  });

  it('[T-09] of resources is checked, too', () => {
    // The cast: this is what TypeScript would have refused.
    expect(() => egressGuard({}, { resolve: 'dns' as unknown as undefined })).toThrow(
      "resolve must be a function, got 'dns'",
    );
  });
});

/** Whether each of the URLs passes before its name is resolved. */
const JUDGED: readonly [policy: EgressPolicy, url: string, passes: boolean][] = [
  [{}, 'https://a.example/', true],
  [{}, 'https://a.example:443/', true],
  [{}, 'http://a.example/', false],
  [{}, 'https://a.example:80/', false],
  [{ schemes: ['http', 'https'] }, 'http://a.example/', true],
  [{ schemes: ['http', 'https'] }, 'https://a.example/', true],
  [{ ports: [8443] }, 'https://a.example:8443/', true],
  [{ ports: [8443] }, 'https://a.example/', false],
  [{ ports: [443] }, 'https://a.example/', true],
  [{ allow: [{ host: 'A.Example' }] }, 'https://a.EXAMPLE/', true],
  [{ allow: [{ host: 'bücher.example' }] }, 'https://xn--bcher-kva.example/', true],
  [{ allow: [{ host: 'a.example' }] }, 'https://b.a.example/', false],
  [{ allow: [{ suffix: '.a.example' }] }, 'https://c.b.a.example/', true],
  [{ allow: [{ suffix: '.a.example' }] }, 'https://a.example/', false],
  [{ allow: [{ host: '::1' }] }, 'https://[0:0::1]/', true],
  [{ allow: [{ host: '127.0.0.1' }] }, 'https://127.1/', true],
  [{ allow: [{ cidr: '10.0.0.0/8' }] }, 'https://10.1.2.3/', true],
  [{ allow: [{ cidr: '10.0.0.0/8' }] }, 'https://11.1.2.3/', false],
  [{ allow: [{ cidr: '10.0.0.0/8' }] }, 'https://a.example/', true],
  [{ allow: [{ cidr: '127.0.0.0/8' }] }, 'https://localhost/', true],
  [{ allow: [{ host: 'localhost' }] }, 'https://localhost/', true],
  [{ allow: [{ cidr: '169.254.169.254/32' }] }, 'https://169.254.169.254/', true],
  [{ allow: [{ cidr: '0.0.0.0/0' }], deny: [{ cidr: '169.254.0.0/16' }] }, 'https://169.254.169.254/', false],
  [{ allow: [{ suffix: '.example' }], deny: [{ host: 'a.example' }] }, 'https://a.example/', false],
  [{ allow: [{ suffix: '.example' }], deny: [{ host: 'a.example' }] }, 'https://b.example/', true],
];

describe('a URL', () => {
  it.each(JUDGED)('[T-09] [B-19] [B-40] under %j: %s passes: %p', async (policy, url, passes) => {
    const guard = egressGuard(policy);
    const check = expect(() => guard.check(url));
    passes
      ? check.not.toThrow()
      : check.toThrow(expect.objectContaining({ code: expect.stringMatching(/^(url|host)_refused$/) }));
    await guard.close();
  });
});
