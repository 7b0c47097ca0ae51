/** Keeps what a server's config holds in confidence out of everything that leaves this package. */

/** Masks secrets in text. */
export interface Redactor {
  /** For errors, warnings and status: every header, environment and query value of the config. */
  error(text: string): string;
  /** For tool results and descriptions, which must stay usable: only what is a secret by its place or its name. */
  content(text: string): string;
}

/** Where a config may hold secrets. */
export interface Confidential {
  readonly headers: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** As it was configured, with its user, password and query. */
  readonly url: string | undefined;
  /** Values that came from the host's environment. */
  readonly inserted: readonly string[];
}

const MASK = '***';
/** Shorter values are words such as `1` or `on`: no secret, and masking them would garble every message. */
const SHORTEST_IN_ERRORS = 4;
const SHORTEST_IN_CONTENT = 8;
const SECRET_NAME = /key|token|secret|pass|pwd|credential|auth|cookie|private|dsn|(?:^|_)pat(?:_|$)/i;

/** Builds the masks of one server once. */
export function redactor({ headers, env, url, inserted }: Confidential): Redactor {
  const settings = Object.entries(env);
  const certain = [
    ...Object.values(headers).flatMap(withoutScheme),
    ...settings.filter(([name]) => SECRET_NAME.test(name)).map(([, value]) => value),
    ...[...settings.map(([, value]) => value), ...(url === undefined ? [] : [url])].flatMap(secretsOfUrl),
  ];
  return {
    error: masker([...certain, ...Object.values(env), ...inserted], SHORTEST_IN_ERRORS),
    content: masker(certain, SHORTEST_IN_CONTENT),
  };
}

/** A header's value and, for `Bearer x`, the `x`. */
function withoutScheme(value: string): readonly string[] {
  return [value, value.replace(/^\S+\s+/, '')];
}

function secretsOfUrl(text: string): readonly string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, search, searchParams } = new URL(text);
  const raw = search.slice(1).split('&');
  return [username, password, search.slice(1), ...raw.map(afterEquals), ...searchParams.values()].flatMap(decoded);
}

function afterEquals(pair: string): string {
  return pair.slice(pair.indexOf('=') + 1);
}

function decoded(text: string): readonly string[] {
  try {
    return [text, decodeURIComponent(text)];
  } catch {
    return [text];
  }
}

function masker(secrets: readonly string[], shortest: number): (text: string) => string {
  const forms = new Set(secrets.flatMap(spellings).filter((form) => form.length >= shortest));
  if (forms.size === 0) return (text) => text;
  // The longest first, or a secret that begins with another would be masked only in part.
  const patterns = [...forms].sort((one, other) => other.length - one.length).map(literally);
  const pattern = new RegExp(patterns.join('|'), 'g');
  return (text) => text.replace(pattern, MASK);
}

/** How a peer may repeat a secret: as it is, line by line, inside JSON, inside a URL. */
function spellings(secret: string): readonly string[] {
  const trimmed = secret.trim();
  return [trimmed, ...trimmed.split(/\r?\n/), JSON.stringify(trimmed).slice(1, -1), encodeURIComponent(trimmed)];
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
