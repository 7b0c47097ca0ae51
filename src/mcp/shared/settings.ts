/** How connections to MCP servers are kept. */
import type { HttpPool } from './http-pool.ts';

/** How connections are kept, with every default filled in. */
export interface McpSettings {
  readonly refreshMs: number;
  readonly idleMs: number;
  readonly connectTimeoutMs: number;
  readonly warn: (message: string) => void;
  /** Whose connections they are, in warnings. */
  readonly owner: 'mcpTools' | 'remoteMcp';
  /** Whether a server that failed is tried again in the background. */
  readonly retries: boolean;
  /** How much of a server's list is kept, in characters of JSON. */
  readonly listCharacters: number;
  /** The sockets of one session over HTTP. */
  readonly openPool: () => HttpPool;
}
