/** The SDK for MCP that the host has installed. */
import { sdkV1 } from './sdk-v1.ts';
import { sdkV2 } from './sdk-v2.ts';

/** `@modelcontextprotocol/client` if it is installed, which speaks to servers of both eras. Throws on import if there is none. */
export const installedSdk = sdkV2() ?? sdkV1();
