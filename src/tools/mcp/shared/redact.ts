/** Keeps the secrets of a server's config, and tokens that its OAuth provider gave, out of everything that leaves this package. */
import { masker, SECRET_NAME, secretsOfHeader, secretsOfURL } from '../../../protocol/secrets/mask.ts';
import type { HttpPool } from './http-pool.ts';

/** Masks secrets in text. */
export interface Redactor {
  /** For errors, warnings and status: every header, environment and query value of the config. */
  error(text: string): string;
  /** For tool results and descriptions, which must stay usable: only values whose place or name marks them as secret. */
  content(text: string): string;
}

/** The parts of a config that may hold secrets. */
interface Confidential {
  readonly headers: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** As configured, with its user, password and query. */
  readonly url: string | undefined;
  /** Values that came from the host's environment. */
  readonly inserted: readonly string[];
}

/** Shorter values are words such as `1` or `on`: not secret, and masking them would garble every message. */
const MIN_LENGTH_IN_ERRORS = 4;
const MIN_LENGTH_IN_CONTENT = 8;

/** The same masks, and those of credentials, each of which is a secret. */
export function maskingCredentials(
  { error, content }: Redactor,
  { headers, env }: Pick<Confidential, 'headers' | 'env'>,
): Redactor {
  const secrets = [...Object.values(headers).flatMap(secretsOfHeader), ...Object.values(env)];
  const inErrors = masker(secrets, MIN_LENGTH_IN_ERRORS);
  const inContent = masker(secrets, MIN_LENGTH_IN_CONTENT);
  return { error: (text) => error(inErrors(text)), content: (text) => content(inContent(text)) };
}

/** Builds the masks of one server once. */
export function redactor({ headers, env, url, inserted }: Confidential): Redactor {
  const settings = Object.entries(env);
  const certain = [
    ...Object.values(headers).flatMap(secretsOfHeader),
    ...settings.filter(([name]) => SECRET_NAME.test(name)).map(([, value]) => value),
    ...[...settings.map(([, value]) => value), ...(url === undefined ? [] : [url])].flatMap(secretsOfURL),
  ];
  return {
    error: masker([...certain, ...Object.values(env), ...inserted], MIN_LENGTH_IN_ERRORS),
    content: masker(certain, MIN_LENGTH_IN_CONTENT),
  };
}

const MAX_TOKENS = 4;
const MIN_TOKEN_LENGTH = 8;

/** The last tokens of one server's connection. */
export class SentTokens {
  /** Masks them beside the secrets that are known. */
  readonly redact: Redactor;
  private readonly headers = new Set<string>();
  private mask: (text: string) => string = (text) => text;

  constructor({ error, content }: Redactor) {
    this.redact = { error: (text) => this.mask(error(text)), content: (text) => this.mask(content(text)) };
  }

  /** The same pools; the tokens of their requests are masked from then on. */
  observe(openPool: () => HttpPool): () => HttpPool {
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
    if (header === null || this.headers.has(header)) return;
    this.headers.add(header);
    const [oldest] = this.headers;
    if (this.headers.size > MAX_TOKENS && oldest !== undefined) this.headers.delete(oldest);
    this.mask = masker([...this.headers].flatMap(secretsOfHeader), MIN_TOKEN_LENGTH);
  }
}
