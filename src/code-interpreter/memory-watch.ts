/** Looks how much memory a process holds, where the system tells. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 50;

/** Calls once where the process holds more than so many bytes; answers how to stop looking. */
export function watchMemory(pid: number, bytes: number, tooMuch: () => void): () => void {
  const timer = setInterval(() => {
    if (residentBytes(pid) <= bytes) return;
    clearInterval(timer);
    tooMuch();
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Resident memory, or 0 where there is no telling: no such process, or no Linux. */
export function residentBytes(pid: number): number {
  try {
    const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) * 1024;
  } catch {
    return 0;
  }
}
