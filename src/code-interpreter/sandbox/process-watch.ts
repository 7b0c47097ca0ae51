/** Looks how much memory and how many threads a process has, where the system tells. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 50;

/** What a process may have. */
interface ProcessUse {
  readonly memoryBytes: number;
  readonly threads: number;
}

/** Calls once where the process has more; answers how to stop looking. The process may not be known yet. */
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

/** Resident memory, or zeros where there is no telling: no such process, or no Linux. */
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
