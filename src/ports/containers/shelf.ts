/** The port behind the containers that keeps their records and files, so that both outlive the process in which code runs. */
import type { ByteRange, FileUsage } from '../files/file-store.ts';
import type { ContainerFile, ContainerKey, ContainerRecord, NewContainerFile } from './container.ts';

/** Keeps records and files. It knows no clock: what has expired is told to it. Throws `ApiError`. */
export interface ContainerShelf {
  /** Whether both outlive this process. */
  readonly isDurable: boolean;
  /** Keeps a record, without files of an earlier container with the same id. */
  put(record: ContainerRecord): Promise<void>;
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

/** The bytes of a file, up to a limit. Throws a `RangeError` beyond it. */
export async function allBytes(content: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of content) {
    length += piece.byteLength;
    if (length > maxBytes) throw new RangeError(`The file has more than ${maxBytes} bytes.`);
    pieces.push(new Uint8Array(piece));
  }
  return Buffer.concat(pieces);
}

/** The content as a stream of one piece. */
export async function* inOnePiece(data: Uint8Array): AsyncIterable<Uint8Array> {
  if (data.byteLength > 0) yield data;
}
