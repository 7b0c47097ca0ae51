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

const HEADER_CHARACTERS = 2_048;
const METADATA = /\bresource_metadata="?([^"\s,]+)/i;

/** The same pools; challenges are reported as they come. */
export function reportingChallenges(
  openPool: () => HttpPool,
  onChallenge: (challenge: McpChallenge) => void,
): () => HttpPool {
  return () => {
    const pool = openPool();
    return {
      async fetch(url, init) {
        const response = await pool.fetch(url, init);
        const challenge = challengeIn(response);
        if (challenge) onChallenge(challenge);
        return response;
      },
      close: () => pool.close(),
    };
  };
}

function challengeIn({ status, headers }: Response): McpChallenge | undefined {
  const header = headers.get('www-authenticate')?.slice(0, HEADER_CHARACTERS);
  if (status !== 401 && !(status === 403 && header !== undefined)) return undefined;
  if (header === undefined) return { status };
  const url = METADATA.exec(header)?.[1];
  return { status, wwwAuthenticate: header, ...(url === undefined ? {} : { resourceMetadataUrl: url }) };
}
