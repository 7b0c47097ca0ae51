/** MCP both ways: the tools of MCP servers for the options `tools` and `remoteMcp`, and the host's tools as an MCP server. */
export type { Api } from './apis/endpoint/api.ts';
export { type McpOptions, mcpApi } from './apis/mcp/mcp-api.ts';
export { type McpRouter, type McpRouterOptions, mcpRouter } from './hosts/express/mcp-router.ts';
export * from './tools/mcp/index.ts';
