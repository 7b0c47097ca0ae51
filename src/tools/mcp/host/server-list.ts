/** The servers of one `mcpTools`: from its options and from its config file. */
import { readFileSync } from 'node:fs';
import { isRecord } from '../../../protocol/record.ts';
import { type McpServerConfig, type ServerSettings, serverSettings } from '../shared/server-config.ts';
import { type CredentialFunctions, credentialFunctions, requireAuthProvider } from './credentials.ts';
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
    ...Object.entries(requireServers('servers', servers ?? {})),
    ...(configFile === undefined ? [] : Object.entries(readServersFile(configFile, warn))),
  ];
  const list = entries
    // An entry that is disabled need not be complete.
    .filter(([, json]) => !isRecord(json) || json.disabled !== true)
    .map(([key, json]) => readServer(key, json));
  const labels = list.map(({ server }) => server.label);
  const twice = labels.find((label, place) => labels.indexOf(label) !== place);
  if (twice !== undefined) throw new TypeError(`mcpTools: there is more than one server '${twice}'`);
  for (const {
    server: { label, ignored },
  } of list) {
    if (ignored.length > 0) warn(`mcpTools: server '${label}': ${ignored.join(', ')} is not known and has no effect`);
  }
  return list;
}

/** JSON has no functions and no providers: they are read apart. */
function readServer(key: string, json: unknown): ListedServer {
  if (!isRecord(json)) return { server: serverSettings(key, json), functions: undefined };
  const owner = `mcpTools: server '${key}'`;
  const { authProvider, ...plain } = json;
  const server = serverSettings(key, plain);
  // The cast: what its fields are is checked.
  const functions = credentialFunctions(owner, json as McpServerConfig);
  if (authProvider === undefined || typeof authProvider === 'function') return { server, functions };
  if (server.transport === 'stdio') throw new TypeError(`${owner}: authProvider has no meaning for a server on stdio`);
  try {
    return { server: { ...server, authProvider: requireAuthProvider(authProvider) }, functions };
  } catch (error) {
    throw new TypeError(`${owner}: ${(error as Error).message}`);
  }
}

function requireServers(name: string, value: unknown): Readonly<Record<string, unknown>> {
  // The value is not quoted as for other options, because it may hold secrets.
  if (!isRecord(value)) throw new TypeError(`mcpTools: ${name} must be an object of servers by label`);
  return value;
}

function readServersFile(path: string, warn: (message: string) => void): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    warn(`mcpTools: there is no configFile '${path}', so it offers no tools`);
    return {};
  }
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // Without the parser's own message, which quotes the text around the fault.
    throw new TypeError(`mcpTools: configFile '${path}' is not valid JSON`);
  }
  if (!isRecord(json)) throw new TypeError(`mcpTools: configFile '${path}' must hold an object with mcpServers`);
  return requireServers(`mcpServers in configFile '${path}'`, json.mcpServers);
}
