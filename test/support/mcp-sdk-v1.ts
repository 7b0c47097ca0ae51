/** Stands for the installed SDK where MCP_SDK=v1: as if `@modelcontextprotocol/client` were not installed. */
import { sdkV1 } from '../../src/mcp/shared/client/sdk-v1.ts';

export const installedSdk = sdkV1();
