/** The options of `mcpTools`, checked once. */

import { checkOptions, milliseconds } from '../../ports/host/options-check.ts';
import { warner } from '../../ports/host/warner.ts';
import { httpPool } from '../shared/http-pool.ts';
import type { McpServerConfig } from '../shared/server-config.ts';
import type { McpSettings } from '../shared/settings.ts';

/** Which servers there are and how their connections are kept. `undefined` means omitted. */
export interface McpToolsOptions {
  /** By label, as in an `mcpServers` file. */
  readonly servers?: Readonly<Record<string, McpServerConfig>> | undefined;
  /** A JSON file with `mcpServers`, read once, at creation. A file that is not there is a warning. */
  readonly configFile?: string | undefined;
  /** `eager` connects at creation. Default: `lazy`, when tools are first asked for. */
  readonly connect?: 'lazy' | 'eager' | undefined;
  /** The age from which a list of tools is refreshed, in the background, when it is used. Default: 60,000. */
  readonly refreshMs?: number | undefined;
  /** How long a connection that nobody uses is kept. Default: 300,000. */
  readonly idleMs?: number | undefined;
  /** For connecting and for listing tools. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Told of what the host should know, free of secrets. Default: a process warning. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** Fills in the defaults; throws a `TypeError` that names the option. */
export function mcpSettings(options: McpToolsOptions): McpSettings {
  checkOptions('mcpTools', options, {
    // Checked where they are read: a bad value here may hold secrets, and this check would quote it.
    servers: () => true,
    configFile: (value) => (typeof value === 'string' && value !== '') || 'a path',
    connect: (value) => value === 'lazy' || value === 'eager' || "'lazy' or 'eager'",
    refreshMs: milliseconds,
    idleMs: milliseconds,
    connectTimeoutMs: milliseconds,
    onWarning: (value) => typeof value === 'function' || 'a function',
  });
  const { refreshMs = 60_000, idleMs = 300_000, connectTimeoutMs = 10_000 } = options;
  return {
    refreshMs,
    idleMs,
    connectTimeoutMs,
    warn: warner(options.onWarning),
    owner: 'mcpTools',
    retries: true,
    listCharacters: Number.POSITIVE_INFINITY,
    openPool: () => httpPool(connectTimeoutMs),
  };
}
