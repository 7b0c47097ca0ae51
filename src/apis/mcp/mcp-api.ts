/** The host's tools as an MCP server: an API as a value, for `openResponses` and for the router. */

import { checkOptions, milliseconds, type OptionCheck, positiveInteger } from '../../ports/host/options-check.ts';
import { requirePeer } from '../../ports/host/peer.ts';
import { processSecret, sealer } from '../../ports/sealer.ts';
import { areTools, hostTools, type ToolProvider, type ToolsOf } from '../../ports/tool-provider.ts';
import { isFilledText, isRecord, type JsonObject } from '../../protocol/record.ts';
import type { Api } from '../endpoint/api.ts';
import { McpEndpoints, rpcEnvelope } from './endpoints.ts';
import type { Sdk } from './settings.ts';

/** The tools, and who may use how much of them; `undefined` means omitted. `Req` is the host framework's request. */
export interface McpOptions<Req = unknown> {
  /** The tools that clients may list and call, for every request or by request. Default: those of `openResponses`. */
  readonly tools?: ToolProvider<Req> | readonly ToolProvider<Req>[] | ToolsOf<Req> | undefined;
  /**
   * Which of the tools that requests of other APIs must enable are offered, with the settings that such a request would send:
   * `[{ type: 'web_search' }]`. Default: none.
   */
  readonly hostedTools?: readonly JsonObject[] | undefined;
  /** How the server introduces itself. Default: `express-open-responses`. */
  readonly name?: string | undefined;
  /** What clients tell their model about the server. Default: nothing. */
  readonly instructions?: string | undefined;
  /**
   * The host names of web pages that may use the tools, without ports. A request with another `Origin` is refused; agents and editors send
   * none. Default: no page.
   */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** The names under which the server may be reached, without ports, such as `localhost`; others are refused. Default: any. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Sessions of all tenants; a new one ends one that is unused, of the tenant that has most. Default: 1,000. */
  readonly maxSessions?: number | undefined;
  /** Sessions of one tenant; a new one ends the one that was unused for longest. Default: 32. */
  readonly maxSessionsPerScope?: number | undefined;
  /** How long an unused session is kept, in milliseconds. Default: 1,800,000. */
  readonly sessionIdleMs?: number | undefined;
  /** Requests of all tenants at the same time; a further one is refused with 429. Default: 256. */
  readonly maxRequests?: number | undefined;
  /** Requests of one tenant at the same time; a further one is refused with 429. Default: 32. */
  readonly maxRequestsPerScope?: number | undefined;
}

const isNameList: OptionCheck = (value) =>
  (Array.isArray(value) && value.every(isFilledText)) || "a list of host names, such as ['localhost']";
const isText: OptionCheck = (value) => isFilledText(value) || 'a text';

/** The checks of the options, to which a router adds its own. */
export const mcpChecks: Readonly<Record<keyof McpOptions, OptionCheck>> = {
  tools: areTools,
  hostedTools: (value) =>
    (Array.isArray(value) && value.every((entry) => isRecord(entry) && isFilledText(entry.type))) ||
    "a list of tools as requests write them, such as [{ type: 'web_search' }]",
  name: isText,
  instructions: isText,
  allowedOrigins: isNameList,
  allowedHosts: isNameList,
  maxSessions: positiveInteger,
  maxSessionsPerScope: positiveInteger,
  sessionIdleMs: milliseconds,
  maxRequests: positiveInteger,
  maxRequestsPerScope: positiveInteger,
};

/**
 * `POST` and `DELETE /mcp`, for the option `apis` of `openResponses`, whose tools, approvals, guards, limits and tenants it has. Needs the
 * package `@modelcontextprotocol/server`. Throws a `TypeError` for an unknown option or a bad value, and an `Error` if the package is missing.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { functionTools, openResponses } from 'express-open-responses';
 * import { mcpApi } from 'express-open-responses/mcp';
 *
 * declare const tools: ReturnType<typeof functionTools>;
 *
 * const api = openResponses({ tools, apis: [mcpApi()] });
 * express().use('/v1', api.router).listen(3000);
 * ```
 */
export function mcpApi<Req = unknown>(options: McpOptions<Req> = {}): Api {
  checkOptions('mcpApi', options, mcpChecks);
  return makeMcpApi('mcpApi', options);
}

/** The same for the function `owner`, which has checked its options. */
export function makeMcpApi(owner: string, options: McpOptions<never>): Api {
  const { tools, hostedTools = [], name = 'express-open-responses', instructions } = options;
  const { allowedOrigins = [], allowedHosts, maxSessions = 1000, maxSessionsPerScope = 32 } = options;
  const { sessionIdleMs = 1_800_000, maxRequests = 256, maxRequestsPerScope = 32 } = options;
  const sdk = requirePeer<Sdk>(owner, '@modelcontextprotocol/server');
  const own = hostTools(tools);
  const opened: McpEndpoints[] = [];
  return {
    name: 'mcp',
    open(host) {
      const toolsOf = tools === undefined ? host.toolsOf : own.toolsOf;
      if (!toolsOf) throw new TypeError(`${owner}: tools is missing, and there are no others to offer`);
      const endpoints = new McpEndpoints({
        ...{ sdk, host, toolsOf, hostedTools, name, instructions },
        store: host.storeFor(undefined),
        limits: { maxSessions, maxSessionsPerScope, sessionIdleMs, maxRequests, maxRequestsPerScope },
        allowed: { origins: allowedOrigins, hosts: allowedHosts },
        sealer: sealer(host.secret ?? processSecret(), { name: 'mcp approval', prefix: 'mcpa1.' }),
      });
      opened.push(endpoints);
      return {
        routes: endpoints.routes,
        describe: async () => [(await import('./description.ts')).describeMcp()],
        envelopeOf: rpcEnvelope,
        drain: (drainOptions) => endpoints.places.drain(drainOptions),
      };
    },
    async close() {
      await Promise.all([...opened, ...(own.providers ?? [])].map((part) => part.close?.()));
    },
  };
}
