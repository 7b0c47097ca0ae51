/** OpenAI's Files API: the router, and where files are kept. */
export type { Api, ApiStatus } from './apis/endpoint/api.ts';
export { type FilesOptions, filesApi } from './apis/files/files-api.ts';
export type { FileQuota } from './apis/files/limits.ts';
export type { VectorStores } from './engine/indexing/vector-stores.ts';
export type { DrainOptions } from './engine/request/activity.ts';
export {
  type FilesRouter,
  type FilesRouterOptions,
  type FilesStatus,
  filesRouter,
} from './hosts/express/files-router.ts';
export type { Scope } from './hosts/express/handle.ts';
export type { HostRequest } from './hosts/express/host-request.ts';
export type {
  ByteRange,
  FileDetails,
  FilePage,
  FilePageQuery,
  FileStore,
  FileUpload,
  FileUsage,
  StoredFile,
} from './ports/files/file-store.ts';
export type { Hooks } from './ports/hooks.ts';
export type { LogFields, Logger } from './ports/host/logger.ts';
export type { MaybePromise, ResponseKey } from './ports/store.ts';
export { StoreError, type StoreErrorCode } from './ports/store-error.ts';
export { type DiskFilesOptions, diskFiles } from './stores/disk/disk-files.ts';
export { type MemoryFilesOptions, memoryFiles } from './stores/memory/memory-files.ts';
export { type PostgresFilesOptions, postgresFiles } from './stores/postgres/postgres-files.ts';
export type { PostgresClient, PostgresPool, PostgresQueries } from './stores/postgres/schema.ts';
export type { S3ClientLike } from './stores/s3/bucket.ts';
export { type S3FilesOptions, s3Files } from './stores/s3/s3-files.ts';
export type { SqliteDatabase, SqliteStatement, SqliteValue } from './stores/sqlite/database.ts';
export { type SqliteFilesOptions, sqliteFiles } from './stores/sqlite/sqlite-files.ts';
