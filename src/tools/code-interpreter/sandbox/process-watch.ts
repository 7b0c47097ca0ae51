/** Monitors a process's memory and threads, if the system reports them. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 50;

/** The limits of a process. */
interface ProcessLimits {
  readonly memoryBytes: number;
  readonly threads: number;
}

/** Calls back once if the process exceeds a limit; returns a function that stops watching. The process may not be known yet. */
export function watchProcess(
  pid: () => number | undefined,
  limits: ProcessLimits,
  onExcess: (what: 'memory' | 'threads') => void,
): () => void {
  const timer = setInterval(() => {
    const id = pid();
    if (id === undefined) return;
    let status: string;
    try {
      status = readFileSync(`/proc/${id}/status`, 'utf8');
    } catch {
      // There is no such process, or this is not Linux.
      return;
    }
    // Resident memory.
    const memoryBytes = 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    const threads = Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    if (memoryBytes <= limits.memoryBytes && threads <= limits.threads) return;
    clearInterval(timer);
    onExcess(memoryBytes > limits.memoryBytes ? 'memory' : 'threads');
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
