/** Tools of MCP servers that the host has configured, run by this server. */
import type { ToolProvider } from '../../../ports/tool-provider.ts';
import { unavailableError } from '../shared/call-error.ts';
import type { McpServerStatus } from '../shared/server-tools.ts';
import { hostServer } from './host-server.ts';
import { type McpToolsOptions, mcpSettings } from './options.ts';
import { serverList } from './server-list.ts';

/**
 * Serves the tools of all servers; a server that is down only removes its own. Each server offers at most 10,000
 * tools, those past `maxTools` deferred; descriptions are cut after 4,096 characters, and tools with schemas of over
 * 128 Ki characters are omitted.
 */
export interface McpTools<Req = unknown> extends ToolProvider<Req> {
  /** The status of each server, in the order of the config. */
  status(): readonly McpServerStatus[];
  /** Ends every process, socket and session; afterwards there are no tools, and calls reject. May be called twice. */
  close(): Promise<void>;
}

/**
 * A provider for the option `tools`. Only the host chooses the servers: nothing in a request names, adds or reaches
 * another. Throws a `TypeError` for a bad option or server.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { mcpTools } from 'express-open-responses/mcp';
 *
 * const tools = mcpTools({ servers: { docs: { command: 'npx', args: ['-y', 'my-docs-server'] } } });
 * const router = responsesRouter({ tools });
 * process.once('SIGTERM', () => void tools.close());
 * ```
 */
export function mcpTools<Req = unknown>(options: McpToolsOptions<Req> = {}): McpTools<Req> {
  const settings = mcpSettings(options);
  const servers = serverList(options, settings.mcp.warn).map(({ server, functions }) =>
    hostServer(server, functions, settings),
  );
  const byLabel = new Map(servers.map((server) => [server.label, server]));
  if (options.connect === 'eager') for (const server of servers) void server.list(undefined, NEVER);

  return {
    name: 'mcp',
    async list(signal, request) {
      return (await Promise.all(servers.map((server) => server.list(request, signal)))).flat();
    },
    async call(call, signal) {
      const server = byLabel.get(call.server);
      if (!server) throw unavailableError(call.server);
      return server.call(call, signal);
    },
    status: () => servers.map((server) => server.status()),
    async close() {
      await Promise.all([settings.pool.close(), ...servers.map((server) => server.close())]);
    },
  };
}

/** Nobody waits for these lists. */
const NEVER = new AbortController().signal;
