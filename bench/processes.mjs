/** Starts the processes of a run, the server under test on a core of its own if taskset is installed, and ends them. */
import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

const ANSWERS_WITHIN_MS = 240_000;

/** The role of a process, and its core; `other` is a second server. */
const CORES = { server: '0', load: '1', other: '1' };

/** Whether processes can be bound to a core each. */
export function canPin() {
  return availableParallelism() > 1 && spawnSync('taskset', ['-c', Object.values(CORES).join(), 'true']).status === 0;
}

/** Starts processes, and ends all that still run; `nodeFlags` are for the servers under test. */
export function processes({ pinned, nodeFlags = [] }) {
  const running = new Set();

  /** `ownFlags` are of Node, for this server alone. */
  function start(file, args = [], side = 'load', ownFlags = []) {
    const flags = side === 'load' ? [] : [...nodeFlags, ...ownFlags];
    const node = [
      process.execPath,
      '--expose-gc',
      ...flags,
      fileURLToPath(new URL(file, import.meta.url)),
      ...args.map(String),
    ];
    const [program, ...rest] = pinned ? ['taskset', '-c', CORES[side], ...node] : node;
    const child = spawn(program, rest, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  }

  function stopAll() {
    for (const child of running) child.kill('SIGKILL');
  }

  return { start, stopAll };
}

/** The answer of the process to the message, or its first message if none is given. Rejects if it ends or fails instead. */
export function answerOf(child, message) {
  return new Promise((resolve, reject) => {
    const late = () => settle(() => reject(new Error(`${nameOf(child)} did not answer in time.`)));
    const timer = setTimeout(late, ANSWERS_WITHIN_MS);
    const settle = (how) => {
      clearTimeout(timer);
      child.off('message', receive).off('exit', gone);
      how();
    };
    const receive = (answer) =>
      settle(() => (answer.error ? reject(new Error(`${nameOf(child)}: ${answer.error}`)) : resolve(answer)));
    const gone = (code, signal) => settle(() => reject(new Error(`${nameOf(child)} ended: ${signal ?? code}`)));
    child.once('message', receive).once('exit', gone);
    if (message) child.send(message);
  });
}

function nameOf({ spawnargs }) {
  const [file, ...args] = spawnargs.slice(spawnargs.findIndex((part) => part.endsWith('.mjs')));
  return [basename(file), ...args].join(' ');
}

/** Ends the process, and waits for its end. */
export function stopped(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  return exited;
}
