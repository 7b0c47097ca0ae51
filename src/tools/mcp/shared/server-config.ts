/** One server of the `mcpServers` JSON that every MCP client reads: checked once, then trusted. */
import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { z } from 'zod';
import type { MaybePromise } from '../../../ports/store.ts';
import type { ToolsRequest } from '../../../ports/tool-provider.ts';
import { lazily } from '../../../protocol/json/lazy-schema.ts';
import { type NameTest, nameTest } from '../../../protocol/name-patterns.ts';
import type { McpChallenge } from './challenge.ts';
import type { McpAuthProvider } from './client/mcp-client.ts';
import { type Redactor, redactor } from './redact.ts';
import { expandVariables } from './variables.ts';

/** Asked for each request; may throw, and then the server has no tools for it. `Req` is the host framework's request. */
export type Asked<Value, Req> = (request: Req, context: CredentialsContext) => MaybePromise<Value>;

/** The value itself, or a function that is asked for it. */
export type OrAsked<Value, Req> = Value | Asked<Value, Req>;

/** Whose credentials are needed, and why. */
export interface CredentialsContext extends Omit<ToolsRequest, 'request'> {
  /** Set if the server has refused those that it was given before; the function is asked once more. */
  readonly challenge?: McpChallenge | undefined;
}

/**
 * One MCP server. Every string may contain `${VAR}` or `${VAR:-default}`. `command` starts a process, `url` names a
 * running server. Other keys, which other clients may know, are ignored with a warning.
 */
export interface McpServerConfig<Req = unknown> {
  /**
   * `stdio` by default with `command`; `streamable-http` (`http`, `streamableHttp`) or `sse` with `url`: by default the
   * first, and the second if the server answers it with 400, 404 or 405.
   */
  readonly type?: string | undefined;
  /** Another name for `type`. */
  readonly transport?: string | undefined;
  /** The program to start, for a server on stdio; found in `PATH`. */
  readonly command?: string | undefined;
  /** The program's arguments. Default: none. */
  readonly args?: readonly string[] | undefined;
  /**
   * Added to the few variables that are safe to inherit; the host's own environment is not passed on. A function is
   * asked for each request, and each answer has a process of its own.
   */
  readonly env?: OrAsked<Readonly<Record<string, string>>, Req> | undefined;
  /** The program's working directory. Default: the host's own. */
  readonly cwd?: string | undefined;
  /** A user and password in it are sent as basic authorization. */
  readonly url?: string | undefined;
  /**
   * HTTP headers that every request to the server has. A function is asked for each request, and each answer has a
   * connection of its own. Default: none.
   */
  readonly headers?: OrAsked<Readonly<Record<string, string>>, Req> | undefined;
  /** The header `authorization` of each user, such as `Bearer …`; undefined sends none. Asked as `headers` are. */
  readonly authorization?: Asked<string | undefined, Req> | undefined;
  /** OAuth, by a provider of the installed SDK; a function gives each user's own, the same one each time. Default: none. */
  readonly authProvider?: OrAsked<McpAuthProvider | undefined, Req> | undefined;
  /** A bearer token: short for an `authorization` header. */
  readonly auth?: string | undefined;
  /** The `server_label` that clients see, instead of the key in `mcpServers`. Default: that key, with `_` for each character but letters, digits, `_` and `-`. */
  readonly label?: string | undefined;
  /** The only tools that are offered and may be called, by their exact names. Default: all. */
  readonly allowedTools?: readonly string[] | undefined;
  /** The same with `*` for any characters, such as `read_*`; a tool must fit both lists. Default: all. */
  readonly include?: readonly string[] | undefined;
  /** The tools that are neither offered nor called, by name or with `*`; it wins over the other lists. Default: none. */
  readonly exclude?: readonly string[] | undefined;
  /**
   * The tools that the model is not offered until it has found them with `tool_search`: all, or by name or with `*`.
   * Default: those past `maxTools`.
   */
  readonly defer?: boolean | readonly string[] | undefined;
  /** How many tools the model is offered at once; it finds the others with `tool_search`. Default: that of `mcpTools`. */
  readonly maxTools?: number | undefined;
  /** Disables this server. Default: false. */
  readonly disabled?: boolean | undefined;
}

/** How a server is reached. */
export type McpTransport = 'stdio' | 'streamable-http' | 'sse';

/** A server that this process starts. */
export interface StdioServer {
  readonly transport: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** A server that is already running. */
export interface HttpServer {
  readonly transport: 'streamable-http' | 'sse';
  /** The transport to try if the server's answer shows that it does not support the first one. */
  readonly fallback?: 'streamable-http' | 'sse';
  /** Without user and password, which fetch refuses. */
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly authProvider?: McpAuthProvider;
}

/** A checked server. */
export type ServerSettings = (StdioServer | HttpServer) & {
  readonly label: string;
  /** Whether a tool of this name is offered and may be called. */
  readonly allows: NameTest;
  /** Whether the model must find this tool before it is offered it. */
  readonly defers: NameTest;
  /** How many tools are offered at once; undefined for the default of all servers. */
  readonly maxTools?: number | undefined;
  readonly redact: Redactor;
  /** Keys without a meaning here. */
  readonly ignored: readonly string[];
};

const TRANSPORTS: Readonly<Record<string, McpTransport>> = {
  stdio: 'stdio',
  'streamable-http': 'streamable-http',
  streamableHttp: 'streamable-http',
  http: 'streamable-http',
  sse: 'sse',
};
const LABEL = /^[a-zA-Z0-9_-]+$/;
const NOT_IN_LABELS = /[^a-zA-Z0-9_-]/g;

const configSchema = lazily((z) => {
  const text = z.string().min(1);
  const patterns = z.array(z.string());
  return z.object({
    type: text.optional(),
    transport: text.optional(),
    command: text.optional(),
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
    cwd: text.optional(),
    url: text.optional(),
    headers: z.record(z.string(), z.string()).optional(),
    auth: text.optional(),
    label: z.string().regex(LABEL, `must match ${LABEL}`).optional(),
    allowedTools: z.array(z.string()).optional(),
    include: patterns.optional(),
    exclude: patterns.optional(),
    defer: z.union([z.boolean(), patterns], 'must be true, false, or a list of names').optional(),
    maxTools: z.int().min(1).optional(),
    disabled: z.boolean().optional(),
  });
});
type Config = z.infer<ReturnType<typeof configSchema>>;

/** Checks one entry; throws a `TypeError` that names the server and quotes no value that may be secret. */
export function serverSettings(key: string, json: unknown): ServerSettings {
  const owner = `mcpTools: server '${key}'`;
  const { config: expanded, inserted } = expandVariables(owner, json ?? null);
  const config = parseConfig(owner, expanded);
  // The keys in files of other clients have spaces, dots and slashes, which names of tools may not have.
  const label = config.label ?? key.replaceAll(NOT_IN_LABELS, '_');
  if (label === '') throw new TypeError(`${owner}: its label must match ${LABEL}, got '${label}'`);
  const { command, url, env = {}, defer = false, maxTools } = config;
  if (command !== undefined && url !== undefined) throw new TypeError(`${owner} must not have both command and url`);
  const transport = configuredTransport(owner, config);
  const address = transport === 'stdio' ? stdioAddress(owner, config) : httpAddress(owner, transport, config);
  const headers = 'headers' in address ? address.headers : {};
  const exact = config.allowedTools && new Set(config.allowedTools);
  const included = config.include && nameTest(`${owner}: include`, config.include);
  const excluded = nameTest(`${owner}: exclude`, config.exclude ?? []);
  return {
    ...address,
    label,
    allows: (tool) => (exact?.has(tool) ?? true) && (included?.(tool) ?? true) && !excluded(tool),
    defers: typeof defer === 'boolean' ? () => defer : nameTest(`${owner}: defer`, defer),
    maxTools,
    redact: redactor({ headers: { ...headers, ...config.headers }, env, url, inserted }),
    ignored: Object.keys(expanded as object).filter((name) => !Object.hasOwn(configSchema().shape, name)),
  };
}

function parseConfig(owner: string, json: unknown): Config {
  const { data, error } = configSchema().safeParse(json);
  if (data) return data;
  // Zod's messages name types and never values.
  const faults = error.issues.map(({ path, message }) => [...path, message].join(': '));
  throw new TypeError(`${owner}: ${faults.join('; ')}`);
}

function configuredTransport(owner: string, { type, transport, command, url }: Config): McpTransport {
  if (type !== undefined && transport !== undefined && TRANSPORTS[type] !== TRANSPORTS[transport])
    throw new TypeError(`${owner} has a type and a transport that differ`);
  const name = type ?? transport;
  if (name !== undefined) {
    const match = Object.hasOwn(TRANSPORTS, name) ? TRANSPORTS[name] : undefined;
    if (match) return match;
    throw new TypeError(`${owner}: type must be one of ${Object.keys(TRANSPORTS).join(', ')}, got '${name}'`);
  }
  if (command === undefined && url === undefined) throw new TypeError(`${owner} needs a command or a url`);
  return command === undefined ? 'streamable-http' : 'stdio';
}

function stdioAddress(owner: string, { command, args = [], env = {}, cwd, headers, auth }: Config): StdioServer {
  if (command === undefined) throw new TypeError(`${owner} is of type stdio and needs a command`);
  if (headers || auth) throw new TypeError(`${owner} is of type stdio and has no headers; use env`);
  // No shell reads the command: `npx -y foo` would be taken for the name of one program. Its arguments may be secret.
  const [program = ''] = command.trim().split(/\s/, 1);
  const folders = /[\\/]/.test(command) ? [] : (process.env.PATH ?? '').split(delimiter);
  const paths = [resolve(cwd ?? '.', command), ...folders.map((folder) => join(folder, command))];
  if (program !== command && !paths.some((path) => existsSync(path)))
    throw new TypeError(
      `${owner}: command must be a program alone, with its arguments in args: { command: '${program}', args: [...] }`,
    );
  return { transport: 'stdio', command, args, env, cwd };
}

function httpAddress(owner: string, transport: HttpServer['transport'], config: Config): HttpServer {
  if (config.url === undefined) throw new TypeError(`${owner} is of type ${transport} and needs a url`);
  const url = URL.canParse(config.url) ? new URL(config.url) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError(`${owner}: url must be an http or https URL`);
  const fields = Object.entries(config.headers ?? {});
  for (const [name, value] of fields) {
    // Checked here, because the runtime's own error would quote the value.
    if (!isHeader(name, value)) throw new TypeError(`${owner}: header '${name}' is not one that HTTP can carry`);
  }
  const headers = Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));
  const { auth } = config;
  if (auth !== undefined && headers.authorization !== undefined)
    throw new TypeError(`${owner} must not have both auth and an authorization header`);
  let basic: string | undefined;
  if (url.username || url.password) {
    try {
      const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
      basic = `Basic ${Buffer.from(pair).toString('base64')}`;
    } catch {
      throw new TypeError(`${owner}: the user and password of url are not properly encoded`);
    }
  }
  const authorization = auth === undefined ? basic : `Bearer ${auth}`;
  url.username = '';
  url.password = '';
  const isNamed = config.type !== undefined || config.transport !== undefined;
  return {
    transport,
    url,
    headers: { ...(authorization === undefined ? {} : { authorization }), ...headers },
    ...(isNamed ? {} : { fallback: 'sse' }),
  };
}

/** Whether HTTP can carry it. */
export function isHeader(name: string, value: string): boolean {
  try {
    return new Headers({ [name]: value }).has(name);
  } catch {
    return false;
  }
}
