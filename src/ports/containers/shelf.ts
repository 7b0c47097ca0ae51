/** The port behind the containers that keeps their records and files, so that both outlive the process in which code runs. */
import type { ByteRange, FileUsage } from '../files/file-store.ts';
import type { ContainerFile, ContainerKey, ContainerRecord, NewContainerFile } from './container.ts';

/** Keeps records and files. It knows no clock: what has expired is told to it. Throws `ApiError`. */
export interface ContainerShelf {
  /** Whether both outlive this process. */
  readonly isDurable: boolean;
  /** Keeps a record, without files of an earlier container with the same id. */
  put(record: ContainerRecord): Promise<void>;
  /** Replaces the record, and keeps the files. */
  change(record: ContainerRecord): Promise<void>;
  get(key: ContainerKey): Promise<ContainerRecord | undefined>;
  /** All of the tenant's, oldest first. */
  list(scope: string): Promise<readonly ContainerRecord[]>;
  /** Notes the end of a use. */
  touch(record: ContainerRecord, at: number): Promise<void>;
  /** Whether there was one to delete, which goes with its files. */
  delete(key: ContainerKey): Promise<boolean>;
  /** Replaces a file of the same name. Throws `file_quota_exceeded` if the tenant's files would take more bytes than `maxBytes`. */
  putFile(key: ContainerKey, file: NewContainerFile, maxBytes: number): Promise<ContainerFile>;
  /** All files of the container, oldest first. */
  files(key: ContainerKey): Promise<readonly ContainerFile[]>;
  readFile(key: ContainerKey, file: ContainerFile, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined>;
  deleteFile(key: ContainerKey, file: ContainerFile): Promise<boolean>;
  /** Deletes all files of the container. */
  clear(key: ContainerKey): Promise<void>;
  /** What the tenant's files take. */
  usage(scope: string): Promise<FileUsage>;
}
