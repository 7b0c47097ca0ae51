/** The config of MCP servers: what clients' `mcpServers` files hold, and how its faults are reported. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is the syntax of the config
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { type McpToolsOptions, mcpTools } from '../../../src/tools/mcp/index.ts';
import { serverSettings } from '../../../src/tools/mcp/shared/server-config.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { openTools } from '../../support/mcp-client.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-config-'));
  process.env.MCP_TEST_TOKEN = 'tok-1234567890';
});

afterEach(() => {
  rmSync(folder, { recursive: true });
  delete process.env.MCP_TEST_TOKEN;
});

function file(text: string): string {
  const path = join(folder, 'mcp.json');
  writeFileSync(path, text);
  return path;
}

/** What of a config is used to connect. */
function used(json: unknown): Readonly<Record<string, unknown>> {
  const { allows, defers, redact, ...rest } = serverSettings('x', json);
  return 'url' in rest ? { ...rest, url: rest.url.href } : rest;
}

function fault(servers: unknown): string {
  return creation({ servers } as McpToolsOptions);
}

function creation(options: unknown): string {
  try {
    mcpTools(options as McpToolsOptions);
  } catch (error) {
    if (error instanceof TypeError) return error.message;
  }
  return 'no TypeError';
}

describe('the config of one server', () => {
  it('[B-22] reads a command with args, env and cwd', () => {
    const config = { command: 'npx', args: ['-y', 'files'], env: { DEBUG: '1' }, cwd: '/srv' };
    expect(used(config)).toEqual({ ...config, transport: 'stdio', label: 'x', ignored: [] });
  });

  it.each([
    [undefined, undefined, 'streamable-http'],
    ['http', undefined, 'streamable-http'],
    ['streamableHttp', undefined, 'streamable-http'],
    [undefined, 'streamable-http', 'streamable-http'],
    ['sse', 'sse', 'sse'],
  ])('[B-22] reads a url of type %s and transport %s as %s', (type, transport, expected) => {
    const config = { url: 'https://mcp.example/v1?x=1', headers: { 'X-Key': 'abc' }, type, transport };
    expect(used(config)).toEqual({
      transport: expected,
      ...((type ?? transport) ? {} : { fallback: 'sse' }),
      url: 'https://mcp.example/v1?x=1',
      headers: { 'x-key': 'abc' },
      label: 'x',
      ignored: [],
    });
  });

  it('[B-22] sends auth as a bearer token', () => {
    expect(used({ url: 'http://h/', auth: 't' })).toMatchObject({ headers: { authorization: 'Bearer t' } });
  });

  it('sends user and password of a url as basic authorization, which fetch would refuse', () => {
    const { url, headers } = used({ url: 'https://us%40er:p%3Aw@mcp.example/' });
    expect({ url, headers }).toEqual({
      url: 'https://mcp.example/',
      headers: { authorization: `Basic ${Buffer.from('us@er:p:w').toString('base64')}` },
    });
  });

  it('[T-01] replaces ${VAR}, ${env:VAR} and ${VAR:-default} in every string', () => {
    const config = {
      command: '${MCP_TEST_NONE:-node}',
      args: ['--token=${MCP_TEST_TOKEN}', '$MCP_TEST_TOKEN'],
      env: { TOKEN: '${env:MCP_TEST_TOKEN}', EMPTY: '${MCP_TEST_NONE:-}' },
    };
    expect(used(config)).toMatchObject({
      command: 'node',
      args: ['--token=tok-1234567890', '$MCP_TEST_TOKEN'],
      env: { TOKEN: 'tok-1234567890', EMPTY: '' },
    });
  });

  it('names a server by its label, and else by its key', () => {
    const tools = openTools({ key: { url: 'http://h/' }, other: { url: 'http://h/', label: 'named' } });
    expect(tools.status().map(({ label }) => label)).toEqual(['key', 'named']);
  });

  it('[K-11] names a server whose key is a path or a title by what of it a label may have', () => {
    const at = { url: 'http://h/' };
    const tools = openTools({ 'github.com/cline/linear-mcp': at, 'Google Sheets': at, 'my.server': at });
    expect(tools.status().map(({ label }) => label)).toEqual([
      'github_com_cline_linear-mcp',
      'Google_Sheets',
      'my_server',
    ]);
  });

  it('leaves out what is disabled, even if it is incomplete', () => {
    expect(openTools({ off: { disabled: true, url: '${MCP_TEST_NONE}' } }).status()).toEqual([]);
  });

  it('[B-22] reports which keys of other clients have no effect', () => {
    const config = { url: 'http://h/', autoApprove: ['x'], timeout: 5 };
    expect(openTools({ a: config }).warnings).toEqual([
      "mcpTools: server 'a': autoApprove, timeout is not known and has no effect",
    ]);
  });
});

/** Which of these tools a config allows, and which of them it defers. */
function sorted(config: object, ...names: readonly string[]) {
  const { allows, defers } = serverSettings('x', { url: 'http://h/', ...config });
  const allowed = names.filter(allows);
  return { allowed: allowed.join(' '), deferred: allowed.filter(defers).join(' ') };
}

describe('the tools that a config chooses', () => {
  const NAMES = ['read_file', 'read_dir', 'write_file', 'file_read', 'read_'];

  it.each<[object, string]>([
    [{}, 'read_file read_dir write_file file_read read_'],
    [{ include: ['read_*'] }, 'read_file read_dir read_'],
    [{ include: ['*file'] }, 'read_file write_file'],
    [{ include: ['*e*_*i*'] }, 'read_file read_dir write_file'],
    [{ include: ['read_dir', '*_read'] }, 'read_dir file_read'],
    [{ include: ['*'] }, 'read_file read_dir write_file file_read read_'],
    [{ include: ['read*read_'] }, ''],
    [{ include: [] }, ''],
    [{ exclude: ['write_*', 'read_'] }, 'read_file read_dir file_read'],
    [{ include: ['read_*'], exclude: ['*_dir'] }, 'read_file read_'],
    [{ include: ['read_*'], allowedTools: ['read_dir', 'write_file'] }, 'read_dir'],
  ])('[T-01] are those of %j', (config, allowed) => {
    expect(sorted(config, ...NAMES)).toEqual({ allowed, deferred: '' });
  });

  it.each<[unknown, string]>([
    [true, 'read_file read_dir write_file file_read read_'],
    [false, ''],
    [['write_*', 'read_dir'], 'read_dir write_file'],
  ])('[T-01] are deferred by defer: %j', (defer, deferred) => {
    expect(sorted({ defer }, ...NAMES).deferred).toBe(deferred);
  });

  it('[F-04] are compared with patterns in work that is linear in the names, and in their length', async () => {
    const patterns = Array.from({ length: 32 }, (_, n) => `${'*a'.repeat(126)}${n % 10}*`);
    await expectLinearWork(80, (size) =>
      sorted({ exclude: patterns }, ...Array.from({ length: size }, (_, n) => 'a'.repeat(250) + n)),
    );
    await expectLinearWork(10_000, (size) => sorted({ exclude: patterns }, 'a'.repeat(size)));
  });
});

describe('a faulty config', () => {
  it.each([
    ['include that is no list', { url: 'http://h/', include: 'read_*' }, /^mcpTools: server 'a': include: .*array/],
    ['exclude that holds no names', { url: 'http://h/', exclude: [7] }, /^mcpTools: server 'a': exclude: 0: .*string/],
    [
      'an empty pattern',
      { url: 'http://h/', include: [''] },
      "mcpTools: server 'a': include must hold names of 1 to 256 characters, got one of 0",
    ],
    [
      'a pattern of a megabyte',
      { url: 'http://h/', exclude: ['*'.repeat(2 ** 20)] },
      "mcpTools: server 'a': exclude must hold names of 1 to 256 characters, got one of 1048576",
    ],
    [
      'too many patterns',
      { url: 'http://h/', defer: Array.from({ length: 257 }, (_, n) => `${n}*`) },
      "mcpTools: server 'a': defer must hold at most 256 patterns with '*', got 257",
    ],
    [
      'defer of another type',
      { url: 'http://h/', defer: 'all' },
      "mcpTools: server 'a': defer: must be true, false, or a list of names",
    ],
    ['maxTools of zero', { url: 'http://h/', maxTools: 0 }, /^mcpTools: server 'a': maxTools: .*>=1/],
    ['an unknown type', { url: 'http://h/', type: 'ws' }, /^mcpTools: server 'a': type must be one of .*, got 'ws'$/],
    [
      'both command and url',
      { command: 'x', url: 'http://h/' },
      "mcpTools: server 'a' must not have both command and url",
    ],
    ['neither', {}, "mcpTools: server 'a' needs a command or a url"],
    [
      'stdio without a command',
      { type: 'stdio', url: 'http://h/' },
      "mcpTools: server 'a' is of type stdio and needs a command",
    ],
    ['sse without a url', { type: 'sse', command: 'x' }, "mcpTools: server 'a' is of type sse and needs a url"],
    [
      'two types',
      { url: 'http://h/', type: 'http', transport: 'sse' },
      "mcpTools: server 'a' has a type and a transport that differ",
    ],
    [
      'a nested transport',
      { url: 'http://h/', transport: { type: 'sse' } },
      /^mcpTools: server 'a': transport: .*string/,
    ],
    ['args that are no list', { command: 'x', args: 'y' }, /^mcpTools: server 'a': args: .*array/],
    [
      'headers for stdio',
      { command: 'x', headers: {} },
      "mcpTools: server 'a' is of type stdio and has no headers; use env",
    ],
    ['a label with spaces', { url: 'http://h/', label: 'a b' }, /^mcpTools: server 'a': label: must match/],
    ['no object', 'npx files', /^mcpTools: server 'a': .*object/],
    [
      'a missing variable',
      { url: 'http://${MCP_TEST_NONE}/' },
      "mcpTools: server 'a' needs the environment variable MCP_TEST_NONE, which is not set",
    ],
  ])('[A-32] of %s is a TypeError that names the server', (_name, config, message) => {
    const expected = typeof message === 'string' ? message : expect.stringMatching(message);
    expect(fault({ a: config })).toEqual(expected);
  });

  it.each([
    ['a bad scheme', { url: 'ftp://user:hunter2hunter2@h/?key=hunter2hunter2' }],
    ['no url', { url: 'hunter2hunter2' }],
    ['a header with a line break', { url: 'http://h/', headers: { 'x-key': 'hunter2hunter2\n' + 'x' } }],
    ['two authorizations', { url: 'http://h/', auth: 'hunter2hunter2', headers: { Authorization: 'hunter2hunter2' } }],
    ['a badly encoded password', { url: 'http://u:hunter2hunter2%zz@h/' }],
    ['a secret of the wrong type', { command: 'x', env: ['hunter2hunter2'] }],
  ])('[A-35] of %s is reported without quoting it', (_name, config) => {
    const message = fault({ a: config });
    expect(message).toEqual(expect.stringMatching(/^mcpTools: server 'a'/));
    expect(message).not.toContain('hunter2');
  });

  it('[A-34] of two servers with one label is a TypeError', () => {
    const servers = { a: { url: 'http://h/' }, b: { url: 'http://i/', label: 'a' } };
    expect(fault(servers)).toBe("mcpTools: there is more than one server 'a'");
  });

  it('of servers that are no object is reported without quoting them', () => {
    expect(fault([{ url: 'http://h/?k=hunter2hunter2' }])).toBe(
      'mcpTools: servers must be an object of servers by label',
    );
  });
});

describe('the options', () => {
  it.each([
    [{ server: {} }, /^mcpTools: unknown option 'server'; known are servers, configFile, /],
    [{ refreshMs: 0 }, 'mcpTools: refreshMs must be a whole number of milliseconds from 1 to 2147483647, got 0'],
    [
      { idleMs: 2 ** 31 },
      'mcpTools: idleMs must be a whole number of milliseconds from 1 to 2147483647, got 2147483648',
    ],
    [
      { connectTimeoutMs: '5' },
      "mcpTools: connectTimeoutMs must be a whole number of milliseconds from 1 to 2147483647, got '5'",
    ],
    [{ connect: 'now' }, "mcpTools: connect must be 'lazy' or 'eager', got 'now'"],
    [{ configFile: '' }, "mcpTools: configFile must be a path, got ''"],
    [{ maxTools: 0 }, 'mcpTools: maxTools must be a positive whole number, got 0'],
    [{ logger: 7 }, 'mcpTools: logger must be an object with debug, info, warn and error, or false, got 7'],
  ])('%j is a TypeError', (options, message) => {
    expect(creation(options)).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it('take undefined for omitted, and no servers for none', async () => {
    const tools = mcpTools({ servers: undefined, configFile: undefined, refreshMs: undefined });
    expect(await tools.list(new AbortController().signal)).toEqual([]);
  });

  it('survive a host whose logger throws', () => {
    const shown = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const warn = () => {
      throw new Error('full');
    };
    const logger = { debug() {}, info() {}, warn, error() {} };
    mcpTools({ configFile: join(folder, 'none.json'), logger });
    expect(shown.mock.calls).toEqual([['logger.warn threw: Error: full', 'ExpressOpenResponsesWarning']]);
    shown.mockRestore();
  });
});

describe('the config file', () => {
  it('[B-22] holds mcpServers, beside those of the options', () => {
    const configFile = file('\uFEFF{ "mcpServers": { "a": { "command": "x" } }, "other": 1 }');
    const tools = openTools({ b: { url: 'http://h/' } }, { configFile });
    expect(tools.status().map(({ label, transport, state }) => [label, transport, state])).toEqual([
      ['b', 'streamable-http', 'idle'],
      ['a', 'stdio', 'idle'],
    ]);
  });

  it('[A-32] may be missing: a warning, and no tools', async () => {
    const configFile = join(folder, 'none.json');
    const tools = openTools({}, { configFile });
    expect([tools.warnings, await tools.list(new AbortController().signal)]).toEqual([
      [`mcpTools: there is no configFile '${configFile}', so it offers no tools`],
      [],
    ]);
  });

  it('[A-32] warns as a process does by default', () => {
    const shown = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const configFile = join(folder, 'none.json');
    mcpTools({ configFile });
    expect(shown.mock.calls).toEqual([
      [`mcpTools: there is no configFile '${configFile}', so it offers no tools`, 'ExpressOpenResponsesWarning'],
    ]);
    shown.mockRestore();
  });

  it.each([
    [
      '{ "mcpServers": { "a": { "url": "http://h/?k=hunter2hunter2" } ]',
      (path: string) => `mcpTools: configFile '${path}' is not valid JSON`,
    ],
    ['[]', (path: string) => `mcpTools: configFile '${path}' must hold an object with mcpServers`],
    ['{}', (path: string) => `mcpTools: mcpServers in configFile '${path}' must be an object of servers by label`],
  ])('[A-35] that holds %s is a TypeError that quotes nothing', (text, message) => {
    const configFile = file(text);
    expect(creation({ configFile })).toBe(message(configFile));
  });
});

it('[F-04] reads variables whose defaults never end in one pass', async () => {
  await expectLinearWork(4_000, (size) => {
    const url = `https://mcp.example/${'${A:-'.repeat(size)}`;
    expect(serverSettings('a', { url }).label).toBe('a');
  });
});
