/** Checks the keys of an encrypted store; no error here or elsewhere shows one. */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { inspect, types } from 'node:util';
import { isRecord } from '../../protocol/record.ts';

/** A key and its id, which is written beside the ciphertext. */
export interface EncryptionKey {
  readonly id: string;
  /** 32 bytes, or those as base64. */
  readonly key: Uint8Array | string;
}

/** Keys by id; the first one encrypts. */
export type Keyring = ReadonlyMap<string, KeyObject>;

const KEY_BYTES = 32;
const BASE64_OF_KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/** Throws a `TypeError` that names the fault. */
export function keyringFrom(keys: unknown): Keyring {
  // Not quoted: the value passed instead of keys may be one.
  if (!Array.isArray(keys) || keys.length === 0)
    throw new TypeError(`encryptedStore: keys must be a list of at least one key, got ${kindOf(keys)}`);
  const keyring = new Map<string, KeyObject>();
  for (const [index, given] of keys.entries()) {
    const id = idFrom(given, `keys[${index}]`);
    if (keyring.has(id))
      throw new TypeError(`encryptedStore: keys[${index}].id must differ from the others, got ${inspect(id)}`);
    keyring.set(id, createSecretKey(bytesFrom(given.key, `keys[${index}].key (${inspect(id)})`)));
  }
  return keyring;
}

function idFrom(given: unknown, name: string): string {
  if (!isRecord(given)) throw new TypeError(`encryptedStore: ${name} must be an object, got ${kindOf(given)}`);
  if (typeof given.id === 'string' && given.id !== '') return given.id;
  throw new TypeError(`encryptedStore: ${name}.id must be a string that is not empty, got ${kindOf(given.id)}`);
}

function bytesFrom(key: unknown, name: string): Uint8Array {
  if (types.isUint8Array(key) && key.length === KEY_BYTES) return key;
  if (typeof key === 'string' && BASE64_OF_KEY.test(key)) return Buffer.from(key, 'base64');
  throw new TypeError(`encryptedStore: ${name} must be 32 bytes, or those as base64, got ${kindOf(key)}`);
}

/** The type of a value, without the value. */
function kindOf(value: unknown): string {
  if (types.isUint8Array(value)) return `${value.length} bytes`;
  if (typeof value === 'string') return `a string of ${value.length} characters`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return value === null ? 'null' : typeof value;
}
