/** The options of `mcpTools`, checked once. */

import { callHookSafely } from '../../../ports/hooks.ts';
import { isLogger, type Logger, warner } from '../../../ports/host/logger.ts';
import { boolean, checkOptions, isFunction, milliseconds, positiveInteger } from '../../../ports/host/options-check.ts';
import { installedSdk } from '../shared/client/installed.ts';
import { ConnectionPool } from '../shared/connection-pool.ts';
import { httpPool } from '../shared/http-pool.ts';
import type { McpServerConfig } from '../shared/server-config.ts';
import { MAX_TOOLS, type McpSettings } from '../shared/settings.ts';
import type { HostAnswers } from './host-answers.ts';
import type { HostSettings, UnauthorizedInfo } from './host-server.ts';

/** The servers and how their connections are kept. `undefined` means omitted. */
export interface McpToolsOptions<Req = unknown> {
  /** By label, as in an `mcpServers` file. Default: none. */
  readonly servers?: Readonly<Record<string, McpServerConfig<Req>>> | undefined;
  /** A JSON file with `mcpServers`, read once, at creation. A missing file is a warning. Default: none. */
  readonly configFile?: string | undefined;
  /** `eager` connects at creation. Default: `lazy`, when tools are first needed. */
  readonly connect?: 'lazy' | 'eager' | undefined;
  /** The age at which a list of tools is refreshed, in the background, on use. Default: 60,000 ms. */
  readonly refreshMs?: number | undefined;
  /** How long an unused connection is kept, in milliseconds. Default: 300,000. */
  readonly idleMs?: number | undefined;
  /** The timeout for connecting and for listing tools, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How many tools of one server the model is offered at once; it finds the others with `tool_search`. Default: 64. */
  readonly maxTools?: number | undefined;
  /** Maximum number of connections of users, to servers with functions for their credentials. Default: 256. */
  readonly maxConnections?: number | undefined;
  /** The same of one scope. Default: 16. */
  readonly maxConnectionsPerScope?: number | undefined;
  /** Runs when a server refuses a client with 401, or with 403 and a challenge: receives where its OAuth metadata is. */
  readonly onUnauthorized?: ((info: UnauthorizedInfo) => void) | undefined;
  /** Whether the model is offered `list_resources` and `read_resource` of servers that have resources. Default: false. */
  readonly resources?: boolean | undefined;
  /**
   * The labels of the servers that requests may name in a tool of type `mcp`, with terms of theirs for the tools; naming
   * another is refused. Default: all.
   */
  readonly requestLabels?: readonly string[] | undefined;
  /** Answers what servers ask of users (`elicitation/create`). Default: such questions are refused. */
  readonly onElicit?: HostAnswers['onElicit'];
  /** Answers what servers ask of a model (`sampling/createMessage`), in the protocol's form. Default: they are refused. */
  readonly onSample?: HostAnswers['onSample'];
  /** Receives warnings for the host, without secrets, as lines of its log. Default: process warnings. */
  readonly logger?: Logger | false | undefined;
}

/** Memory for one server's list, in characters of JSON. */
const LIST_CHARACTERS = 64 * 1024 * 1024;

/** Fills in the defaults; throws a `TypeError` that names the option. */
export function mcpSettings(options: McpToolsOptions<never>): HostSettings {
  checkOptions('mcpTools', options, {
    // Checked when they are read: a bad value here may hold secrets, which this check would quote.
    servers: () => true,
    configFile: (value) => (typeof value === 'string' && value !== '') || 'a path',
    connect: (value) => value === 'lazy' || value === 'eager' || "'lazy' or 'eager'",
    refreshMs: milliseconds,
    idleMs: milliseconds,
    connectTimeoutMs: milliseconds,
    maxTools: positiveInteger,
    maxConnections: positiveInteger,
    maxConnectionsPerScope: positiveInteger,
    onUnauthorized: isFunction,
    resources: boolean,
    requestLabels: (value) =>
      (Array.isArray(value) && value.every((label) => typeof label === 'string')) || 'an array of labels',
    onElicit: isFunction,
    onSample: isFunction,
    logger: isLogger,
  });
  const { refreshMs = 60_000, idleMs = 300_000, connectTimeoutMs = 10_000 } = options;
  const { maxConnections = 256, maxConnectionsPerScope = 16, onUnauthorized = () => {} } = options;
  const mcp: McpSettings = {
    sdk: installedSdk(),
    refreshMs,
    idleMs,
    connectTimeoutMs,
    warn: warner(options.logger),
    owner: 'mcpTools',
    retries: true,
    listCharacters: LIST_CHARACTERS,
    maxTools: options.maxTools ?? MAX_TOOLS,
    schemas: 'trusted',
    questions: {},
    resources: options.resources ?? false,
    requestLabels: options.requestLabels,
    openPool: () => httpPool(connectTimeoutMs),
  };
  return {
    mcp,
    pool: new ConnectionPool({ idleMs, maxServers: maxConnections, maxServersPerScope: maxConnectionsPerScope }),
    answers: options,
    onUnauthorized: (info) => callHookSafely('onUnauthorized', () => onUnauthorized(info)),
  };
}
