/** Starts an app in a process of its own and reads its memory report. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** The memory and live objects of the process after a garbage collection. */
export interface MemoryReport {
  /** Bytes. */
  readonly rss: number;
  /** Bytes of the heap and of buffers outside it. */
  readonly heap: number;
  /** How many objects of a kind can still be reached. */
  readonly alive: Readonly<Record<'timers' | 'signals' | 'sockets' | 'requests' | 'responses', number>>;
  readonly warnings: readonly string[];
  readonly rejections: readonly string[];
}

/** The running process. */
export interface MemoryProcess {
  /** The app's origin and mount path. */
  readonly url: string;
  /** Collects garbage and returns the report. */
  report(): Promise<MemoryReport>;
  /** May be called even if the process has died. */
  stop(): Promise<void>;
}

/** Starts the app over the model server at `upstreamURL`; `flags` are Node's own. */
export async function startMemoryProcess(upstreamURL: string, flags: readonly string[] = []): Promise<MemoryProcess> {
  const child = fork(join(import.meta.dirname, 'memory-app.ts'), {
    execArgv: [...flags, '--expose-gc', '--import', join(import.meta.dirname, 'memory-hooks.mjs')],
    env: { ...process.env, UPSTREAM_URL: upstreamURL },
  });
  const [url] = await once(child, 'message');

  return {
    url: String(url),
    async report() {
      const answer = once(child, 'message');
      child.send('report');
      const [report] = await answer;
      // The cast: this is what `memory-app.ts` sends.
      return report as MemoryReport;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
