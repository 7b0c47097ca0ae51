/** The servers of one `mcpTools`: from its options and from its config file. */
import { readFileSync } from 'node:fs';
import { isRecord } from '../../../protocol/record.ts';
import type { McpAuthProvider } from '../shared/client/auth-provider.ts';
import { isDisabled, type McpServerConfig, type ServerSettings, serverSettings } from '../shared/server-config.ts';
import { authProviderIn, type CredentialFunctions, credentialFunctions } from './credentials.ts';
import type { McpToolsOptions } from './options.ts';

/** A configured server, and the functions for the credentials of its users. */
interface ListedServer {
  readonly server: ServerSettings;
  readonly functions: CredentialFunctions | undefined;
}

/** Reads and checks every server; tolerable faults are warnings, the rest a `TypeError`. */
export function serverList(
  { servers, configFile }: Pick<McpToolsOptions<never>, 'servers' | 'configFile'>,
  warn: (message: string) => void,
): readonly ListedServer[] {
  const entries = [
    ...Object.entries(recordOf('servers', servers ?? {})),
    ...(configFile === undefined ? [] : Object.entries(fileServers(configFile, warn))),
  ];
  const list = entries.filter(([, json]) => !isDisabled(json)).map(([key, json]) => listedServer(key, json));
  const labels = list.map(({ server }) => server.label);
  const twice = labels.find((label, place) => labels.indexOf(label) !== place);
  if (twice !== undefined) throw new TypeError(`mcpTools: there is more than one server '${twice}'`);
  for (const { label, ignored } of list.map(({ server }) => server)) {
    if (ignored.length > 0) warn(`mcpTools: server '${label}': ${ignored.join(', ')} is not known and has no effect`);
  }
  return list;
}

/** JSON has no functions: they are read apart. */
function listedServer(key: string, json: unknown): ListedServer {
  if (!isRecord(json)) return { server: serverSettings(key, json), functions: undefined };
  const { authProvider, ...plain } = json;
  const server = serverSettings(key, plain);
  // The cast: what its fields are is checked.
  const functions = credentialFunctions(`mcpTools: server '${key}'`, json as McpServerConfig);
  return { server: withProvider(`mcpTools: server '${key}'`, server, authProvider), functions };
}

function withProvider(owner: string, server: ServerSettings, provider: unknown): ServerSettings {
  if (provider === undefined || typeof provider === 'function') return server;
  if (server.transport === 'stdio') throw new TypeError(`${owner}: authProvider has no meaning for a server on stdio`);
  return { ...server, authProvider: checkedProvider(owner, provider) };
}

function checkedProvider(owner: string, provider: unknown): McpAuthProvider {
  try {
    return authProviderIn(provider);
  } catch (error) {
    throw new TypeError(`${owner}: ${(error as Error).message}`);
  }
}

function recordOf(name: string, value: unknown): Readonly<Record<string, unknown>> {
  // The value is not quoted as for other options, because it may hold secrets.
  if (!isRecord(value)) throw new TypeError(`mcpTools: ${name} must be an object of servers by label`);
  return value;
}

function fileServers(path: string, warn: (message: string) => void): Readonly<Record<string, unknown>> {
  const json = parsed(path, textOf(path, warn));
  if (json === undefined) return {};
  if (!isRecord(json)) throw new TypeError(`mcpTools: configFile '${path}' must hold an object with mcpServers`);
  return recordOf(`mcpServers in configFile '${path}'`, json.mcpServers);
}

function textOf(path: string, warn: (message: string) => void): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    warn(`mcpTools: there is no configFile '${path}', so it offers no tools`);
    return undefined;
  }
}

function parsed(path: string, text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // Without the parser's own message, which quotes the text around the fault.
    throw new TypeError(`mcpTools: configFile '${path}' is not valid JSON`);
  }
}
