/** Takes secrets out of text, in every spelling in which a peer may repeat them. */

const MASK = '***';
/** Longer secrets are looked for by their beginning, so that the search is linear in the text whatever both of them hold. */
const BEGINNING = 64;

/** Names of headers, variables and parameters whose values are secrets. */
export const SECRET_NAME = /key|token|secret|pass|pwd|credential|auth|cookie|private|dsn|(?:^|_)pat(?:_|$)/i;

/** A function that masks the secrets of at least `shortest` characters; shorter values are words such as `1` or `on`. */
export function masker(secrets: readonly string[], shortest: number): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(spellings))].filter((form) => form.length >= shortest);
  // The longest first, or a secret that begins with another would be masked only in part.
  forms.sort((one, other) => other.length - one.length);
  return (text) => forms.reduce(masked, text);
}

function masked(text: string, form: string): string {
  const beginning = form.slice(0, BEGINNING);
  let at = text.indexOf(beginning);
  if (at < 0) return text;
  let clean = '';
  let from = 0;
  for (; at >= 0; at = text.indexOf(beginning, from)) {
    clean += text.slice(from, at) + MASK;
    from = at + beginning.length;
    while (from - at < form.length && text[from] === form[from - at]) from += 1;
  }
  return clean + text.slice(from);
}

/** How a peer may repeat a secret: as it is, line by line, inside JSON, inside a URL, in base64. */
function spellings(secret: string): readonly string[] {
  const trimmed = secret.trim();
  const inURL = encodeURIComponent(wellFormed(trimmed));
  const bytes = Buffer.from(trimmed);
  return [
    trimmed,
    ...trimmed.split(/\r?\n/),
    JSON.stringify(trimmed).slice(1, -1),
    inURL,
    inURL.replace(/%../g, (code) => code.toLowerCase()),
    inURL.replaceAll('%20', '+'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ];
}

/** Half a surrogate pair, which no URL can hold. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

/** A header's value; for `Bearer x`, the `x`; for `Basic x`, the pair and the password in it. */
export function secretsOfHeader(value: string): readonly string[] {
  const [, scheme = '', rest = value] = /^(\S+)\s+(.*)$/s.exec(value) ?? [];
  if (scheme.toLowerCase() !== 'basic') return [value, rest];
  const pair = Buffer.from(rest, 'base64').toString();
  return [value, rest, pair, pair.slice(pair.indexOf(':') + 1)];
}

/** The user, the password and the values of the query, as they are written and as they are meant. */
export function secretsOfURL(text: string): readonly string[] {
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
