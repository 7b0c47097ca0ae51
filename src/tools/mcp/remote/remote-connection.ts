/** The connection to one server that a request named, over the transport that the server supports. */

import type { RemoteServer } from '../../../ports/remote-servers.ts';
import { type Redactor, redactor } from '../shared/redact.ts';
import type { HttpServer, ServerSettings } from '../shared/server-config.ts';
import { type ServerTools, serverTools } from '../shared/server-tools.ts';
import { SilentServer } from './remote-errors.ts';
import { type RemoteHttp, remoteHttp } from './remote-http.ts';
import type { RemoteSettings } from './remote-options.ts';

/** A connection that is opening, open, or unusable. */
export interface RemoteConnection {
  /** The tools, once listed. Rejects with an `EgressError`, or with an error whose message has no secrets. */
  readonly opened: Promise<ServerTools>;
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
  const tools = serverTools(serverSettings(server), { ...settings.mcp, openPool: http.openPool });
  let failed = false;

  async function open(): Promise<ServerTools> {
    await tools.list();
    const { state, error = '' } = tools.status();
    if (state !== 'failed' && state !== 'closed') return tools;
    failed = true;
    throw state === 'closed' ? new Error('The connection was closed.') : openingFault(tools, http, error);
  }

  const opened = open();
  // The waiting callers receive the error.
  opened.catch(() => {});

  return {
    opened,
    get failed() {
      return failed || tools.status().state === 'failed';
    },
    async close() {
      await tools.close();
      await opened.catch(() => {});
    },
  };
}

/** Classified by facts: the guard's refusal, the server's status, and whether it answered at all. */
function openingFault({ fault }: ServerTools, { refusal, answered }: RemoteHttp, error: string): Error {
  if (refusal) return refusal;
  if (!answered) return new SilentServer(error);
  return fault?.type === 'http_error' ? fault : new Error(error);
}

/** Both HTTP transports; the path decides which one is tried first. */
function transportsOf({ pathname }: URL): Pick<HttpServer, 'transport' | 'fallback'> {
  const isSSE = pathname.endsWith('/sse') || pathname.endsWith('/sse/');
  return isSSE ? { transport: 'sse', fallback: 'streamable-http' } : { transport: 'streamable-http', fallback: 'sse' };
}

function serverSettings({ headers, url: text }: RemoteServer): ServerSettings {
  const url = new URL(text);
  return {
    ...transportsOf(url),
    url,
    headers,
    // Requests that use another label for the server share the connection.
    label: url.host,
    // Others cannot be called by the name that is shown.
    allows: (tool) => tool === seenText(tool),
    defers: () => false,
    redact: remoteRedactor(headers, url),
    ignored: [],
  };
}

/** In this order, or invisible characters inside a secret would keep it from being masked. */
function remoteRedactor(headers: RemoteServer['headers'], url: URL): Redactor {
  const inPath = url.pathname.split('/').filter((part) => part.length >= MIN_SECRET_IN_PATH_LENGTH);
  const { error, content } = redactor({ headers, env: {}, url: url.href, inserted: inPath });
  return { error: (text) => error(seenText(text)), content: (text) => content(seenText(text)) };
}

/** Controls other than line feed and tab; marks that reverse the direction of text; tags, which encode hidden text. */
const UNSEEN = /(?![\n\t])\p{Cc}|[\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu;

/** The text without characters that hide its content on a screen or in a log. */
function seenText(text: string): string {
  return text.replace(UNSEEN, '');
}
