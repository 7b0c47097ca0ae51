/** An app in a process of its own with little memory, over an SQLite file that a test has filled. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ResponseStore } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { databaseFile, sqliteDrivers } from '../stores/sqlite-drivers.ts';

export const MIB = 1024 * 1024;
const HEAP_MIB = 768;

/** The app. */
export interface SmallApp {
  readonly url: string;
  /** Fails if it has used more than twice the memory of its heap. */
  expectSmall(): Promise<void>;
  close(): Promise<void>;
}

/** Starts it over a store that `seed` has filled. */
export async function startSmallApp(seed: (store: ResponseStore) => void): Promise<SmallApp> {
  const file = databaseFile();
  fill(file.file, seed);
  const upstream = await startFakeUpstream({ reply: { body: textStream('Hello') } });
  const child = fork(join(import.meta.dirname, 'history-app.ts'), {
    execArgv: [
      `--max-old-space-size=${HEAP_MIB}`,
      '--import',
      join(import.meta.dirname, '../support/memory-hooks.mjs'),
    ],
    env: { ...process.env, UPSTREAM_URL: upstream.baseURL, DATABASE: file.file },
  });
  const [url] = (await once(child, 'message')) as [string];
  return {
    url,
    async expectSmall() {
      const answer = once(child, 'message');
      child.send('report');
      const [bytes] = await answer;
      expect(Number(bytes) / MIB).toBeLessThan(2 * HEAP_MIB);
    },
    async close() {
      child.kill('SIGKILL');
      await upstream.close();
      file.remove();
    },
  };
}

function fill(file: string, seed: (store: ResponseStore) => void): void {
  const database = sqliteDrivers.find((driver) => driver.open)?.open?.(file);
  if (!database) throw new Error('There is no driver.');
  const store = sqliteStore({ database });
  store.setup();
  database.exec('PRAGMA synchronous = OFF');
  seed(store);
  database.close();
}

/** The code of the error in a body. */
export function codeIn({ error }: Readonly<Record<string, unknown>>): unknown {
  // The cast: the envelope of an error.
  return (error as { readonly code?: unknown } | null | undefined)?.code;
}

/** The count of each outcome. */
export function counted(outcomes: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
