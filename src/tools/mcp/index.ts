/** Tools of MCP servers, for the options `tools` and `remoteMcp`; needs `@modelcontextprotocol/client` or `/sdk`. */

export type { ElicitAnswer, McpQuestion } from './host/host-answers.ts';
export type { UnauthorizedInfo } from './host/host-server.ts';
export { type McpTools, mcpTools } from './host/mcp-tools.ts';
export type { McpToolsOptions } from './host/options.ts';
export { remoteMcp } from './remote/remote-mcp.ts';
export type { RemoteMcpOptions } from './remote/remote-options.ts';
export { McpCallError } from './shared/call-error.ts';
export type { McpChallenge } from './shared/challenge.ts';
export type { McpAuthProvider, McpProtocol, ProtocolEra } from './shared/client/mcp-client.ts';
export type { ConnectionStatus, McpServerState } from './shared/connection.ts';
export type { Asked, CredentialsContext, McpServerConfig, McpTransport, OrAsked } from './shared/server-config.ts';
export type { McpServerStatus } from './shared/server-tools.ts';
