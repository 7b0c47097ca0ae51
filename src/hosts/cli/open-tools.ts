/** Starts the MCP servers of the command line. */
import { statSync } from 'node:fs';
import { parse } from 'node:path';
import { toPrintable } from '../../protocol/printable.ts';
import type * as Mcp from '../../tools/mcp/index.ts';
import { Failure, printableMessage, usageFailure } from './failure.ts';

/** The tools of each server that is named, after it has answered or failed once. */
export async function openTools(
  places: readonly string[],
  warn: (line: string) => void,
): Promise<readonly Mcp.McpTools[]> {
  if (places.length === 0) return [];
  const { configFiles, servers } = readPlaces(places);
  // Imported only now, because it needs a package that may not be installed.
  const { mcpTools } = await import('../../tools/mcp/index.ts').catch((error: unknown) => {
    const name = '@modelcontextprotocol/client';
    const add = `npx -p express-open-responses -p ${name} express-open-responses ...`;
    throw new Failure(`--mcp needs the package ${name}: npm install ${name}, or ${add}`, 1, error);
  });
  const asOption = (text: string) => text.replace(/^mcpTools: (configFile )?/, '--mcp: ');
  const logger = { ...NO_LINES, warn: (text: string) => warn(asOption(text)) };
  const sources = [...configFiles.map((configFile) => ({ configFile })), { servers }];
  const opened: Mcp.McpTools[] = [];
  try {
    for (const source of sources) opened.push(mcpTools({ ...source, connectTimeoutMs: START_MS, logger }));
  } catch (error) {
    await Promise.all(opened.map((tools) => tools.close()));
    throw usageFailure(asOption(printableMessage(error)), error);
  }
  // The tools themselves warn of servers that fail, and try them again with later requests.
  await Promise.all(opened.map((tools) => tools.list(new AbortController().signal, undefined)));
  return opened;
}

/** Programs that start another, which is named after them. */
const STARTERS = /^(npx|bunx|uvx|pnpx|node|bun|deno|python3?|docker|uv)$/;

/** A place is a URL, a file, or else a command, whose words no shell reads. */
function readPlaces(places: readonly string[]) {
  const configFiles: string[] = [];
  const servers: Record<string, Mcp.McpServerConfig> = {};
  const add = (name: string, config: Mcp.McpServerConfig) => {
    let label = name;
    for (let copy = 2; label in servers; copy += 1) label = `${name}-${copy}`;
    servers[label] = config;
  };
  for (const place of places) {
    if (/^https?:\/\//i.test(place)) add(URL.canParse(place) ? new URL(place).hostname : 'server', { url: place });
    else if (statSync(place, { throwIfNoEntry: false })?.isFile()) configFiles.push(place);
    else if (!/\s/.test(place) && /[/\\]|\.json$/.test(place)) throw usageFailure(`--mcp: there is no file '${place}'`);
    else {
      const words = [...place.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
      const [command = '', ...args] = words;
      const named = words.find((word) => !word.startsWith('-') && !STARTERS.test(parse(word).name)) ?? command;
      add(parse(named).name, { command, args });
    }
  }
  return { configFiles, servers };
}

const NO_LINES = { debug() {}, info() {}, error() {} };

/** How long a server has to start, in milliseconds: `npx` may download it first. */
const START_MS = 30_000;

/** The labels of the servers, and how many tools each has. */
export function toolsSummary(all: readonly Mcp.McpTools[]): string {
  const servers = all
    .flatMap((tools) => tools.status())
    .map((server) => `${toPrintable(server.label)} (${server.tools})`);
  return servers.join(', ') || 'none: the file has no servers';
}
