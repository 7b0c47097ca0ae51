/** Starts the MCP servers of the command line. */
import { statSync } from 'node:fs';
import { toPrintable } from '../../protocol/printable.ts';
import type * as Mcp from '../../tools/mcp/index.ts';
import { Failure, printableMessage, usageFailure } from './failure.ts';

/** The tools of the servers in the file, after each server has answered or failed once; undefined without a file. */
export async function openTools(
  file: string | undefined,
  warn: (line: string) => void,
): Promise<Mcp.McpTools | undefined> {
  if (file === undefined) return undefined;
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw usageFailure(`--mcp: there is no file '${file}'`);
  // Imported only now, because it needs a package that may not be installed.
  const { mcpTools } = await import('../../tools/mcp/index.ts').catch((error: unknown) => {
    const name = '@modelcontextprotocol/client';
    const add = `npx -p express-open-responses -p ${name} express-open-responses ...`;
    throw new Failure(`--mcp needs the package ${name}: npm install ${name}, or ${add}`, 1, error);
  });
  const asOption = (text: string) => text.replace(/^mcpTools: (configFile )?/, '--mcp: ');
  let tools: Mcp.McpTools;
  try {
    tools = mcpTools({
      configFile: file,
      connectTimeoutMs: START_MS,
      logger: { ...NO_LINES, warn: (text) => warn(asOption(text)) },
    });
  } catch (error) {
    throw usageFailure(asOption(printableMessage(error)), error);
  }
  // The tools themselves warn of servers that fail, and try them again with later requests.
  await tools.list(new AbortController().signal, undefined);
  return tools;
}

const NO_LINES = { debug() {}, info() {}, error() {} };

/** How long a server has to start, in milliseconds: `npx` may download it first. */
const START_MS = 30_000;

/** The labels of the servers, and how many tools each has. */
export function toolsSummary(tools: Mcp.McpTools): string {
  const servers = tools.status().map((server) => `${toPrintable(server.label)} (${server.tools})`);
  return servers.join(', ') || 'none: the file has no servers';
}
