/** Tools of MCP servers that requests name. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RemoteServer, RemoteServers } from '../../../ports/remote-servers.ts';
import type { ToolProvider } from '../../../ports/tool-provider.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { ConnectionPool, type PoolKey } from '../shared/connection-pool.ts';
import { isHeader } from '../shared/server-config.ts';
import type { ServerTools } from '../shared/server-tools.ts';
import { type RemoteConnection, remoteConnection } from './remote-connection.ts';
import { callError, openError, UnreachableError } from './remote-errors.ts';
import { type RemoteMcpOptions, remoteSettings } from './remote-options.ts';

/**
 * For the option `remoteMcp`: lets requests name MCP servers of their own, over streamable HTTP and SSE. Every connection
 * goes through an `egressGuard`. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { remoteMcp } from 'express-open-responses/mcp';
 *
 * const router = responsesRouter({ remoteMcp: remoteMcp({ egress: { allow: [{ host: 'mcp.example.com' }] } }) });
 * ```
 */
export function remoteMcp(options: RemoteMcpOptions = {}): RemoteServers {
  const settings = remoteSettings(options);
  const guard = settings.openGuard();
  const pool = new ConnectionPool<RemoteConnection>(settings);

  /** Runs the work with the server's tools, and connects first if needed. Throws an `ApiError` if it cannot connect. */
  function withTools<Result>(
    server: RemoteServer,
    scope: string,
    signal: AbortSignal,
    work: (tools: ServerTools) => Promise<Result>,
  ): Promise<Result> {
    const create = () => remoteConnection(server, settings);
    return pool.use(connectionKey(server, scope), create, async ({ opening }) => {
      const tools = await inWholeSteps(signal, () =>
        untilAborted(signal, () => opening).catch((error: unknown) => {
          signal.throwIfAborted();
          throw openError(server, error);
        }),
      );
      return work(tools);
    });
  }

  function assertAllowed(server: RemoteServer): void {
    try {
      guard.check(server.url);
    } catch (error) {
      throw openError(server, error);
    }
    const isSendable = Object.entries(server.headers).every(([name, value]) => isHeader(name, value));
    // Checked here, without the value, which the runtime's own error would quote.
    if (isSendable) return;
    const param = `${server.param}.headers`;
    throw new ApiError('invalid_value', 'One of the headers is not one that HTTP can carry.', { param });
  }

  return {
    async open(server, scope, signal) {
      await inWholeSteps(signal, async () => assertAllowed(server));
      await withTools(server, scope, signal, async () => {});
      return remoteProvider(server, (wait, work) => withTools(server, scope, wait, work));
    },
    async close() {
      await pool.close();
      await guard.close();
    },
  };
}

/** Refusals, DNS answers and refused connections mostly take less time than this, in milliseconds. */
const STEP_MS = 250;

/** Reports an unreachable server in whole steps of time, so that the time reveals little of the reason. */
async function inWholeSteps<Result>(signal: AbortSignal, open: () => Promise<Result>): Promise<Result> {
  const began = performance.now();
  try {
    return await open();
  } catch (error) {
    const took = performance.now() - began;
    if (error instanceof UnreachableError)
      await sleep(STEP_MS - (took % STEP_MS), undefined, { signal, ref: false }).catch(() => {});
    signal.throwIfAborted();
    throw error;
  }
}

type WithTools = <Result>(signal: AbortSignal, work: (tools: ServerTools) => Promise<Result>) => Promise<Result>;

/** Holds no connection: during the hours that a turn may take, an idle one is closed, and the next call reopens it. */
function remoteProvider({ label }: RemoteServer, withTools: WithTools): ToolProvider {
  return {
    name: 'remote-mcp',
    async list(signal) {
      const tools = await withTools(signal, (server) => server.list());
      return tools.map((tool) => ({ ...tool, server: label }));
    },
    async call(call, signal) {
      try {
        return await withTools(signal, (server) => server.call(call, signal));
      } catch (error) {
        throw callError(error);
      }
    },
  };
}

/** A digest, so that no secret is kept as a key. */
function connectionKey({ url, headers }: RemoteServer, scope: string): PoolKey {
  const sorted = Object.entries(headers).sort(([one], [other]) => (one < other ? -1 : 1));
  const text = JSON.stringify([scope, new URL(url).href, sorted]);
  return { scope, id: createHash('sha256').update(text).digest('base64') };
}
