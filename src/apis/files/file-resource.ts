/** A stored file as clients see it. */

import type { StoredFile } from '../../ports/files/file-store.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { unixSeconds } from '../../protocol/reply.ts';

/** OpenAI's file object. */
export function fileResource({ id, bytes, createdAt, expiresAt, filename, purpose }: StoredFile): JsonObject {
  const expiry = expiresAt === undefined ? {} : { expires_at: unixSeconds(expiresAt) };
  const times = { created_at: unixSeconds(createdAt), ...expiry };
  return { id, object: 'file', bytes, ...times, filename, purpose, status: 'processed', status_details: null };
}
