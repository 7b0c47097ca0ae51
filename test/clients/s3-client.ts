/** AWS's own client of a server on this machine. */
import { S3Client } from '@aws-sdk/client-s3';

/** The one bucket there. */
export const Bucket = 'files';

/** A client of the server at that address. */
export function clientOf(endpoint: string): S3Client {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  return new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
}
