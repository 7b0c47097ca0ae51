/** The folders of uploads that are not whole yet, and of files that are being removed. */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifAbsent } from './file-bytes.ts';

/** Creates and removes such folders; those that a crashed process left are removed once they have been unchanged for long enough. */
export class Drafts {
  private readonly root: string;
  private readonly staleMs: number;
  private readonly now: () => number;
  /** Those of this process. */
  private readonly own = new Set<string>();

  constructor(root: string, staleMs: number, now: () => number) {
    this.root = root;
    this.staleMs = staleMs;
    this.now = now;
  }

  /** A new folder. */
  async begin(): Promise<string> {
    const draft = await this.reserve();
    await mkdir(draft, { mode: 0o700 });
    return draft;
  }

  /** The path of a folder that is not there yet. */
  async reserve(): Promise<string> {
    await mkdir(this.root, { recursive: true, mode: 0o700 });
    const draft = join(this.root, randomUUID());
    this.own.add(draft);
    return draft;
  }

  /** Removes the folder if it is still there. */
  async end(draft: string): Promise<void> {
    try {
      await rm(draft, { recursive: true, force: true });
    } finally {
      this.own.delete(draft);
    }
  }

  /** Removes the folders that were left over. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.root).catch(ifAbsent([]))) {
      const draft = join(this.root, name);
      if (!this.own.has(draft) && (await this.isStale(draft))) await rm(draft, { recursive: true, force: true });
    }
  }

  /** The folder's own time does not change while its files grow. */
  private async isStale(draft: string): Promise<boolean> {
    const inside = await readdir(draft).catch(ifAbsent([]));
    const paths = [draft, ...inside.map((name) => join(draft, name))];
    const stats = await Promise.all(paths.map((path) => stat(path).catch(ifAbsent(undefined))));
    const touchedAt = Math.max(0, ...stats.map((each) => each?.mtimeMs ?? 0));
    return touchedAt + this.staleMs <= this.now();
  }
}
