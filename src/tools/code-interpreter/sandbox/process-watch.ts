/** Monitors a process's memory and threads, if the system reports them. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 50;

/** The limits of a process. */
interface ProcessUse {
  readonly memoryBytes: number;
  readonly threads: number;
}

/** Calls back once if the process exceeds a limit; returns a function that stops watching. The process may not be known yet. */
export function watchProcess(
  pid: () => number | undefined,
  most: ProcessUse,
  tooMuch: (what: 'memory' | 'threads') => void,
): () => void {
  const timer = setInterval(() => {
    const { memoryBytes, threads } = useOf(pid());
    if (memoryBytes <= most.memoryBytes && threads <= most.threads) return;
    clearInterval(timer);
    tooMuch(memoryBytes > most.memoryBytes ? 'memory' : 'threads');
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Resident memory, or zeros if unknown: no such process, or not Linux. */
function useOf(pid: number | undefined): ProcessUse {
  if (pid === undefined) return { memoryBytes: 0, threads: 0 };
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(status) ?? [];
    const [, threads = '0'] = /^Threads:\s+(\d+)/m.exec(status) ?? [];
    return { memoryBytes: Number(kib) * 1024, threads: Number(threads) };
  } catch {
    return { memoryBytes: 0, threads: 0 };
  }
}
