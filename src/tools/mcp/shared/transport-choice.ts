/** How a server is reached: over which transport, and in which era of the protocol. */
import { HttpStatusError, ProbeRefusedError, RpcCode, RpcError } from './client/faults.ts';
import type { Beginning, McpProtocol, ProtocolEra } from './client/mcp-client.ts';
import type { ServerSettings } from './server-config.ts';

/** What is known of a server. */
export interface TransportChoice {
  readonly server: ServerSettings;
  readonly beginning: Beginning;
  /** When the era is asked for again, in milliseconds since the epoch: servers get newer. */
  readonly until: number;
}

/** The statuses of servers of the other transport; see "Backwards Compatibility" in MCP's chapter on transports. */
const OTHER_TRANSPORT: ReadonlySet<number> = new Set([400, 404, 405]);
const PROOF_MS = 3_600_000;

/** Nothing is known but the config. */
export function initialTransport(server: ServerSettings): TransportChoice {
  // SSE is older than the question.
  return { server, beginning: server.transport === 'sse' ? 'legacy' : 'probe', until: Number.POSITIVE_INFINITY };
}

/** The same choice, or the first one if its proof is old. */
export function currentTransport(choice: TransportChoice): TransportChoice {
  return Date.now() < choice.until ? choice : initialTransport(choice.server);
}

/** The choice that led to a session. */
export function confirmedTransport(
  { server, beginning, until }: TransportChoice,
  { era }: McpProtocol,
): TransportChoice {
  return { server, beginning: era, until: beginning === 'probe' ? Date.now() + PROOF_MS : until };
}

/** Another choice, if the error shows that the server may support it. */
export function alternativeTransport(choice: TransportChoice, error: unknown): TransportChoice | undefined {
  const { server, beginning } = choice;
  if (beginning === 'probe') {
    // What a server that does not answer the probe well shows of its era. A process that misses the probe is sent
    // `initialize`, which a modern one refuses.
    const code = error instanceof RpcError ? error.code : undefined;
    let era: ProtocolEra | undefined;
    if (error instanceof ProbeRefusedError || code === RpcCode.timedOut) era = 'legacy';
    else if (code === RpcCode.unsupportedVersion) era = 'modern';
    if (era) return { server, beginning: era, until: Date.now() + PROOF_MS };
  }
  if (server.transport === 'stdio' || server.fallback === undefined) return undefined;
  if (!(error instanceof HttpStatusError && OTHER_TRANSPORT.has(error.status))) return undefined;
  const { fallback, ...rest } = server;
  return initialTransport({ ...rest, transport: fallback });
}
