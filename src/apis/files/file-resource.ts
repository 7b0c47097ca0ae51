/** A stored file as clients see it. */
import type { StoredFile } from '../../ports/files/file-store.ts';
import type { JsonObject } from '../../protocol/record.ts';

/** OpenAI's file object. */
export function fileResource({ id, bytes, createdAt, expiresAt, filename, purpose }: StoredFile): JsonObject {
  const expiry = expiresAt === undefined ? {} : { expires_at: seconds(expiresAt) };
  const times = { created_at: seconds(createdAt), ...expiry };
  return { id, object: 'file', bytes, ...times, filename, purpose, status: 'processed', status_details: null };
}

/** Unix seconds. */
export function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
