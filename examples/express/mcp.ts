/** The tools that the example's server runs itself, from MCP servers. */
import { fileURLToPath } from 'node:url';
import { type McpTools, mcpTools } from 'express-open-responses/mcp';

/**
 * The servers of a config file; none with `off`. Without a file the demo model gets MCP's example server, so that a
 * real tool runs.
 */
export function startTools(config: string | undefined, isDemo: boolean, say: (line: string) => void): McpTools {
  if (config === 'off' || (config === undefined && !isDemo)) return mcpTools();
  if (config !== undefined) return mcpTools({ configFile: config, connect: 'eager' });
  const script = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
  say("No MCP_CONFIG: the model may use the tools of MCP's own server-everything");
  return mcpTools({
    // The excluded tool needs MCP's tasks, and a warning would say that it is left out.
    servers: {
      everything: { command: process.execPath, args: [script, 'stdio'], exclude: ['simulate-research-query'] },
    },
    connect: 'eager',
  });
}
