/** Seals what a compaction item stands for, so that only this server reads it, and only for whom it was made. */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import type { Item } from '../protocol/items.ts';

/** What stands in the place of a conversation's past. */
export interface Compacted {
  /** The model's own words. */
  readonly summary: string;
  /** How many items right in front of the compaction item are still part of the conversation. */
  readonly retained: number;
  /** What could not be summarised since it goes on: calls without an output, with what the model wrote along with them. */
  readonly kept: readonly Item[];
}

/** Seals and opens. */
export interface Seal {
  close(compacted: Compacted, scope: string): string;
  /** Undefined for what was changed, sealed for another scope or with another key, or never sealed. */
  open(sealed: unknown, scope: string): Compacted | undefined;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
// The version of the format; nonce, ciphertext and tag follow.
const PREFIX = 'cmp1.';

/** A seal with a key that is derived from the given one, which may serve other purposes too. */
export function sealWith(secret: string | Uint8Array): Seal {
  const key = createSecretKey(
    Buffer.from(hkdfSync('sha256', secret, '', 'express-open-responses compaction', KEY_BYTES)),
  );

  function close(compacted: Compacted, scope: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(scope));
    const text = cipher.update(JSON.stringify(compacted), 'utf8');
    return `${PREFIX}${Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]).toString('base64url')}`;
  }

  function decrypted(bytes: Buffer, scope: string): string {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(scope)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  }

  function open(sealed: unknown, scope: string): Compacted | undefined {
    if (typeof sealed !== 'string' || !sealed.startsWith(PREFIX)) return undefined;
    const encoded = sealed.slice(PREFIX.length);
    const bytes = Buffer.from(encoded, 'base64url');
    // Not by a pattern: over megabytes of a client's, V8 may run out of stack.
    if (bytes.toString('base64url') !== encoded) return undefined;
    try {
      // The cast: what decrypts was written by `close`.
      return JSON.parse(decrypted(bytes, scope)) as Compacted;
    } catch {
      return undefined;
    }
  }

  return { close, open };
}
