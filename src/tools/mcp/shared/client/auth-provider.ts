/** OAuth, as the SDKs do it. */

/** An `OAuthClientProvider` of `@modelcontextprotocol/client` or `/sdk`: it keeps the tokens, and sends users to log in. */
export interface McpAuthProvider {
  /** Where users come back to; undefined for flows without users. */
  readonly redirectUrl: string | URL | undefined;
  /** The tokens that it has. */
  tokens(...args: never[]): unknown;
}
