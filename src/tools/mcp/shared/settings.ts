/** The settings of connections to MCP servers. */
import type { McpSdk } from './client/mcp-client.ts';
import type { Questions } from './client/questions.ts';
import type { HttpPool } from './http-pool.ts';

/** How many tools of a server the model is offered at once by default: docs/tools.md has the measurements. */
export const MAX_TOOLS = 64;

/** How connections are kept, with every default filled in. */
export interface McpSettings {
  readonly sdk: McpSdk;
  readonly refreshMs: number;
  readonly idleMs: number;
  readonly connectTimeoutMs: number;
  readonly warn: (message: string) => void;
  /** The name of the connections' owner, in warnings. */
  readonly owner: 'mcpTools' | 'remoteMcp';
  /** Whether a failed server is retried in the background. */
  readonly retries: boolean;
  /** How much of a server's list is kept, in characters of JSON. */
  readonly listCharacters: number;
  /** How many tools of a server the model is offered at once, where the server's own settings name no number. */
  readonly maxTools: number;
  /** Whether the schemas come from outside, so that checking them must be bounded. */
  readonly schemas: 'trusted' | 'untrusted';
  /** Who answers what servers ask. */
  readonly questions: Questions;
  /** Whether the model is offered to list and read the servers' resources. */
  readonly resources: boolean;
  /** The labels of the servers that requests may name; undefined for all. */
  readonly requestLabels?: readonly string[] | undefined;
  /** Opens the sockets of one session over HTTP. */
  readonly openPool: () => HttpPool;
}
