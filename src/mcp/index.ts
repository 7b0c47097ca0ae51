/** Tools of MCP servers, for the options `tools` and `remoteMcp`; needs `@modelcontextprotocol/client` or `/sdk`. */

export { type McpTools, mcpTools } from './host/mcp-tools.ts';
export type { McpToolsOptions } from './host/options.ts';
export { remoteMcp } from './remote/remote-mcp.ts';
export type { RemoteMcpOptions } from './remote/remote-options.ts';
export { McpCallError } from './shared/call-error.ts';
export type { McpProtocol, ProtocolEra } from './shared/client/mcp-client.ts';
export type { ConnectionStatus, McpServerState } from './shared/connection.ts';
export type { McpServerConfig, McpTransport } from './shared/server-config.ts';
export type { McpServerStatus } from './shared/server-tools.ts';
