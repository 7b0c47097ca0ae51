/** What the parts of the MCP server share: what the host has decided, and the SDK that speaks the protocol. */
import type * as ServerModule from '@modelcontextprotocol/server';
import type { Sealer } from '../../ports/sealer.ts';
import type { ResponseStore } from '../../ports/store.ts';
import type { ToolsOf } from '../../ports/tool-provider.ts';
import type { JsonObject } from '../../protocol/record.ts';
import type { ApiHost } from '../endpoint/api.ts';

/** The package `@modelcontextprotocol/server`, which speaks both eras of the protocol. */
export type Sdk = typeof ServerModule;

/** How many sessions and requests there may be; times are milliseconds. */
export interface McpLimits {
  readonly maxSessions: number;
  readonly maxSessionsPerScope: number;
  readonly sessionIdleMs: number;
  readonly maxRequests: number;
  readonly maxRequestsPerScope: number;
}

/** Where browsers may come from, and under which names the server is reached; host names without ports. */
interface AllowedNames {
  readonly origins: readonly string[];
  /** Undefined for any. */
  readonly hosts: readonly string[] | undefined;
}

/** The settings of one MCP server. */
export interface McpSettings {
  readonly sdk: Sdk;
  readonly host: ApiHost;
  /** Where a container that a hosted tool names is looked for. */
  readonly store: ResponseStore;
  readonly toolsOf: ToolsOf;
  /** The entries that enable hosted tools. */
  readonly hostedTools: readonly JsonObject[];
  readonly name: string;
  readonly instructions: string | undefined;
  readonly limits: McpLimits;
  readonly allowed: AllowedNames;
  /** Seals the questions for approval, which a client of the newer era sends back with its answer. */
  readonly sealer: Sealer;
}
