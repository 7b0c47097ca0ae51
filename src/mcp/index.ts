/** Tools of MCP servers, for the `tools` option; needs `@modelcontextprotocol/sdk`. */
export { McpCallError } from './call-error.ts';
export type { ConnectionStatus, McpServerState } from './connection.ts';
export { type McpTools, mcpTools } from './mcp-tools.ts';
export type { McpToolsOptions } from './options.ts';
export type { McpServerConfig, McpTransport } from './server-config.ts';
export type { McpServerStatus } from './server-tools.ts';
