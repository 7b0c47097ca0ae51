/** A server that speaks S3's protocol: moto of PyPI. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { pythonPackage } from '../support/python-package.ts';
import { freePort, type Service, startService } from '../support/services.ts';
import { Bucket, clientOf } from './s3-client.ts';

/** The package, and `describe` where it is. */
export const moto = await pythonPackage('moto', '5.2.5', { along: ['moto[s3,server]==5.2.5'] });

/** A running server with one bucket. */
export interface S3Server {
  readonly service: Service;
  readonly client: S3Client;
  /** The keys of all objects. */
  keys(prefix?: string): Promise<readonly string[]>;
  /** The bytes of all objects, and of parts of uploads that have not ended. */
  footprint(): Promise<number>;
  close(): Promise<void>;
}

/** Starts it on a free port of the loopback address. */
export async function startS3(): Promise<S3Server> {
  const port = await freePort();
  const service = await startService({
    url: `http://127.0.0.1:${port}`,
    folder: await mkdtemp(join(tmpdir(), 's3-')),
    program: moto.python,
    args: ['-u', '-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)],
    ready: 'Running on',
    stopSignal: 'SIGTERM',
  });
  const client = clientOf(service.url);
  await client.send(new CreateBucketCommand({ Bucket }));

  async function objects(Prefix = '') {
    const { Contents = [], IsTruncated } = await client.send(new ListObjectsV2Command({ Bucket, Prefix }));
    if (IsTruncated) throw new Error('There are more objects than one page shows.');
    return Contents;
  }

  async function partsOf(Key = '', UploadId = ''): Promise<number> {
    const { Parts = [] } = await client.send(new ListPartsCommand({ Bucket, Key, UploadId }));
    return Parts.reduce((sum, { Size = 0 }) => sum + Size, 0);
  }

  async function footprint(): Promise<number> {
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
    const parts = await Promise.all(Uploads.map(({ Key, UploadId }) => partsOf(Key, UploadId)));
    const sizes = [...(await objects()).map(({ Size = 0 }) => Size), ...parts];
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  async function close(): Promise<void> {
    client.destroy();
    await service.close();
  }

  const keys = async (prefix?: string) => (await objects(prefix)).map(({ Key = '' }) => Key);
  return { service, client, keys, footprint, close };
}
