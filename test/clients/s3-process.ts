/** Stores a file in S3 in a process of its own, which may be killed, and whose memory is measured; run by `s3-files.test.ts`. */
import { s3Files } from '../../src/files.ts';
import { Bucket, clientOf } from './s3-client.ts';

const { ENDPOINT = '', PREFIX = '' } = process.env;
const MB = 1_000_000;
const files = s3Files({ client: clientOf(ENDPOINT), bucket: Bucket, prefix: PREFIX });

let peak = 0;
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, 5);

/** `megabytes` of it; one that stays open never ends. */
async function* content(megabytes: number, isOpen: boolean): AsyncIterable<Uint8Array> {
  for (let index = 0; index < megabytes; index += 1) yield Buffer.alloc(MB, index);
  if (!isOpen) return;
  process.send?.('open');
  await new Promise(() => {});
}

process.on('message', async ({ id, megabytes, isOpen }: { id: string; megabytes: number; isOpen: boolean }) => {
  const details = () => ({ filename: 'a.bin', purpose: 'user_data' });
  const { bytes } = await files.put({ scope: 'me', id, createdAt: 1, content: content(megabytes, isOpen), details });
  globalThis.gc?.();
  process.send?.({ bytes, peak, rss: process.memoryUsage.rss() });
  peak = 0;
});
process.send?.('ready');
