/** One process of a sandbox: it takes questions and returns answers, and exceeding any limit ends it. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import { ContainerLostError } from '../../../ports/hosted-tools/code-runtime.ts';
import { killChild } from '../../../ports/processes/kill-child.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { type Answer, type AnswerLimits, answerReader } from '../shared/answers.ts';
import { closedError, crashError, memoryError } from '../shared/container-errors.ts';
import { encodeFrames } from '../shared/frames.ts';
import type { Kind } from '../shared/kinds.ts';
import type { Launch } from './launch.ts';
import { watchProcesses } from './process-watch.ts';
import { startChild } from './start-child.ts';

/** Node itself starts a dozen. */
const MAX_THREADS = 64;
const MAX_LAST_OUTPUT = 4096;

/** The limits of a process. */
interface ProcessLimits {
  readonly memoryBytes: number;
  readonly answer: AnswerLimits;
  /** The time until Python is loaded. */
  readonly startMs: number;
  /** Threads of all processes. Default: 64. */
  readonly threads?: number | undefined;
  /** See `watchProcesses`. */
  readonly inodes?: { readonly path: string; readonly most: number } | undefined;
}

/** A field of a question. */
type Field = readonly [kind: Kind, data: Uint8Array];

/** A process that answers one question at a time. Between questions it is stopped, so that leftover code does not run. */
export interface SandboxProcess {
  /** Aborted when the process is lost, with the `ContainerLostError` that explains it. */
  readonly life: AbortSignal;
  /** Resolves when Python is loaded; rejects if the process dies first. */
  readonly ready: Promise<void>;
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>;
  /**
   * Sends a question; one caller at a time. Rejects with the `ContainerLostError` that ended the process, or the reason of
   * the signal, which ends it as well.
   */
  request(question: readonly Field[], timeoutMs: number, signal: AbortSignal): Promise<Answer>;
  /** Ends it, whatever it is doing. */
  end(): void;
}

/** Starts it. */
export function sandboxProcess(launch: Launch, limits: ProcessLimits): SandboxProcess {
  const life = new AbortController();
  const started = startChild(launch);
  const { child } = started;
  life.signal.addEventListener('abort', () => {
    setRef(child, 'ref');
    killChild(child, 'SIGKILL');
  });
  const lose = (reason: ContainerLostError['reason'], why: string) =>
    life.abort(new ContainerLostError(reason, `The code ${why}; its container is gone.`));
  const answers = answerReader(child.stdout, limits.answer, () => lose('output', 'gave back more than is allowed'));
  // The last output of the process on its standard error explains its end.
  let lastOutput = '';
  child.stderr.on('data', (chunk) => {
    lastOutput = (lastOutput + chunk).slice(-MAX_LAST_OUTPUT);
  });
  // If it cannot be written, nobody reads it any more: the exit gives the reason.
  child.stdin.on('error', () => {});
  const ended = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      life.abort(error);
      resolve();
    });
    child.on('close', (code, signal) => {
      life.abort(crashError(code, signal, lastOutput));
      resolve();
    });
  });
  setRef(child, 'unref');
  let questions = 0;

  /** Ends the process at the first exceeded limit. */
  async function withLimits<Value>(work: () => Promise<Value>, timeoutMs: number, signal: AbortSignal): Promise<Value> {
    const { memoryBytes, threads = MAX_THREADS, inodes } = limits;
    const timer = setTimeout(() => lose('timeout', `ran longer than ${timeoutMs} ms and was stopped`), timeoutMs);
    const unwatch = watchProcesses(started.codePids, { memoryBytes, threads, inodes }, (what) => {
      if (what === 'memory') return life.abort(memoryError(memoryBytes));
      lose(
        'crash',
        what === 'threads' ? `started more than ${threads} threads` : `made more than ${inodes?.most} files`,
      );
    });
    const close = () => life.abort(closedError());
    signal.addEventListener('abort', close, { once: true });
    try {
      return await untilAborted(life.signal, work);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
      unwatch();
      signal.removeEventListener('abort', close);
      // A process that may survive this one must keep running to detect that its channel is closed.
      if (launch.diesWithHost) started.signal('SIGSTOP');
    }
  }

  /** The process answers question 0, which is never sent, when it is ready for others. */
  async function load(): Promise<void> {
    const { refused } = (await answers.next(0)).texts;
    if (refused !== undefined) throw new Error(`Python could not be loaded: ${refused}`);
    await started.pidReported;
  }

  return {
    life: life.signal,
    ready: withLimits(load, limits.startMs, new AbortController().signal),
    gone: ended.then(() => launch.cleanUp?.()),
    async request(question, timeoutMs, signal) {
      signal.throwIfAborted();
      life.signal.throwIfAborted();
      questions += 1;
      const id = questions;
      started.signal('SIGCONT');
      for (const [kind, data] of question) child.stdin.write(encodeFrames(kind, id, data));
      child.stdin.write(encodeFrames('done', id));
      return withLimits(() => answers.next(id), timeoutMs, signal);
    },
    end: () => life.abort(closedError()),
  };
}

/** An idle container must not keep the host's process alive; one that is ending must, or its end is never reported. */
function setRef(child: ChildProcessWithoutNullStreams, how: 'ref' | 'unref'): void {
  child[how]();
  // The casts: pipes to a child are sockets.
  for (const pipe of [child.stdin, child.stdout, child.stderr]) (pipe as unknown as Socket)[how]();
}
