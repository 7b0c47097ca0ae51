/** Servers of tools that requests name, without a network: what was opened, and what ran. */

import { ApiError, type RemoteServer, type RemoteServers, type ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';

export const URL_A = 'https://a.example.com/mcp';
export const URL_B = 'https://b.example.com/mcp';
/** A server that cannot be reached. */
export const URL_DOWN = 'https://down.example.com/mcp';

/** The tools of every such server: one that changes nothing, and one that does. */
const TOOLS = [
  { name: 'look', description: 'Looks.', annotations: { readOnlyHint: true } },
  { name: 'write', description: 'Writes.' },
];

/** A fake of what opens them. */
export function fakeRemote() {
  const opened: (RemoteServer & { readonly scope: string })[] = [];
  const ran: string[] = [];
  const remoteMcp: RemoteServers = {
    async open(server, scope): Promise<ToolProvider> {
      opened.push({ ...server, scope });
      const { label, url, param } = server;
      if (url === URL_DOWN)
        throw new ApiError('invalid_value', `'${label}' cannot be reached.`, {
          status: 422,
          param: `${param}.server_url`,
        });
      return {
        name: label,
        list: () => TOOLS.map((tool) => ({ server: label, ...tool })),
        async call({ name, arguments: args }) {
          ran.push(`${url} ${name} ${JSON.stringify(args)}`);
          return { content: `${name} done.` };
        },
      };
    },
    close: () => Promise.resolve(),
  };
  return { remoteMcp, opened, ran };
}

/** The entry of a request. */
export function entry(label: string, url: string | undefined, more: JsonObject = {}): JsonObject {
  return { type: 'mcp', server_label: label, ...(url ? { server_url: url } : {}), ...more };
}

/** The entry of a server whose tools run at once. */
export function trusted(label = 'a', url: string | undefined = URL_A, more: JsonObject = {}): JsonObject {
  return entry(label, url, { require_approval: 'never', ...more });
}
