/** A server that goes wrong costs its own call, or its own tools: never the response, nor another server's. */

import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import type { McpServerConfig } from '../../../src/tools/mcp/index.ts';
import { askJson } from '../../http/client.ts';
import { startApp } from '../../support/app.ts';
import { closeAll, closeLater, noChildProcesses, openTools, startServer } from '../../support/mcp-client.ts';
import type { McpHttpServer } from '../../support/mcp-http-server.ts';

afterEach(closeAll);

const SCRIPT = new URL('../../support/mcp-faulty.mjs', import.meta.url).pathname;
/** Long enough for a busy machine; short where a test waits for the end. */
const PATIENT = { connectTimeoutMs: 30_000, timeoutMs: 30_000, maxMs: 30_000 };
const HASTY = { ...PATIENT, timeoutMs: 2_000, maxMs: 3_000 };

function faulty(fault: string): McpServerConfig {
  return { command: process.execPath, args: [SCRIPT, fault] };
}

/** Calls, in one turn, a tool of the bad server and one of the good server; says what became of them. */
async function turnWith(
  bad: McpServerConfig,
  {
    name = 'bad',
    between = () => {},
    limits = PATIENT,
  }: { name?: string; between?: () => void; limits?: typeof PATIENT } = {},
) {
  const calls = [
    { id: 'call_1', name, arguments: '{}' },
    { id: 'call_2', name: 'echo', arguments: '{"text":"all is well"}' },
  ];
  const upstream: FakeUpstream = await startFakeUpstream({
    reply() {
      if (upstream.requests.length > 1) return { body: textStream('Fine.') };
      between();
      return { body: toolCallStream(calls) };
    },
  });
  closeLater(upstream.close);
  const { connectTimeoutMs, ...toolLimits } = limits;
  const good = { url: (await startServer()).url, include: ['echo'] };
  const tools = openTools({ bad, good }, { connectTimeoutMs });
  const app = await startApp({ upstream, options: { tools, limits: { tools: toolLimits }, logger: false } });
  closeLater(app.close);
  const { status, output } = await askJson(app.url);
  // The casts: the response's own items, and the body that the router sends.
  const items = (output as readonly JsonObject[]).filter(({ type }) => type === 'mcp_call');
  const sent = upstream.requests[0]?.body as
    | { readonly tools?: readonly { readonly function: { readonly name: string } }[] }
    | undefined;
  return {
    status,
    items: items.map((item) => [item.server_label, item.status, item.output, item.error]),
    offered: (sent?.tools ?? []).map((tool) => tool.function.name),
    tools,
  };
}

const GOOD = ['good', 'completed', 'all is well', null];
const FAILED = (error: unknown) => ['bad', 'failed', null, error];

/** What an `mcp_call` has instead of an output. */
function protocolError(message: unknown) {
  return expect.objectContaining({ type: 'mcp_protocol_error', message });
}

describe('a server that goes wrong in a call', () => {
  it.each<[string, unknown]>([
    ['killed', protocolError('Connection closed')],
    ['garbage', protocolError(expect.stringMatching(/did not answer within 2000 ms|Connection closed/))],
    ['huge', protocolError(expect.stringMatching(/Connection closed|not available/))],
    ['endless', protocolError('The tool did not end within 3000 ms.')],
    ['deaf', protocolError('Connection closed')],
  ])('[X-15] [P-14] fails that call alone: %s', async (fault, error) => {
    const limits = fault === 'huge' || fault === 'deaf' ? PATIENT : HASTY;
    const { status, items, tools } = await turnWith(faulty(fault), { limits });
    expect([status, items]).toEqual(['completed', [FAILED(error), GOOD]]);
    await tools.close();
    await noChildProcesses();
  });

  it.each([
    ['no-content', ''],
    ['wrong-content', '7'],
  ])('[X-15] [T-08] that answers with an odd result: %s', async (fault, text) => {
    const { status, items } = await turnWith(faulty(fault));
    expect([status, items]).toEqual(['completed', [['bad', 'completed', text, null], GOOD]]);
  });
});

describe('a server that goes wrong in a session', () => {
  const refused = (status: number) => (server: McpHttpServer) => {
    server.refuseWith = { status, body: 'no' };
  };

  it.each<[string, (server: McpHttpServer) => void, unknown]>([
    ['401', refused(401), FAILED(expect.objectContaining({ type: 'http_error', code: 401 }))],
    ['403', refused(403), FAILED(expect.objectContaining({ type: 'http_error', code: 403 }))],
    ['404 to everything', refused(404), FAILED(expect.objectContaining({ type: 'http_error', code: 404 }))],
    [
      '404 to its session',
      (server) => server.forgetSessions(),
      ['bad', 'completed', expect.stringMatching(/^\d+$/), null],
    ],
    ['a cut connection', (server) => server.cut(), ['bad', 'completed', expect.stringMatching(/^\d+$/), null]],
  ])('[X-15] [P-14] costs that call alone: %s', async (_name, spoil, item) => {
    const server = await startServer();
    const { status, items } = await turnWith(
      { url: server.url, include: ['pid'] },
      { name: 'pid', between: () => spoil(server) },
    );
    expect([status, items]).toEqual(['completed', [item, GOOD]]);
  });
});

describe('a server that cannot be listed', () => {
  it.each(['hanging', 'garbled'])('[X-15] [P-14] costs only its own tools: %s', async (fault) => {
    const { status, items, offered, tools } = await turnWith(faulty(fault), {
      limits: { ...PATIENT, connectTimeoutMs: 3_000 },
    });
    expect([status, offered, items.at(-1)]).toEqual(['completed', ['echo'], GOOD]);
    expect(tools.status()).toMatchObject([
      { label: 'bad', state: 'failed', tools: 0 },
      { label: 'good', state: 'ready' },
    ]);
    await tools.close();
    await noChildProcesses();
  });
});

describe('a server with odd tools', () => {
  it('[X-15] has 10,000 of them: some are offered, the others are found', async () => {
    const { status, items, offered } = await turnWith(faulty('many'), { name: 'bad_3' });
    expect([status, offered.length, offered.includes('tool_search'), items]).toEqual([
      'completed',
      66,
      true,
      [['bad', 'completed', 'from many', null], GOOD],
    ]);
  });

  it.each(['large-schema', 'long-name'])('[X-15] [T-07] loses those that no model takes: %s', async (fault) => {
    const { status, items, offered, tools } = await turnWith(faulty(fault), { name: 'other' });
    expect([status, [...offered].sort(), items, tools.warnings]).toEqual([
      'completed',
      ['echo', 'other'],
      [['bad', 'completed', `from ${fault}`, null], GOOD],
      [expect.stringMatching(/^mcpTools: server 'bad': left out tools that .* exceed a limit: "[^"]{1,300}"$/)],
    ]);
  });

  it('[X-15] [T-07] shares all names with another', async () => {
    const server = await startServer();
    const { status, items, offered } = await turnWith(
      { url: server.url, include: ['echo'] },
      { name: 'mcp__bad__echo' },
    );
    expect([status, [...offered].sort()]).toEqual(['completed', ['mcp__bad__echo', 'mcp__good__echo']]);
    expect(items[0]).toEqual(['bad', 'completed', 'undefined', null]);
  });
});
