/** Turns values into ciphertext that decrypts in one place only, with the host's keys. */

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { inspect, types } from 'node:util';
import { isRecord } from '../../protocol/record.ts';

/** The place of a value: its kind, its scope and its ids. It is authenticated with the value. */
export type Place = readonly (string | null)[];

/** Encrypts and decrypts. */
export interface Seal {
  close(value: unknown, place: Place): string;
  /** Throws if the key is unknown, or if the text was changed or comes from another place. */
  open(text: unknown, place: Place): unknown;
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = '1';
/** A separator that base64url does not contain. */
const FOREIGN = /[^\w-]/;

/** Encrypts with the first key and decrypts with all. */
export function createSeal(keyring: Keyring): Seal {
  function open(text: unknown, place: Place): unknown {
    const [keyName, sealed] = splitSealed(text) ?? [];
    if (!keyName || !sealed) throw new Error(`encryptedStore: ${placeLabel(place)} is not encrypted`);
    const keyId = Buffer.from(keyName, 'base64url').toString();
    const key = keyring.get(keyId);
    if (!key)
      throw new Error(
        `encryptedStore: ${placeLabel(place)} needs the key ${inspect(keyId)}, which is not among the keys`,
      );
    try {
      return JSON.parse(decrypt(key, Buffer.from(sealed, 'base64url'), place));
    } catch (cause) {
      const why = 'it was changed, or put in another place than its own';
      throw new Error(`encryptedStore: ${placeLabel(place)} does not decrypt with the key ${inspect(keyId)}: ${why}`, {
        cause,
      });
    }
  }

  function close(value: unknown, place: Place): string {
    // The keyring has at least one key, so the loop ends in its first round.
    for (const [keyId, key] of keyring) {
      const sealed = encrypt(key, JSON.stringify(value), place);
      return `${VERSION}.${Buffer.from(keyId).toString('base64url')}.${sealed.toString('base64url')}`;
    }
    throw new Error('encryptedStore: there is no key');
  }

  return { close, open };
}

/** The bytes that so many bytes of JSON take once they are encrypted: base64 needs four for three. Nonces and tags are not counted. */
export function sealedBytes<Bytes extends number | undefined>(maxBytes: Bytes): Bytes | number {
  return maxBytes === undefined ? maxBytes : Math.ceil((maxBytes * 4) / 3);
}

/** Splits off the key's id from nonce, ciphertext and tag. One pattern for the whole text could exhaust V8's stack over megabytes. */
function splitSealed(text: unknown): readonly string[] | undefined {
  if (typeof text !== 'string') return undefined;
  const [version, ...parts] = text.split('.', 4);
  const isSealed = version === VERSION && parts.length === 2 && !parts.some((part) => FOREIGN.test(part));
  return isSealed ? parts : undefined;
}

function encrypt(key: KeyObject, text: string, place: Place): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(
    Buffer.from(JSON.stringify(place)),
  );
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: KeyObject, sealed: Buffer, place: Place): string {
  const tag = sealed.subarray(sealed.length - TAG_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(JSON.stringify(place))).setAuthTag(tag);
  const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
  return Buffer.concat([text, decipher.final()]).toString('utf8');
}

/** Without the scope, which may identify a person. */
function placeLabel([kind, , id]: Place): string {
  return `${kind} ${inspect(id)}`;
}

/** A key and its id, which is written beside the ciphertext. */
export interface EncryptionKey {
  /** The key's name, which is stored with what the key encrypts. */
  readonly id: string;
  /** 32 bytes, or those as base64. */
  readonly key: Uint8Array | string;
}

/** Keys by id; the first one encrypts. */
type Keyring = ReadonlyMap<string, KeyObject>;

const KEY_BYTES = 32;
const BASE64_OF_KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/** Throws a `TypeError` that names the fault. */
export function readKeyring(keys: unknown): Keyring {
  // Not quoted: the value passed instead of keys may be one.
  if (!Array.isArray(keys) || keys.length === 0)
    throw new TypeError(`encryptedStore: keys must be a list of at least one key, got ${valueKind(keys)}`);
  const keyring = new Map<string, KeyObject>();
  for (const [index, entry] of keys.entries()) {
    const id = readKeyId(entry, `keys[${index}]`);
    if (keyring.has(id))
      throw new TypeError(`encryptedStore: keys[${index}].id must differ from the others, got ${inspect(id)}`);
    keyring.set(id, createSecretKey(readKeyBytes(entry.key, `keys[${index}].key (${inspect(id)})`)));
  }
  return keyring;
}

function readKeyId(entry: unknown, name: string): string {
  if (!isRecord(entry)) throw new TypeError(`encryptedStore: ${name} must be an object, got ${valueKind(entry)}`);
  if (typeof entry.id === 'string' && entry.id !== '') return entry.id;
  throw new TypeError(`encryptedStore: ${name}.id must be a string that is not empty, got ${valueKind(entry.id)}`);
}

function readKeyBytes(key: unknown, name: string): Uint8Array {
  if (types.isUint8Array(key) && key.length === KEY_BYTES) return key;
  if (typeof key === 'string' && BASE64_OF_KEY.test(key)) return Buffer.from(key, 'base64');
  throw new TypeError(`encryptedStore: ${name} must be 32 bytes, or those as base64, got ${valueKind(key)}`);
}

/** The type of a value, without the value. */
function valueKind(value: unknown): string {
  if (types.isUint8Array(value)) return `${value.length} bytes`;
  if (typeof value === 'string') return `a string of ${value.length} characters`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return value === null ? 'null' : typeof value;
}
