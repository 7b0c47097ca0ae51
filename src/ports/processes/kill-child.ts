/** Sends signals to children. */
import type { ChildProcess } from 'node:child_process';

/** Does nothing if it is gone or was never started: for the latter Node would send the signal to the host's process group. */
export function killChild(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) child.kill(signal);
}
