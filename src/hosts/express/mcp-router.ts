/** The host's tools as an MCP server, as an Express router. */
import type { Request, Router } from 'express';
import { type McpOptions, makeMcpApi, mcpChecks } from '../../apis/mcp/mcp-api.ts';
import { guardSettings } from '../../engine/guarding/guard/settings.ts';
import type { DrainOptions } from '../../engine/request/activity.ts';
import type { GuardOptions } from '../../ports/guard.ts';
import type { Hooks } from '../../ports/hooks.ts';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { checkSecret } from '../../ports/sealer.ts';
import type { ApprovalPolicy, ApprovalQuestion } from '../../ports/tool-provider.ts';
import { type LimitOptions, limitSettings } from '../../server/options/limit-options.ts';
import { coreChecks } from '../../server/options/option-checks.ts';
import { type PlainOptions, plainChecks } from '../../server/options/plain-api.ts';
import type { HostRequest } from './host-request.ts';
import { partOptions, plainRouter } from './plain-router.ts';

/** The tools, what they may do, and the tenant; `undefined` means omitted. `Req` is the request as the app's earlier handlers leave it. */
export interface McpRouterOptions<Req extends Request = HostRequest>
  extends McpOptions<Req>,
    Omit<PlainOptions, 'hooks'> {
  /**
   * Which tools need the user's approval: they are listed to clients that can ask their user (elicitation), and run after that. Default: none.
   */
  readonly approval?: ((tool: ApprovalQuestion<Req>) => boolean) | undefined;
  /** What inspects the arguments and results of tools: those of `tools` are used, and those of `output` for errors. Default: none. */
  readonly guards?: GuardOptions<Req> | undefined;
  /** Those of `request` and `tools` are used. Default: as docs/options.md lists. */
  readonly limits?: LimitOptions | undefined;
  /** Seals the questions for approval; the same in every process. Default: a random one for this process. */
  readonly secret?: string | Uint8Array | undefined;
  /** Functions that receive tool calls, approvals, findings of guards, notes and errors. Default: none. */
  readonly hooks?: Hooks | undefined;
  /** The tenant of a request, to whom its session belongs. Default: a digest of the API key. */
  readonly scope?: ((req: Req) => string) | undefined;
}

/** A router of tools that can be shut down. */
export interface McpRouter extends Router {
  /** Refuses new requests with 503 and resolves when every running one has ended; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
  /** Ends all sessions, and closes the tools unless a function chooses them. May be called twice. */
  close(): Promise<void>;
}

/**
 * `POST` and `DELETE /mcp`, to be mounted at any path behind the app's authentication: an MCP server over streamable HTTP, for clients of the
 * protocol with sessions and of the one without. Needs the package `@modelcontextprotocol/server`. Throws a `TypeError` for an unknown option
 * or a bad value, and an `Error` if the package is missing. Beside other APIs, `openResponses` with `mcpApi` needs each option once.
 *
 * @example
 * ```ts
 * import express, { type RequestHandler } from 'express';
 * import { mcpRouter, mcpTools } from 'express-open-responses/mcp';
 *
 * declare const authenticate: RequestHandler;
 *
 * const tools = mcpTools({ configFile: 'mcp.json' });
 * express().use(authenticate, mcpRouter({ tools })).listen(3000);
 * ```
 */
export function mcpRouter<Req extends Request = HostRequest>(options: McpRouterOptions<Req>): McpRouter {
  const owner = 'mcpRouter';
  const { approval: isPolicy, guards: areGuards, limits: areLimits, secret: isSecret } = coreChecks;
  const added = { approval: isPolicy, guards: areGuards, limits: areLimits, secret: isSecret } as typeof coreChecks;
  checkOptions(owner, options, { ...mcpChecks, ...plainChecks, ...added, scope: isFunction });
  const { plain, own } = partOptions(options);
  const { approval, guards, limits, secret, ...mcp } = own;
  const api = makeMcpApi(owner, mcp);
  const { router, open } = plainRouter(owner, api, plain, {
    // The cast: the request is the host's own, as its function expects it.
    approval: approval as ApprovalPolicy | undefined,
    guards: guardSettings(`${owner}: guards`, guards),
    limits: limitSettings(owner, limits),
    secret: secret === undefined ? undefined : checkSecret(`${owner}: secret`, secret),
  });
  return Object.assign(router, {
    drain: async (drainOptions?: DrainOptions) => open.drain?.(drainOptions),
    close: async () => api.close?.(),
  });
}
