import type { McpServer } from '@modelcontextprotocol/server';
import type { ServerEvents } from './mcp-tool-set.mjs';

export function modernServer(events: ServerEvents, extra?: ReadonlyMap<string, string>): McpServer;
