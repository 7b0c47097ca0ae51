/** Writes and reads the bytes of files on a disk, piece by piece. */
import { open } from 'node:fs/promises';
import type { ByteRange } from '../../ports/files/file-store.ts';

const PIECE_BYTES = 256 * 1024;

/** Creates the file with this content, and resolves with its length once it is on the disk. */
export async function writeWhole(
  path: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<number> {
  const handle = await open(path, 'wx', 0o600);
  try {
    let bytes = 0;
    for await (const piece of content) {
      await handle.writeFile(piece);
      bytes += piece.byteLength;
    }
    await handle.sync();
    return bytes;
  } finally {
    await handle.close();
  }
}

/** The bytes of a part of the file. The file is open only while somebody reads. */
export async function* readBytes(path: string, { start, end }: ByteRange): AsyncIterable<Uint8Array> {
  const handle = await open(path, 'r');
  try {
    for (let at = start; at < end; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - at));
      const { bytesRead } = await handle.read(piece, 0, piece.length, at);
      if (bytesRead === 0) throw new Error(`diskFiles: the file is shorter than its description declares: ${at} bytes`);
      yield piece.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

/** Makes a rename into the folder survive a power cut, where the system can. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r').catch(() => undefined);
  try {
    await handle?.sync();
  } catch {
    // Windows cannot sync a folder; the rename is then as durable as the system makes it.
  } finally {
    await handle?.close();
  }
}

/** Returns a handler that answers `value` if the file is missing, and rethrows any other error. */
export function ifAbsent<Value>(value: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
}
