/** The port to tool servers that a request names. */
import type { ToolProvider } from './tool-provider.ts';

/** A server as the request names it; its secrets are never stored, echoed or logged. */
export interface RemoteServer {
  /** The `server` of its tools, which clients see as `server_label`. */
  readonly label: string;
  /** The address, as the request gives it: untrusted. */
  readonly url: string;
  /** Names in lower case; `authorization` is among them if the request gave one. */
  readonly headers: Readonly<Record<string, string>>;
  /** The field in the request, such as `tools[2]`. */
  readonly param: string;
}

/** Opens servers that requests name; connections are shared by requests of one scope with the same URL and headers. */
export interface RemoteServers {
  /**
   * The server's tools, listed. Throws `ApiError`: if the URL is refused (400, `<param>.server_url`), if the server
   * cannot be reached or listed (422), if too many servers are open (429). `signal` ends the wait.
   */
  open(server: RemoteServer, scope: string, signal: AbortSignal): Promise<ToolProvider>;
  /** Closes every connection. May be called twice. */
  close(): Promise<void>;
}
