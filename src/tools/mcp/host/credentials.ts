/** The credentials of users for the configured servers: functions of the host, which are called for each request. */
import { createHash } from 'node:crypto';
import type { ToolsRequest } from '../../../ports/tool-provider.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { McpChallenge } from '../shared/challenge.ts';
import type { McpAuthProvider } from '../shared/client/mcp-client.ts';
import { maskingCredentials } from '../shared/redact.ts';
import {
  type CredentialsContext,
  isHeader,
  type McpServerConfig,
  type ServerSettings,
} from '../shared/server-config.ts';

/** A function of the host's that gives what a request needs. */
type HostFunction = (request: unknown, context: CredentialsContext) => unknown;

/** The functions of one server; undefined for what its config holds itself. */
export interface CredentialFunctions {
  readonly headers?: HostFunction | undefined;
  readonly authorization?: HostFunction | undefined;
  readonly env?: HostFunction | undefined;
  readonly authProvider?: HostFunction | undefined;
}

/** What they gave. */
interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly authProvider: McpAuthProvider | undefined;
}

/** The functions in a config; undefined if there are none. Throws a `TypeError` for those that its transport has no use for. */
export function credentialFunctions(owner: string, config: McpServerConfig): CredentialFunctions | undefined {
  const { headers, authorization, env, authProvider } = config;
  const functions = {
    headers: hostFunction(headers),
    authorization: hostFunction(authorization),
    env: hostFunction(env),
    authProvider: hostFunction(authProvider),
  };
  const isProcess = config.command !== undefined;
  const misplaced = isProcess
    ? (['headers', 'authorization', 'authProvider'] as const).filter((name) => functions[name])
    : (['env'] as const).filter((name) => functions[name]);
  if (misplaced.length > 0)
    throw new TypeError(
      `${owner}: ${misplaced.join(', ')} has no meaning for a server ${isProcess ? 'on stdio' : 'with a url'}`,
    );
  return Object.values(functions).some((each) => each !== undefined) ? functions : undefined;
}

/** Asks the functions. Throws what they throw, and a `TypeError` for what is none of the expected values. */
export async function readCredentials(
  functions: CredentialFunctions,
  { request, scope, requestId }: ToolsRequest,
  challenge: McpChallenge | undefined,
): Promise<Credentials> {
  const context: CredentialsContext = { scope, requestId, ...(challenge ? { challenge } : {}) };
  const ask = (name: keyof CredentialFunctions) => functions[name]?.(request, context);
  const [headers, authorization, env, authProvider] = await Promise.all([
    ask('headers'),
    ask('authorization'),
    ask('env'),
    ask('authProvider'),
  ]);
  const allHeaders = Object.fromEntries(
    Object.entries(requireStrings('headers', headers)).map(([name, value]) => [name.toLowerCase(), value]),
  );
  if (authorization !== undefined) {
    if (typeof authorization !== 'string') throw new TypeError('authorization must return a string');
    allHeaders.authorization = authorization;
  }
  // Checked here, because the runtime's own error would quote the value.
  for (const [name, value] of Object.entries(allHeaders))
    if (!isHeader(name, value)) throw new TypeError(`header '${name}' is not one that HTTP can carry`);
  return {
    headers: allHeaders,
    env: requireStrings('env', env),
    authProvider: authProvider === undefined ? undefined : requireAuthProvider(authProvider),
  };
}

/** The server, as the user with these credentials reaches it. */
export function withCredentials(server: ServerSettings, { headers, env, authProvider }: Credentials): ServerSettings {
  const redact = maskingCredentials(server.redact, { headers, env });
  if (server.transport === 'stdio') return { ...server, redact, env: { ...server.env, ...env } };
  return { ...server, redact, headers: { ...server.headers, ...headers }, ...(authProvider ? { authProvider } : {}) };
}

const providerNumbers = new WeakMap<object, number>();
let providerCount = 0;

/** A digest, so that no secret is kept as a key. */
export function credentialsKey(label: string, scope: string, { headers, env, authProvider }: Credentials): string {
  const sorted = (fields: Readonly<Record<string, string>>) =>
    Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1));
  // A provider has no value to compare: each gets a number.
  if (authProvider && !providerNumbers.has(authProvider)) {
    providerCount += 1;
    providerNumbers.set(authProvider, providerCount);
  }
  const provider = authProvider ? providerNumbers.get(authProvider) : 0;
  const text = JSON.stringify([label, scope, sorted(headers), sorted(env), provider]);
  return createHash('sha256').update(text).digest('base64');
}

function hostFunction(value: unknown): HostFunction | undefined {
  // The cast: what it is called with is all that this package promises.
  return typeof value === 'function' ? (value as HostFunction) : undefined;
}

function requireStrings(what: string, value: unknown): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  const isStrings = isRecord(value) && Object.values(value).every((each) => typeof each === 'string');
  if (!isStrings) throw new TypeError(`${what} must return an object of strings`);
  // The cast: just checked.
  return value as Readonly<Record<string, string>>;
}

/** Throws a `TypeError` for what is no `OAuthClientProvider`. */
export function requireAuthProvider(value: unknown): McpAuthProvider {
  if (!isRecord(value) || typeof value.tokens !== 'function')
    throw new TypeError('authProvider must be an OAuthClientProvider');
  // The cast: the SDK reads the rest.
  return value as unknown as McpAuthProvider;
}
