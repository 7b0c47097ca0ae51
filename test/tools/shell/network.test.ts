/** The allow list of a request for a shell: which one is refused, what the model is told, and which container it holds for. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { textStream, toolCallStream } from '../../../src/testing/index.ts';
import { containers } from '../../../src/tools/code-interpreter/index.ts';
import { bubblewrapRuntime, type ShellNetwork, shell } from '../../../src/tools/shell/index.ts';
import { type RequestApp, startRequestApp } from '../../support/request-app.ts';
import { describeWith, findProgram } from '../../support/services.ts';

const PATIENCE = 60_000;
const list = (...allowed_domains: readonly unknown[]) => ({ type: 'allowlist', allowed_domains });

describeWith(findProgram('bwrap'), 'bubblewrap')('the allow list of a shell', () => {
  let app: RequestApp;
  let close: () => Promise<void>;
  afterEach(async () => {
    await app.close();
    await close();
  });

  async function start(network?: ShellNetwork): Promise<ReturnType<typeof containers>> {
    const runtime = bubblewrapRuntime({ network });
    const kept = containers({ runtime });
    app = await startRequestApp({ tools: shell({ containers: kept }), scope: () => 'alice' });
    close = async () => {
      await kept.close();
      await runtime.close();
    };
    return kept;
  }

  async function ask(environment: JsonObject, more: JsonObject = {}) {
    const call = { id: 'call_1', name: 'shell', arguments: JSON.stringify({ commands: ['env; ls /proxy'] }) };
    app.upstream.reply({ body: toolCallStream([call]) }, { body: textStream(['Done.']) });
    const { status, body } = await app.create({ input: 'Go.', tools: [{ type: 'shell', environment }], ...more });
    const { code, param } = (body.error ?? {}) as JsonObject;
    const output = JSON.stringify(body.output ?? []);
    const told = JSON.stringify((app.upstream.requests.at(-1)?.body as JsonObject | undefined)?.tools);
    return { refusal: [status, code, param], id: body.id, output, told };
  }

  const auto = (network_policy: unknown) => ({ type: 'container_auto', network_policy });

  it('[E-01] is refused where the host opens nothing', async () => {
    await start();
    const { refusal } = await ask(auto(list('example.com')));
    expect(refusal).toEqual([400, 'unsupported_parameter', 'tools[0].environment.network_policy']);
  });

  const AT = 'tools[0].environment.network_policy';

  it.each([
    ['without a domain', list(), 'invalid_value', 'allowed_domains'],
    ['of too many', list(...Array.from({ length: 101 }, () => 'a.example.com')), 'invalid_value', 'allowed_domains'],
    [
      'with a domain that the host does not open',
      list('a.example.com', 'evil.com'),
      'invalid_value',
      'allowed_domains[1]',
    ],
    ['with a denied one', list('secret.example.com'), 'invalid_value', 'allowed_domains[0]'],
    ...[
      ...['127.0.0.1', '0x7f.1', '1.2.3.4', '[::1]', 'localhost', 'https://a.example.com', 'a.example.com/x', '*'],
      ...['*.example.com', 'a.example.com:443', 'a@b.example.com', 'a.example.com.', 'bücher.example.com', '', 7, null],
      `${'a'.repeat(64)}.example.com`,
    ].map((domain) => [`with ${JSON.stringify(domain)}`, list(domain), 'invalid_value', 'allowed_domains[0]'] as const),
    [
      'with secrets, which code would see',
      { ...list('a.example.com'), domain_secrets: [{ domain: 'a.example.com', name: 'KEY', value: 'hunter2' }] },
      'unsupported_parameter',
      'domain_secrets',
    ],
  ] as const)('[E-01] %s is refused', async (_, policy, code, field) => {
    await start({ allow: [{ suffix: '.example.com' }], deny: [{ host: 'secret.example.com' }] });
    const { refusal, output } = await ask(auto(policy));
    expect([refusal, output]).toEqual([[400, code, `${AT}.${field}`], '[]']);
  });

  it(
    '[E-01] holds for its request: the model is told, and the next request of the conversation begins without it',
    async () => {
      await start({});
      const first = await ask(auto(list('Example.com', 'pypi.org')));
      expect([first.told, first.output]).toEqual([
        expect.stringContaining(
          'Only these hosts can be reached, by HTTPS and through the proxy that HTTPS_PROXY names: example.com, pypi.org.',
        ),
        expect.stringMatching(/HTTPS_PROXY=http:\/\/127\.0\.0\.1:3128.*"stdout":".*\/proxy\\n"|\/proxy\\n/),
      ]);
      const next = await ask({ type: 'container_auto' }, { previous_response_id: first.id });
      expect([next.told.includes('Only these hosts'), next.output.includes('PROXY=')]).toEqual([false, false]);
      expect(next.output).toContain('No such file');
      const again = await ask(auto(list('example.com')), { previous_response_id: next.id });
      expect(again.output).toContain('PROXY=');
    },
    PATIENCE,
  );

  it(
    '[E-01] stays with a container that a client has made, whatever request uses it',
    async () => {
      const kept = await start({});
      const networkPolicy = { type: 'allowlist', allowedDomains: ['example.com'] } as const;
      const { id } = await kept.create('alice', { name: 'open', networkPolicy });
      const reference = { type: 'container_reference', container_id: id };
      const { told, output } = await ask(reference);
      expect([told.includes('names: example.com.'), output.includes('PROXY=')]).toEqual([true, true]);
      expect(await kept.find({ scope: 'alice', id })).toMatchObject({ networkPolicy });
    },
    PATIENCE,
  );

  it('[E-01] has an option that is checked as the host starts', () => {
    app = { close: async () => {} } as RequestApp;
    close = async () => {};
    // The cast: what a host may write by mistake.
    for (const [network, message] of [
      [
        { allow: ['example.com'] },
        "egressGuard: allow[0] must be one of { host }, { suffix }, { cidr }, got 'example.com'",
      ],
      [{ ports: [] }, 'ports must be a list of ports, not empty'],
      [{ connections: 0 }, 'bubblewrapRuntime: network: connections must be'],
      [{ bytes: -1 }, 'bubblewrapRuntime: network: bytes must be'],
      [true, 'bubblewrapRuntime: network must be an object, got true'],
    ] as const)
      expect(() => bubblewrapRuntime({ network: network as never })).toThrow(message);
  });
});
