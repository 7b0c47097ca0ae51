/** The SDK for MCP clients that the host has installed. */
import { optionalPeer, requirePeer } from '../../../../ports/host/peer.ts';
import type { McpSdk } from './mcp-client.ts';
import { sdkV1 } from './sdk-v1.ts';
import { sdkV2 } from './sdk-v2.ts';

const found = findSdk();

/** `@modelcontextprotocol/client` if it is installed, which speaks to servers of both eras. Throws if there is none. */
export function installedSdk(): McpSdk {
  if (found instanceof Error) throw found;
  return found;
}

/** Throws on import where there is no SDK at all. With that of servers alone, the entry has a use without clients. */
function findSdk(): McpSdk | Error {
  try {
    const newer = sdkV2();
    if (newer) return newer;
    if (optionalPeer('@modelcontextprotocol/sdk', '@modelcontextprotocol/sdk/client/index.js')) return sdkV1();
    // It is missing, and the one to install.
    return requirePeer<never>('express-open-responses/mcp', '@modelcontextprotocol/client');
  } catch (error) {
    if (error instanceof Error && optionalPeer('@modelcontextprotocol/server')) return error;
    throw error;
  }
}
