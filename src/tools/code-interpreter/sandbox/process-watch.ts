/** Monitors the memory and threads of processes, and their files in memory, if the system reports them. */
import { readFileSync, statfsSync, statSync } from 'node:fs';

const EVERY_MS = 50;

/** The limits of a process. */
interface ProcessLimits {
  readonly memoryBytes: number;
  /** Of all processes together. */
  readonly threads: number;
  /** A file system in memory that the processes see at this path, and how many files it may have. */
  readonly inodes?: { readonly path: string; readonly most: number } | undefined;
}

/** Calls back once if the processes exceed a limit; returns a function that stops watching. None of them may be known yet. */
export function watchProcesses(
  pids: () => readonly number[],
  limits: ProcessLimits,
  onExcess: (what: 'memory' | 'threads' | 'files') => void,
): () => void {
  const timer = setInterval(() => {
    const ids = pids();
    let [memoryBytes, threads] = [0, 0];
    for (const id of ids) {
      let status: string;
      try {
        status = readFileSync(`/proc/${id}/status`, 'utf8');
      } catch {
        // There is no such process, or this is not Linux.
        continue;
      }
      // Resident memory; of several processes without the files that they share.
      const resident = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
      const shared = ids.length > 1 ? Number(/^RssFile:\s+(\d+)/m.exec(status)?.[1] ?? 0) : 0;
      memoryBytes += 1024 * (resident - shared);
      threads += Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    }
    const { inodes } = limits;
    const files = inodes && ids[0] !== undefined ? filesOf(ids[0], inodes.path) : 0;
    const isFull = inodes !== undefined && files > inodes.most;
    if (memoryBytes <= limits.memoryBytes && threads <= limits.threads && !isFull) return;
    clearInterval(timer);
    onExcess(isFull ? 'files' : memoryBytes > limits.memoryBytes ? 'memory' : 'threads');
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** The files on the process's own file system at this path. Until its sandbox is built it still has the host's, whose files are not its. */
function filesOf(id: number, path: string): number {
  const own = `/proc/${id}/root${path}`;
  try {
    if (statSync(own).dev === statSync(path, { throwIfNoEntry: false })?.dev) return 0;
    const { files, ffree } = statfsSync(own);
    return files - ffree;
  } catch {
    // It has ended in between.
    return 0;
  }
}
