/** What a server demands of a client that it refuses. */
import type { HttpPool } from './http-pool.ts';

/** The answer of a server that does not accept a request's credentials. */
export interface McpChallenge {
  /** 401, or 403 with a challenge. */
  readonly status: number;
  /** The header `WWW-Authenticate`, its first 2,048 characters; absent if there is none. */
  readonly wwwAuthenticate?: string;
  /** Where the server describes its authorization servers (RFC 9728), as the header names it. */
  readonly resourceMetadataUrl?: string;
}

const MAX_HEADER_CHARACTERS = 2_048;
const METADATA = /\bresource_metadata="?([^"\s,]+)/i;

/** The same pools; challenges are reported as they come. */
export function withChallengeReports(
  openPool: () => HttpPool,
  onChallenge: (challenge: McpChallenge) => void,
): () => HttpPool {
  return () => {
    const pool = openPool();
    return {
      async fetch(url, init) {
        const response = await pool.fetch(url, init);
        const { status, headers } = response;
        const wwwAuthenticate = headers.get('www-authenticate')?.slice(0, MAX_HEADER_CHARACTERS);
        if (status !== 401 && !(status === 403 && wwwAuthenticate !== undefined)) return response;
        const resourceMetadataUrl = METADATA.exec(wwwAuthenticate ?? '')?.[1];
        onChallenge({
          status,
          ...(wwwAuthenticate === undefined ? {} : { wwwAuthenticate }),
          ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
        });
        return response;
      },
      close: () => pool.close(),
    };
  };
}
