/** The connection to one server that a request named, over the transport that the server supports. */

import type { RemoteServer } from '../../../ports/remote-servers.ts';
import { redactor } from '../shared/redact.ts';
import type { ServerSettings } from '../shared/server-config.ts';
import { ServerTools } from '../shared/server-tools.ts';
import { SilentServer } from './remote-errors.ts';
import { remoteHttp } from './remote-http.ts';
import type { RemoteSettings } from './remote-options.ts';

/** A connection that is opening, open, or unusable. */
export interface RemoteConnection {
  /** The tools, once listed. Rejects with an `EgressError`, or with an error whose message has no secrets. */
  readonly opening: Promise<ServerTools>;
  /** Whether it could not be opened, or could not be reopened after it broke. */
  readonly failed: boolean;
  /** Ends opening, calls and sockets. May be called twice. */
  close(): Promise<void>;
}

/** Shorter path segments are words such as `mcp`. */
const MIN_SECRET_IN_PATH_LENGTH = 16;

/** Starts to open the connection; `server.url` was checked. */
export function remoteConnection(server: RemoteServer, settings: RemoteSettings): RemoteConnection {
  const http = remoteHttp(settings.openGuard);
  const tools = new ServerTools(remoteServerSettings(server), { ...settings.mcp, openPool: http.openPool });
  let failed = false;

  async function open(): Promise<ServerTools> {
    await tools.list();
    const { state, error = '' } = tools.status();
    if (state !== 'failed' && state !== 'closed') return tools;
    failed = true;
    if (state === 'closed') throw new Error('The connection was closed.');
    // Classified by facts: the guard's refusal, the server's status, and whether it answered at all.
    if (http.refusal) throw http.refusal;
    if (!http.hasAnswer) throw new SilentServer(error);
    throw tools.fault?.type === 'http_error' ? tools.fault : new Error(error);
  }

  const opening = open();
  // The waiting callers receive the error.
  opening.catch(() => {});

  return {
    opening,
    get failed() {
      return failed || tools.status().state === 'failed';
    },
    async close() {
      await tools.close();
      await opening.catch(() => {});
    },
  };
}

function remoteServerSettings({ headers, url: text }: RemoteServer): ServerSettings {
  const url = new URL(text);
  const secretsInPath = url.pathname.split('/').filter((part) => part.length >= MIN_SECRET_IN_PATH_LENGTH);
  const { error, content } = redactor({ headers, env: {}, url: url.href, inserted: secretsInPath });
  const isSSE = url.pathname.endsWith('/sse') || url.pathname.endsWith('/sse/');
  return {
    // Both transports of HTTP; the path decides which one is tried first.
    transport: isSSE ? 'sse' : 'streamable-http',
    fallback: isSSE ? 'streamable-http' : 'sse',
    url,
    headers,
    // Requests that use another label for the server share the connection.
    label: url.host,
    // Others cannot be called by the name that is shown.
    allows: (tool) => tool === visibleText(tool),
    defers: () => false,
    // In this order, or invisible characters inside a secret would keep it from being masked.
    redact: { error: (message) => error(visibleText(message)), content: (part) => content(visibleText(part)) },
    ignored: [],
  };
}

/** Controls other than line feed and tab; marks that reverse the direction of text; tags, which encode hidden text. */
const INVISIBLE = /(?![\n\t])\p{Cc}|[\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu;

/** The text without characters that hide its content on a screen or in a log. */
function visibleText(text: string): string {
  return text.replace(INVISIBLE, '');
}
