/** The transports of an SDK; those of both packages are made alike. */
import type { Fetch, HttpOptions, McpSdk, ProcessTransport, SessionTransport, Transport } from './mcp-client.ts';

interface SdkHttpOptions {
  readonly fetch: Fetch;
  // The SDK's own type; the two SDKs have one each.
  readonly authProvider?: never;
}

interface SdkProcessOptions {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly cwd?: string;
  readonly stderr: 'pipe';
  readonly maxBufferSize: number;
}

interface ClosableTransport {
  onerror?: ((error: Error) => void) | undefined;
  close(): Promise<void>;
}

/** The classes of one package. */
interface TransportClasses {
  readonly StdioClientTransport: new (options: SdkProcessOptions) => ClosableTransport;
  readonly StreamableHTTPClientTransport: new (url: URL, options: SdkHttpOptions) => object;
  readonly SSEClientTransport: new (url: URL, options: SdkHttpOptions) => ClosableTransport;
  readonly SseError: new (...args: never[]) => Error;
  readonly getDefaultEnvironment: () => Record<string, string>;
}

/** Transports that are not started yet. The casts: the SDKs' types are not written for `exactOptionalPropertyTypes`. */
export function sdkTransports(sdk: TransportClasses): Omit<McpSdk, 'createClient'> {
  return {
    processTransport({ env, args, cwd, ...options }) {
      const transport = new sdk.StdioClientTransport({
        ...options,
        args: [...args],
        env: { ...sdk.getDefaultEnvironment(), ...env },
        ...(cwd === undefined ? {} : { cwd }),
        stderr: 'pipe',
      });
      // A process that has closed its input reads no request any more: each would wait until its time is up.
      transport.onerror = (error) => {
        if ('syscall' in error && error.syscall === 'write') void transport.close();
      };
      return transport as ClosableTransport as ProcessTransport;
    },
    streamableTransport: (url, options) =>
      new sdk.StreamableHTTPClientTransport(url, sdkOptions(options)) as SessionTransport,
    sseTransport(url, options) {
      const transport = new sdk.SSEClientTransport(url, sdkOptions(options));
      // Its event source would reconnect by itself, to a new session that was never initialised.
      transport.onerror = (error) => {
        if (error instanceof sdk.SseError) void transport.close();
      };
      return transport as Transport;
    },
  };
}

function sdkOptions({ fetch, authProvider }: HttpOptions): SdkHttpOptions {
  // The cast: a provider of the installed SDK.
  return authProvider ? { fetch, authProvider: authProvider as never } : { fetch };
}
