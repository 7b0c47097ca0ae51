/** The tenant of a request if the host does not determine it; the one place with the default of the option `scope`. */
import { hash, randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { ApiError } from '../protocol/errors.ts';
import { ignoreRejection } from '../protocol/record.ts';
import { warnOnce } from './host/warner.ts';

type Headers = Pick<globalThis.Headers, 'get'>;

/** The headers in which clients of OpenAI's API and of its relatives send their key. */
const CREDENTIALS = ['authorization', 'x-api-key', 'api-key'] as const;

/** Random per process, so that no scope of a host's can equal it. */
const UNTRACKED = `untracked:${randomUUID()}:`;
const ANONYMOUS = 'anonymous';

/** The same, as the host's log names them. */
export const CREDENTIAL_HEADERS = CREDENTIALS.join('|');

/**
 * A digest of the request's credential, the same in whichever of the headers it is sent and however it is spelt: none
 * of them has been verified here, so that a further header or another spelling must not make another tenant. Without
 * any, all requests share `anonymous`; with a cookie instead, only the host can identify the user, and the request gets
 * a scope of its own for which nothing is stored. Throws `ambiguous_credentials` for several different ones.
 */
export function defaultScope(headers: Headers): string {
  let secret: string | undefined;
  for (const name of CREDENTIALS) {
    const value = headers.get(name);
    if (!value) continue;
    // A header of a key that is sent twice arrives as a list.
    for (const text of name === 'authorization' ? [value] : value.split(',')) {
      const found = readSecret(text);
      if (found === undefined || found === secret) continue;
      if (secret === undefined) secret = found;
      else throw ambiguousCredentials();
    }
  }
  // The scheme in front, which most clients send, keeps the scopes of earlier versions.
  if (secret !== undefined) return hash('sha256', `Bearer ${secret}`, 'base64url');
  if (headers.get('cookie')) {
    warnOnce('untracked', COOKIES);
    return UNTRACKED + randomUUID();
  }
  if (process.env.NODE_ENV === 'production') warnOnce('anonymous', SHARED);
  return ANONYMOUS;
}

function ambiguousCredentials(): ApiError {
  const message =
    `The request has several different credentials in ${CREDENTIALS.join(', ')}, and this server cannot tell whose it is. ` +
    "Send one of them, or have this server set its option 'scope'.";
  return new ApiError('ambiguous_credentials', message);
}

/** The first two words of a header: a scheme and a secret, or a secret alone. */
const WORDS = /^\s*(\S+)(?:\s+(\S+))?/;

/**
 * The text after the scheme, whatever scheme that is and whatever follows: servers that read the second word accept all
 * of these. Undefined for a header that holds none.
 */
function readSecret(text: string): string | undefined {
  const words = WORDS.exec(text);
  if (!words) return undefined;
  const [, scheme = '', secret] = words;
  // Base64 can be written in many ways.
  if (secret && scheme.toLowerCase() === 'basic') return Buffer.from(secret, 'base64').toString('base64');
  return secret ?? scheme;
}

const LINE = 'responsesRouter({ scope: (req) => req.user.id })';
const COOKIES = `A request came with a cookie and no API key. Only your app knows whose it is, so nothing is stored for such requests and no id is found for them. Name the user: ${LINE}`;
const SHARED = `A request came without an API key or a cookie. All such requests share the scope 'anonymous', and each can read what the others stored. Name the tenant: ${LINE}`;

/** Whether nothing is stored for the request, nor found. */
export function isUntracked(scope: string): boolean {
  return scope.startsWith(UNTRACKED);
}

/**
 * The scope whose share of a limit counts: scopes without storage share one, as each of them belongs to one request
 * only.
 */
export function limitScope(scope: string): string {
  return isUntracked(scope) ? UNTRACKED : scope;
}

/** Throws `tenant_unknown` if the request needs storage and may not have it. */
export function requireTenant(scope: string, what: string, param: string | null): void {
  if (!isUntracked(scope)) return;
  const why = 'this server cannot tell whose request it is, so it stores nothing for it';
  const remedy = "Send an Authorization header, or have this server set its option 'scope'.";
  throw new ApiError('tenant_unknown', `${what} needs storage, and ${why}. ${remedy}`, { param });
}

/**
 * Throws unless the host's `scope` returned a string: with one scope for all unknown users, each would see the others'
 * responses.
 */
export function checkScope(scope: unknown): string {
  if (typeof scope === 'string') return scope;
  ignoreRejection(scope);
  throw new TypeError(`scope: must return a string, got ${inspect(scope, { depth: 1 })}`);
}
