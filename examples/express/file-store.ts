/** A store that keeps each response in a file: a short starting point for your own. It never deletes old files. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResponseKey, ResponseStore, StoredResponse } from 'express-open-responses';

const MONTH_MS = 30 * 24 * 60 * 60 * 1000;

/** Keeps responses in the folder for `ttlMs` milliseconds; the folder is created when it is needed. */
export function fileStore(folder: string, { ttlMs = MONTH_MS } = {}): ResponseStore {
  // A digest, because scope and id come from outside and may hold anything, such as '../'.
  const fileOf = ({ scope, id }: ResponseKey) => join(folder, `${digest(JSON.stringify([scope, id]))}.json`);

  async function get(key: ResponseKey): Promise<StoredResponse | undefined> {
    const text = await readFile(fileOf(key), 'utf8').catch(ifAbsent(undefined));
    // The cast: only `put` writes these files.
    const found = text === undefined ? undefined : (JSON.parse(text) as StoredResponse & { expiresAt: number });
    return found && found.expiresAt > Date.now() ? found : undefined;
  }

  async function put(response: StoredResponse): Promise<void> {
    const expiresAt = Math.min(Date.now() + ttlMs, response.expiresAt ?? Number.POSITIVE_INFINITY);
    const draft = join(folder, `${randomUUID()}.draft`);
    await mkdir(folder, { recursive: true });
    await writeFile(draft, JSON.stringify({ ...response, expiresAt }));
    // Renamed in one step, so that no reader sees half a file.
    await rename(draft, fileOf(response));
  }

  async function remove(key: ResponseKey): Promise<boolean> {
    const found = await get(key);
    const gone = await unlink(fileOf(key)).then(() => true, ifAbsent(false));
    return found !== undefined && gone;
  }

  return { name: 'file', get, put, delete: remove };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Returns a handler that answers `value` if a file is missing; any other failure becomes a `store_error`. */
function ifAbsent<Value>(value: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
}
