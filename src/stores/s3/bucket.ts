/** Sends requests to a bucket with the host's client. */
import { requirePeer } from '../../ports/host/peer.ts';

/** An `S3Client` of `@aws-sdk/client-s3` 3, by its shape. */
export interface S3ClientLike {
  /** Sends a command of that package. */
  send(command: never): Promise<unknown>;
}

type Operation =
  | 'AbortMultipartUpload'
  | 'CompleteMultipartUpload'
  | 'CreateMultipartUpload'
  | 'DeleteObject'
  | 'GetObject'
  | 'ListMultipartUploads'
  | 'ListObjectsV2'
  | 'PutObject'
  | 'UploadPart';
type Commands = Readonly<Record<`${Operation}Command`, new (input: object) => object>>;

/** The length of each part but the last: S3 accepts no part under 5 MiB, and at most 10,000 parts. */
const PART_BYTES = 8 * 1024 * 1024;

/** Sends requests to one bucket. */
export class Bucket {
  private readonly commands = requirePeer<Commands>('s3Files', '@aws-sdk/client-s3');
  private readonly client: S3ClientLike;
  private readonly name: string;

  constructor(client: S3ClientLike, name: string) {
    this.client = client;
    this.name = name;
  }

  private async send<Output>(operation: Operation, input: object): Promise<Output> {
    const command = new this.commands[`${operation}Command`]({ Bucket: this.name, ...input });
    // The casts: the package's own client sends its own commands, and the caller names the type of the answer.
    return (await this.client.send(command as never)) as Output;
  }

  /** Writes an object. */
  async put(Key: string, content: Buffer | string, condition: object = {}): Promise<void> {
    const Body = typeof content === 'string' ? Buffer.from(content) : content;
    await this.send('PutObject', { Key, Body, ContentLength: Body.length, ...condition });
  }

  /** Writes an empty object unless it exists; only one of several concurrent calls returns true. */
  async claim(Key: string): Promise<boolean> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.put(Key, '', { IfNoneMatch: '*' });
        return true;
      } catch (error) {
        if (httpStatus(error) === 412) return false;
        // 409: another write was in progress, and either may have won.
        if (httpStatus(error) !== 409 || attempt === 3) throw error;
      }
    }
  }

  /** The object's bytes, or those of an HTTP range such as `bytes=0-9`. */
  async get(Key: string, Range?: string): Promise<AsyncIterable<Uint8Array>> {
    return (await this.send<{ Body: AsyncIterable<Uint8Array> }>('GetObject', { Key, Range })).Body;
  }

  /** Deletes an object; succeeds also if there is none. */
  async delete(Key: string): Promise<void> {
    await this.send('DeleteObject', { Key });
  }

  /** The keys with this prefix, in order, with one request for every 1,000. */
  async keys(Prefix: string, MaxKeys = 1000): Promise<readonly string[]> {
    const keys: string[] = [];
    let ContinuationToken: string | undefined;
    do {
      const page: KeyPage = await this.send('ListObjectsV2', { Prefix, MaxKeys, ContinuationToken });
      for (const { Key } of page.Contents ?? []) keys.push(Key);
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken !== undefined && MaxKeys === 1000);
    return keys;
  }

  /** Writes an object of any length, of which two parts at most are held in memory; returns its length. */
  async write(Key: string, content: AsyncIterable<Uint8Array>): Promise<number> {
    let upload: object | undefined;
    let sending: Promise<unknown> = Promise.resolve();
    const Parts: object[] = [];
    let bytes = 0;
    try {
      for await (const { Body, isLast } of cutParts(content)) {
        bytes += Body.length;
        if (isLast && !upload) {
          await this.put(Key, Body);
          return bytes;
        }
        upload ??= {
          Key,
          UploadId: (await this.send<{ UploadId: string }>('CreateMultipartUpload', { Key })).UploadId,
        };
        await sending;
        sending = this.part({ ...upload, PartNumber: Parts.length + 1, Body }, Parts);
        // The next `await` of it sees the failure.
        sending.catch(() => {});
      }
      await sending;
      await this.send('CompleteMultipartUpload', { ...upload, MultipartUpload: { Parts } });
      return bytes;
    } finally {
      // A part that arrives after the upload was aborted would stay.
      await sending.catch(() => {});
    }
  }

  private async part(input: { readonly PartNumber: number; readonly Body: Buffer }, parts: object[]): Promise<void> {
    const { PartNumber } = input;
    parts[PartNumber - 1] = { PartNumber };
    const stored = Object.entries(await this.send<object>('UploadPart', input));
    // Checksums too, where the client makes them: then S3 wants them again at the end.
    const reported = stored.filter(([name]) => name === 'ETag' || name.startsWith('Checksum'));
    parts[PartNumber - 1] = { PartNumber, ...Object.fromEntries(reported) };
  }

  /** Removes an object, and the parts that were uploaded for it. */
  async discard(Key: string): Promise<void> {
    const { Uploads = [] } = await this.send<UploadPage>('ListMultipartUploads', { Prefix: Key });
    for (const { UploadId } of Uploads) {
      await this.send('AbortMultipartUpload', { Key, UploadId }).catch((error) => {
        if (httpStatus(error) !== 404) throw error;
      });
    }
    await this.delete(Key);
  }
}

interface KeyPage {
  readonly Contents?: readonly { readonly Key: string }[];
  readonly NextContinuationToken?: string;
}

interface UploadPage {
  readonly Uploads?: readonly { readonly UploadId: string }[];
}

/** The status of the answer that the error reports, such as 404 for a missing object. */
export function httpStatus(error: unknown): number | undefined {
  // The cast: errors of the package have the status of the answer.
  return (error as { $metadata?: { httpStatusCode?: number } })?.$metadata?.httpStatusCode;
}

/** At least one part, which may be empty; only the last is shorter than the others. */
async function* cutParts(content: AsyncIterable<Uint8Array>): AsyncIterable<{ Body: Buffer; isLast: boolean }> {
  let part = Buffer.allocUnsafe(PART_BYTES);
  let filled = 0;
  for await (const chunk of content) {
    for (let at = 0; at < chunk.byteLength; ) {
      if (filled === PART_BYTES) {
        yield { Body: part, isLast: false };
        part = Buffer.allocUnsafe(PART_BYTES);
        filled = 0;
      }
      const slice = chunk.subarray(at, at + PART_BYTES - filled);
      part.set(slice, filled);
      filled += slice.byteLength;
      at += slice.byteLength;
    }
  }
  yield { Body: part.subarray(0, filled), isLast: true };
}
