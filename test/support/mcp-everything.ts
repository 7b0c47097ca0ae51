/** The reference server of the MCP project, as a process that a test starts and ends. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { McpServerConfig } from '../../src/tools/mcp/index.ts';
import { closeLater } from './mcp-client.ts';
import { freePort } from './services.ts';

const SCRIPT = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';

/** How to reach the server, and how to kill it. */
export interface Everything {
  readonly config: McpServerConfig;
  /** Kills it, as a crash does; resolves when it has ended. */
  kill(): Promise<void>;
  /** Starts it again at the same address, unless its client starts it. */
  restart(): Promise<void>;
}

/** Starts the server, or says how to start it. */
export function everything(transport: string): Promise<Everything> {
  return transport === 'stdio' ? overStdio() : overHttp(transport);
}

/** The shell writes its process id to a file and becomes the server. */
async function overStdio(): Promise<Everything> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-everything-'));
  closeLater(async () => rmSync(folder, { recursive: true }));
  const pidFile = join(folder, 'pid');
  const command = `echo $$ > "$1"; exec "$2" ${SCRIPT} stdio`;
  return {
    config: { command: 'sh', args: ['-c', command, 'sh', pidFile, process.execPath] },
    kill: async () => void process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL'),
    restart: async () => {},
  };
}

async function overHttp(transport: string): Promise<Everything> {
  const port = await freePort();
  let child = await start(transport, port);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  closeLater(() => kill());
  const path = transport === 'sse' ? 'sse' : 'mcp';
  return {
    config: { url: `http://127.0.0.1:${port}/${path}`, type: transport },
    kill,
    async restart() {
      child = await start(transport, port);
    },
  };
}

async function start(transport: string, port: number): Promise<ChildProcess> {
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, [SCRIPT, transport], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface({ input: child.stderr })) if (line.includes(`port ${port}`)) break;
  child.stderr.resume();
  return child;
}
