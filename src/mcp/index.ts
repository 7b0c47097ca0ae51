/** Tools of MCP servers, for the options `tools` and `remoteMcp`; needs `@modelcontextprotocol/sdk`. */
export { McpCallError } from './call-error.ts';
export type { ConnectionStatus, McpServerState } from './connection.ts';
export { type McpTools, mcpTools } from './mcp-tools.ts';
export type { McpToolsOptions } from './options.ts';
export { remoteMcp } from './remote-mcp.ts';
export type { RemoteMcpOptions } from './remote-options.ts';
export type { McpServerConfig, McpTransport } from './server-config.ts';
export type { McpServerStatus } from './server-tools.ts';
