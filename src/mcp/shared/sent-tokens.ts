/** Masks tokens that an OAuth provider has given the SDK, which this package sees only as they are sent. */
import { masker, secretsOfHeader } from '../../protocol/secrets/mask.ts';
import type { HttpPool } from './http-pool.ts';
import type { Redactor } from './redact.ts';

const MOST_TOKENS = 4;
const SHORTEST = 8;

/** The last tokens of one server's connection. */
export class SentTokens {
  /** Masks them beside the secrets that are known. */
  readonly redact: Redactor;
  private readonly sent = new Set<string>();
  private mask: (text: string) => string = (text) => text;

  constructor({ error, content }: Redactor) {
    this.redact = { error: (text) => this.mask(error(text)), content: (text) => this.mask(content(text)) };
  }

  /** The same pools, whose requests are looked at. */
  seenBy(openPool: () => HttpPool): () => HttpPool {
    return () => {
      const pool = openPool();
      return {
        fetch: (url, init) => {
          this.remember(new Headers(init?.headers).get('authorization'));
          return pool.fetch(url, init);
        },
        close: () => pool.close(),
      };
    };
  }

  private remember(header: string | null): void {
    if (header === null || this.sent.has(header)) return;
    this.sent.add(header);
    const [oldest] = this.sent;
    if (this.sent.size > MOST_TOKENS && oldest !== undefined) this.sent.delete(oldest);
    this.mask = masker([...this.sent].flatMap(secretsOfHeader), SHORTEST);
  }
}
