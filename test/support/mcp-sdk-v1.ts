/** With MCP_SDK=v1, makes `@modelcontextprotocol/client` appear not installed, so that the older SDK is used. */
import { sdkV1 } from '../../src/tools/mcp/shared/client/sdk-v1.ts';

const sdk = sdkV1();

export function installedSdk(): typeof sdk {
  return sdk;
}
