/** Seals JSON values that leave this server and come back, so that only it can read them, and only in their own context. */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { types } from 'node:util';
import { toWellFormed } from '../protocol/printable.ts';

/** Seals and opens values for one purpose. */
export interface Sealer {
  /** `bound` is the context of the value, such as its tenant. */
  seal(value: unknown, bound: readonly string[]): string;
  /** Undefined for a value that was changed, bound to something else, sealed with another key, or never sealed. */
  open(sealed: unknown, bound: readonly string[]): unknown;
}

/** What is sealed. Each purpose has its own key, so that a value sealed for one cannot be opened for another. */
interface Purpose {
  /** Separates the keys of purposes. */
  readonly name: string;
  /** The version of the format, the prefix of all sealed texts; nonce, ciphertext and tag follow. */
  readonly prefix: string;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MIN_SECRET_BYTES = 16;

/** A sealer with a key derived from the secret, which may serve other purposes too. */
export function sealer(secret: string | Uint8Array, { name, prefix }: Purpose): Sealer {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `express-open-responses ${name}`, KEY_BYTES)));

  function decrypted(bytes: Buffer, bound: readonly string[]): string {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(boundBytes(bound)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  }

  return {
    seal(value, bound) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(boundBytes(bound));
      const text = cipher.update(JSON.stringify(value), 'utf8');
      return `${prefix}${Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]).toString('base64url')}`;
    },
    open(sealed, bound) {
      const bytes = typeof sealed === 'string' && sealed.startsWith(prefix) && bytesIn(sealed.slice(prefix.length));
      if (!bytes) return undefined;
      try {
        return JSON.parse(decrypted(bytes, bound));
      } catch {
        return undefined;
      }
    },
  };
}

function bytesIn(encoded: string): Buffer | undefined {
  const bytes = Buffer.from(encoded, 'base64url');
  // Not by a pattern: over megabytes from a client, V8 may overflow the stack.
  return bytes.toString('base64url') === encoded ? bytes : undefined;
}

/** No text contains this byte, so that a list is never read as one name. */
const LIST = Buffer.from([0xff]);

function boundBytes(bound: readonly string[]): Buffer {
  const [only = '', ...others] = bound;
  // JSON preserves lone surrogates, which UTF-8 does not.
  if (others.length === 0 && only === toWellFormed(only)) return Buffer.from(only);
  return Buffer.concat([LIST, Buffer.from(JSON.stringify(bound))]);
}

let own: Uint8Array | undefined;

/**
 * The secret of this process, for hosts that configure none: all of its routers share it, and no other process has it.
 */
export function processSecret(): Uint8Array {
  own ??= randomBytes(MIN_SECRET_BYTES * 2);
  return own;
}

/** The secret, if it is valid; throws a `TypeError` that names the option and does not quote it. */
export function checkSecret(option: string, secret: unknown): string | Uint8Array {
  const isSecret = typeof secret === 'string' || types.isUint8Array(secret);
  if (isSecret && Buffer.byteLength(secret) >= MIN_SECRET_BYTES) return secret;
  const expected = `a text or bytes, at least ${MIN_SECRET_BYTES} bytes long`;
  throw new TypeError(`${option} must be ${expected}, got ${describeType(secret)}`);
}

/** The type of a value, without the value. */
function describeType(value: unknown): string {
  if (typeof value === 'string') return `a text of ${Buffer.byteLength(value)} bytes`;
  if (types.isUint8Array(value)) return `${value.length} bytes`;
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}
