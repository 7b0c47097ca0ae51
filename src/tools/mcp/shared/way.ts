/** How a server is reached: over which transport, and in which era of the protocol. */
import { HttpStatusError, ProbeRefusedError, RpcCode, RpcError } from './client/faults.ts';
import type { Beginning, McpProtocol, ProtocolEra } from './client/mcp-client.ts';
import type { ServerSettings } from './server-config.ts';

/** What is known of a server. */
export interface Way {
  readonly server: ServerSettings;
  readonly beginning: Beginning;
  /** When the era is asked for again, in milliseconds since the epoch: servers get newer. */
  readonly until: number;
}

/** The statuses of servers of the other transport; see "Backwards Compatibility" in MCP's chapter on transports. */
const OTHER_TRANSPORT: ReadonlySet<number> = new Set([400, 404, 405]);
const PROVEN_MS = 3_600_000;

/** Nothing is known but the config. */
export function firstWay(server: ServerSettings): Way {
  // SSE is older than the question.
  return { server, beginning: server.transport === 'sse' ? 'legacy' : 'probe', until: Number.POSITIVE_INFINITY };
}

/** The same way, or the first one if its proof is old. */
export function wayNow(way: Way): Way {
  return Date.now() < way.until ? way : firstWay(way.server);
}

/** The way that led to a session. */
export function provenWay({ server, beginning, until }: Way, { era }: McpProtocol): Way {
  return { server, beginning: era, until: beginning === 'probe' ? Date.now() + PROVEN_MS : until };
}

/** What a server that does not answer the probe well shows of its era. */
function eraShownBy(error: unknown): ProtocolEra | undefined {
  if (error instanceof ProbeRefusedError) return 'legacy';
  if (!(error instanceof RpcError)) return undefined;
  // A process that misses the probe is sent `initialize`, which it refuses.
  if (error.code === RpcCode.unsupportedVersion) return 'modern';
  return error.code === RpcCode.timedOut ? 'legacy' : undefined;
}

/** Another way, if the error shows that the server may support it. */
export function otherWay(way: Way, error: unknown): Way | undefined {
  const { server, beginning } = way;
  const era = beginning === 'probe' ? eraShownBy(error) : undefined;
  if (era) return { server, beginning: era, until: Date.now() + PROVEN_MS };
  if (server.transport === 'stdio' || server.fallback === undefined) return undefined;
  if (!(error instanceof HttpStatusError && OTHER_TRANSPORT.has(error.status))) return undefined;
  const { fallback, ...rest } = server;
  return firstWay({ ...rest, transport: fallback });
}
