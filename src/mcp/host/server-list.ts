/** The servers of one `mcpTools`: from its options and from its config file. */
import { readFileSync } from 'node:fs';
import { isRecord } from '../../protocol/record.ts';
import { isDisabled, type ServerSettings, serverSettings } from '../shared/server-config.ts';
import type { McpToolsOptions } from './options.ts';

/** Reads and checks every server; tolerable faults are warnings, the rest a `TypeError`. */
export function serverList(
  { servers, configFile }: Pick<McpToolsOptions, 'servers' | 'configFile'>,
  warn: (message: string) => void,
): readonly ServerSettings[] {
  const entries = [
    ...Object.entries(recordOf('servers', servers ?? {})),
    ...(configFile === undefined ? [] : Object.entries(fileServers(configFile, warn))),
  ];
  const list = entries.filter(([, json]) => !isDisabled(json)).map(([key, json]) => serverSettings(key, json));
  const labels = list.map(({ label }) => label);
  const twice = labels.find((label, place) => labels.indexOf(label) !== place);
  if (twice !== undefined) throw new TypeError(`mcpTools: there is more than one server '${twice}'`);
  for (const { label, ignored } of list) {
    if (ignored.length > 0) warn(`mcpTools: server '${label}': ${ignored.join(', ')} is not known and has no effect`);
  }
  return list;
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
