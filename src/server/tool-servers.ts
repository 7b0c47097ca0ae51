/** The state of the tool servers behind a router's providers. */
import type { ToolProvider, ToolServerStatus } from '../ports/tool-provider.ts';
import { isRecord } from '../protocol/record.ts';

/** Of all providers; those of the host's own may have a method of that name that answers something else. */
export function toolServers(providers: readonly ToolProvider[]): readonly ToolServerStatus[] {
  return providers.flatMap((provider) => {
    try {
      const listed: unknown = provider.status?.();
      return Array.isArray(listed) ? listed.filter(isToolServer) : [];
    } catch {
      return [];
    }
  });
}

function isToolServer(value: unknown): value is ToolServerStatus {
  if (!isRecord(value)) return false;
  return typeof value.label === 'string' && typeof value.state === 'string' && typeof value.tools === 'number';
}
