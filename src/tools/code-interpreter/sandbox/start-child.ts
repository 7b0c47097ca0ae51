/** Starts a command with pipes and an empty environment, and finds the process that runs the code. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { killChild } from '../../../ports/processes/kill-child.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord } from '../../../protocol/record.ts';
import { processFamily } from './process-family.ts';

/** A command line. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  /** Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The filter of system calls for bubblewrap, which reads it at descriptor 3 and reports the process at descriptor 4. */
  readonly filter?: Uint8Array | undefined;
  /** Whether the code runs where this system does not see it, so that it cannot be measured or stopped from here. */
  readonly elsewhere?: boolean | undefined;
  /** Whether the code may start processes of its own: they are measured and stopped with it. */
  readonly hasFamily?: boolean | undefined;
  /** Descriptors of this process that the child must not inherit; it gets `/dev/null` instead. */
  readonly inherited?: readonly number[] | undefined;
}

/** The child, and the process in which the code runs: the child itself, or the one that bubblewrap created for it. */
export interface StartedChild {
  readonly child: ChildProcessWithoutNullStreams;
  /** The ids of the processes that run the code, as far as they are known and alive; the first of them is the one that was started. */
  codePids(): readonly number[];
  /** Resolves when its id is known, or never will be. */
  readonly pidReported: Promise<void>;
  /** Sends it a signal. Does nothing if it is gone. */
  signal(name: NodeJS.Signals): void;
}

/** Processes that are looked at: far more than a sandbox may have before it is ended. */
const MAX_FAMILY = 2048;

export function startChild(command: Command): StartedChild {
  const child = spawnChild(command);
  const { filter, elsewhere, hasFamily } = command;
  if (elsewhere) return { child, codePids: () => [], pidReported: Promise.resolve(), signal: () => {} };
  if (!filter)
    return {
      child,
      codePids: () => (child.pid === undefined ? [] : [child.pid]),
      pidReported: Promise.resolve(),
      signal: (name) => killChild(child, name),
    };

  let pid: number | undefined;
  const pidReported = reportedPid(child, filter).then((reported) => {
    pid = reported;
  });
  const codePid = () => {
    if (pid === undefined) return undefined;
    try {
      // Process ids are reused: only a child of bubblewrap is the reported one.
      const parent = Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
      return parent === child.pid ? pid : undefined;
    } catch {
      return undefined;
    }
  };
  const codePids = () => processFamily(codePid(), hasFamily ? MAX_FAMILY : 1);
  const signal = (name: NodeJS.Signals) => {
    for (const id of codePids()) {
      try {
        process.kill(id, name);
      } catch {
        // It has ended in between.
      }
    }
  };
  return { child, codePids, pidReported, signal };
}

function spawnChild({ command, args, env = {}, filter, inherited = [] }: Command): ChildProcessWithoutNullStreams {
  // In a process group of its own: Ctrl-C in the host's terminal is for the host, which may let runs end first.
  const detached = process.platform !== 'win32';
  const nothing = inherited.length > 0 ? openSync('/dev/null', 'r') : -1;
  const pipes = filter ? 5 : 3;
  const length = Math.max(pipes, ...inherited.map((descriptor) => descriptor + 1));
  const replaced = new Set(inherited);
  const stdio = Array.from({ length }, (_, index) => {
    if (index < pipes) return 'pipe';
    return replaced.has(index) ? nothing : 'ignore';
  });
  try {
    const child = spawn(command, args, { env, cwd: '/', stdio, detached, windowsHide: true });
    // The cast: the first three are pipes.
    if (child.stdio) return child as ChildProcessWithoutNullStreams;
    // Without file descriptors Node makes no pipes, and an `error` event follows, which would end the host's process.
    child.once('error', () => {});
    throw new Error('The process could not be started: there are no file descriptors left.');
  } finally {
    if (nothing !== -1) closeSync(nothing);
  }
}

/** It reports a few numbers. */
const MAX_INFO_LENGTH = 10_000;

async function reportedPid(child: ChildProcessWithoutNullStreams, filter: Uint8Array): Promise<number | undefined> {
  // The casts: the requested pipes exist, and are sockets.
  const input = child.stdio[3] as unknown as Writable & Socket;
  const info = child.stdio[4] as unknown as Readable & Socket;
  for (const pipe of [input, info]) pipe.on('error', () => {}).unref();
  input.end(filter);
  let text = '';
  info.on('data', (chunk) => {
    if (text.length < MAX_INFO_LENGTH) text += chunk;
  });
  await new Promise((resolve) => info.once('close', resolve));
  const reported = jsonIn(text);
  return isRecord(reported) && Number.isInteger(reported['child-pid']) ? Number(reported['child-pid']) : undefined;
}
