/** The package `bullmq`. */
import type * as Bullmq from 'bullmq';
import { requirePeer } from '../../../ports/host/peer.ts';

/** Throws on import if the package is missing. */
export const {
  assertSchemaCompatibility,
  createPostgresBackend,
  createRedisBackend,
  ErrorCode,
  LATEST_SCHEMA_VERSION,
  Queue,
  runMigrations,
  SchemaMigrationRequiredError,
  Worker,
} = requirePeer<typeof Bullmq>('express-open-responses/engines/bullmq', 'bullmq');
