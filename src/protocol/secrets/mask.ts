/** Removes secrets from text, in every encoding in which a peer may repeat them. */

import { toWellFormed } from '../printable.ts';
import { literalMask } from './literal-mask.ts';

/** Names of headers, variables and parameters whose values are secrets. */
export const SECRET_NAME = /key|token|secret|pass|pwd|credential|auth|cookie|private|dsn|(?:^|_)pat(?:_|$)/i;

/** A function that masks the secrets of at least `shortest` characters; shorter values are words such as `1` or `on`. */
export function masker(secrets: readonly string[], shortest: number): (text: string) => string {
  return literalMask(new Set(secrets.flatMap(secretEncodings).filter((form) => form.length >= shortest)));
}

/** The encodings in which a peer may repeat a secret: unchanged, line by line, inside JSON, inside a URL, in base64. */
function secretEncodings(secret: string): readonly string[] {
  const trimmed = secret.trim();
  const bytes = Buffer.from(trimmed);
  const inJSON = JSON.stringify(trimmed).slice(1, -1);
  // As JavaScript and RFC 3986 have it; also in a form, and in a path.
  const plain = encodeURIComponent(toWellFormed(trimmed));
  const strict = plain.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  const inURL = [plain, strict].flatMap((text) => [text, text.replaceAll('%20', '+'), text.replaceAll('%2F', '/')]);
  return [
    trimmed,
    ...trimmed.split(/\r?\n/),
    inJSON,
    // As PHP writes it.
    inJSON.replaceAll('/', '\\/'),
    ...inURL,
    ...inURL.map((text) => text.replace(/%../g, (code) => code.toLowerCase())),
    bytes.toString('base64').replace(/={1,2}$/, ''),
    bytes.toString('base64url'),
  ];
}

/** A header's value; for `Bearer x`, the `x`; for `Basic x`, the pair and the password in it. */
export function secretsOfHeader(value: string): readonly string[] {
  const [, scheme = '', rest = value] = /^(\S+)\s+(.*)$/s.exec(value) ?? [];
  if (scheme.toLowerCase() !== 'basic') return [value, rest];
  const pair = Buffer.from(rest, 'base64').toString();
  return [value, rest, pair, pair.slice(pair.indexOf(':') + 1)];
}

/** The user, the password and the values of the query, both encoded and decoded. */
export function secretsOfURL(text: string): readonly string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, search, searchParams } = new URL(text);
  const query = search.slice(1);
  const values = query.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  return [username, password, query, ...values, ...searchParams.values()].flatMap((encoded) => {
    try {
      return [encoded, decodeURIComponent(encoded)];
    } catch {
      return [encoded];
    }
  });
}
