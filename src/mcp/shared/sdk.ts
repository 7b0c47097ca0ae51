/** The package `@modelcontextprotocol/sdk`. */
import type * as ClientModule from '@modelcontextprotocol/sdk/client/index.js';
import type * as SseModule from '@modelcontextprotocol/sdk/client/sse.js';
import type * as StdioModule from '@modelcontextprotocol/sdk/client/stdio.js';
import type * as HttpModule from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type * as TypesModule from '@modelcontextprotocol/sdk/types.js';
import { peer } from '../../ports/host/peer.ts';

const NAME = '@modelcontextprotocol/sdk';

/** Throws on import if the package is missing. */
function sdk<Module>(path: string): Module {
  return peer<Module>('express-open-responses/mcp', NAME, `${NAME}/${path}`);
}

export const { Client } = sdk<typeof ClientModule>('client/index.js');
export const { SSEClientTransport, SseError } = sdk<typeof SseModule>('client/sse.js');
export const { getDefaultEnvironment, StdioClientTransport } = sdk<typeof StdioModule>('client/stdio.js');
export const { StreamableHTTPClientTransport, StreamableHTTPError } =
  sdk<typeof HttpModule>('client/streamableHttp.js');
export const { ErrorCode, McpError, ResultSchema, ToolListChangedNotificationSchema } =
  sdk<typeof TypesModule>('types.js');
