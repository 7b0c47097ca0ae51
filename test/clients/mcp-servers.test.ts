/** MCP servers that nobody here wrote: those of the Python SDK, older and newer, and published ones of npm. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ToolProgress } from '../../src/ports/tool-provider.ts';
import type { McpServerConfig } from '../../src/tools/mcp/index.ts';
import { callTool, closeAll, closeLater, failureOf, never, openTools, toolNames } from '../support/mcp-client.ts';
import { pythonPackage } from '../support/python-package.ts';
import { endWithParent, freePort } from '../support/services.ts';

const older = await pythonPackage('mcp', '1.30.0');
const newer = await pythonPackage('mcp', '2.3.0');
const SCRIPT = join(import.meta.dirname, 'mcp_server.py');

afterEach(closeAll);

async function listens(port: number): Promise<void> {
  for (;;) {
    const isOpen = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
    if (isOpen) return;
    await pause(50);
  }
}

/** Starts the server, or says how to start it. */
async function pythonServer(python: string, transport: string, flags: readonly string[]): Promise<McpServerConfig> {
  if (transport === 'stdio') return { command: python, args: [SCRIPT, transport, '0'] };
  const port = await freePort();
  const child = spawn(python, [SCRIPT, transport, String(port), ...flags], { stdio: 'ignore' });
  endWithParent(child);
  closeLater(async () => void child.kill('SIGKILL'));
  await listens(port);
  return { url: `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`, type: transport };
}

const TRANSPORTS = [
  ['stdio', 'stdio', []],
  ['streamable HTTP with sessions', 'streamable-http', []],
  ['streamable HTTP without sessions', 'streamable-http', ['stateless']],
  ['streamable HTTP that answers with JSON', 'streamable-http', ['stateless', 'json']],
  ['SSE', 'sse', []],
] as const;

for (const [sdk, version, hasModern] of [
  [older, '1.30.0', false],
  [newer, '2.3.0', true],
] as const)
  sdk.describe(`a server of the Python SDK ${version}`, () => {
    it.each(TRANSPORTS)('[X-15] [T-01] over %s', async (_name, transport, flags) => {
      const tools = openTools({ a: await pythonServer(sdk.python, transport, flags) }, { connectTimeoutMs: 60_000 });
      expect([...(await toolNames(tools))].sort()).toEqual(['a/add', 'a/fail', 'a/picture', 'a/steps', 'a/weather']);
      const reported: ToolProgress[] = [];
      const about = { server: 'a', name: 'steps', arguments: { count: 3 }, scope: 'x', requestId: 'req', request: {} };
      expect([
        await callTool(tools, 'a/add', { a: 1, b: 2 }),
        await callTool(tools, 'a/weather', { city: 'Rome' }),
        await callTool(tools, 'a/picture'),
        await callTool(tools, 'a/fail'),
        await tools.call({ ...about, onProgress: (progress) => reported.push(progress) }, never()),
      ]).toEqual([
        { content: '3' },
        { content: expect.stringContaining('"sky": "clear"') },
        { content: [{ type: 'input_image', image_url: expect.stringMatching(/^data:image\/png;base64,/) }] },
        { content: expect.stringMatching(/It went wrong.|Error executing tool fail/), isError: true },
        { content: '3 steps' },
      ]);
      const wrong = await callTool(tools, 'a/add', { a: 'one' }).catch((error: Error) => ({ content: error.message }));
      expect(String(wrong.content)).toMatch(/valid|required/i);
      const isModern = hasModern && transport !== 'sse';
      expect(tools.status()).toMatchObject([
        { state: 'ready', protocol: isModern ? { era: 'modern', version: '2026-07-28' } : { era: 'legacy' } },
      ]);
      // Answers in JSON have no room for progress.
      if (!(flags as readonly string[]).includes('json')) expect(reported.map(({ progress }) => progress)).toContain(1);
      expect(tools.warnings).toEqual([]);
    });
  });

function published(name: string, ...args: readonly string[]): McpServerConfig {
  const script = join(import.meta.dirname, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
  return { command: process.execPath, args: [script, ...args] };
}

describe('a server from npm', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mcp-servers-'));
    closeLater(async () => rmSync(folder, { recursive: true }));
  });

  it('[T-01] for files reads and writes them, and refuses what is elsewhere', async () => {
    writeFileSync(join(folder, 'note.txt'), 'What to read.');
    const tools = openTools({ a: published('filesystem', folder) });
    expect((await toolNames(tools)).length).toBeGreaterThan(10);
    expect([
      (await callTool(tools, 'a/read_text_file', { path: join(folder, 'note.txt') })).content,
      (await callTool(tools, 'a/write_file', { path: join(folder, 'new.txt'), content: 'New.' })).isError,
      (await callTool(tools, 'a/list_directory', { path: folder })).content,
      (await callTool(tools, 'a/read_text_file', { path: '/etc/passwd' })).isError,
    ]).toEqual(['What to read.', undefined, '[FILE] new.txt\n[FILE] note.txt', true]);
  });

  it('[T-01] for memories keeps them', async () => {
    const config = { ...published('memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.json') } };
    const tools = openTools({ a: config });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }];
    await callTool(tools, 'a/create_entities', { entities });
    const found = await callTool(tools, 'a/search_nodes', { query: 'programs' });
    expect([String(found.content).includes('Ada'), tools.warnings]).toEqual([true, []]);
  });

  it('[T-01] for thinking in steps counts them', async () => {
    const tools = openTools({ a: published('sequential-thinking') });
    const thought = { thought: 'First.', nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 };
    const { content, isError } = await callTool(tools, 'a/sequentialthinking', thought);
    expect([isError, String(content).includes('thoughtHistoryLength')]).toEqual([undefined, true]);
    expect((await failureOf(callTool(tools, 'a/none'))).message).toBe("The MCP server 'a' has no tool 'none'.");
  });
});
