/** The connection to one server that a request named, over the transport that the server speaks. */
import type { RemoteServer } from '../../ports/remote-servers.ts';
import type { HttpServer, ServerSettings } from '../host/server-config.ts';
import { type ServerTools, serverTools } from '../host/server-tools.ts';
import { type Redactor, redactor } from '../shared/redact.ts';
import { type RemoteHttp, remoteHttp } from './remote-http.ts';
import type { RemoteSettings } from './remote-options.ts';
import { seenText } from './remote-text.ts';

/** A connection that is being opened, open, or of no more use. */
export interface RemoteConnection {
  /** The tools, once they were listed. Rejects with an `EgressError`, or with an error whose message is free of secrets. */
  readonly opened: Promise<ServerTools>;
  /** Whether it could not be opened, or could not be opened again after it had broken. */
  readonly failed: boolean;
  /** Ends opening, calls and sockets. May be called twice. */
  close(): Promise<void>;
}

type Transport = HttpServer['transport'];

/** Servers of the other transport answer so; see "Backwards Compatibility" in MCP's chapter on transports. */
const OTHER_TRANSPORT = new Set([400, 404, 405]);
/** Shorter parts of a path are words such as `mcp`. */
const SHORTEST_SECRET_IN_PATH = 16;

/** Starts to open the connection; `server.url` was checked. */
export function remoteConnection(server: RemoteServer, settings: RemoteSettings): RemoteConnection {
  const url = new URL(server.url);
  let tools: ServerTools | undefined;
  let closed = false;
  let failed = false;

  async function open(): Promise<ServerTools> {
    const faults: string[] = [];
    for (const transport of transportsOf(url)) {
      const http = remoteHttp(settings.openGuard);
      const fault = await tried(transport, http);
      // The cast: only what was opened has no fault.
      if (fault === undefined) return tools as ServerTools;
      await tools?.close();
      if (http.refusal) throw http.refusal;
      faults.push(fault);
      if (closed || !OTHER_TRANSPORT.has(http.status ?? 0)) break;
    }
    throw new Error(faults.join('; '));
  }

  async function tried(transport: Transport, { openPool }: RemoteHttp): Promise<string | undefined> {
    tools = serverTools(serverSettings(server, url, transport), { ...settings.mcp, openPool });
    await tools.list();
    const { state, error } = tools.status();
    return state === 'failed' || state === 'closed' ? (error ?? 'The connection was closed.') : undefined;
  }

  const opened = open().catch((error: unknown) => {
    failed = true;
    throw error;
  });
  // Whoever waits is told.
  opened.catch(() => {});

  return {
    opened,
    get failed() {
      return failed || tools?.status().state === 'failed';
    },
    async close() {
      closed = true;
      await tools?.close();
      await opened.catch(() => {});
    },
  };
}

function transportsOf({ pathname }: URL): readonly Transport[] {
  return /\/sse\/?$/.test(pathname) ? ['sse', 'streamable-http'] : ['streamable-http', 'sse'];
}

function serverSettings({ headers }: RemoteServer, url: URL, transport: Transport): ServerSettings {
  return {
    transport,
    url,
    headers,
    // Requests that name the server differently share the connection.
    label: url.host,
    // Others cannot be called by the name that is shown.
    allows: (tool) => tool === seenText(tool),
    redact: remoteRedactor(headers, url),
    ignored: [],
  };
}

/** In this order, or unseen characters inside a secret would keep it from being masked. */
function remoteRedactor(headers: RemoteServer['headers'], url: URL): Redactor {
  const inPath = url.pathname.split('/').filter((part) => part.length >= SHORTEST_SECRET_IN_PATH);
  const { error, content } = redactor({ headers, env: {}, url: url.href, inserted: inPath });
  return { error: (text) => error(seenText(text)), content: (text) => content(seenText(text)) };
}
