/** One process of a sandbox: it takes questions and returns answers, and exceeding any limit ends it. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import { killChild } from '../../../ports/processes/kill-child.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { type Answer, type AnswerLimits, type Answers, answersOf } from '../shared/answers.ts';
import { framesOf } from '../shared/frames.ts';
import type { Kind } from '../shared/kinds.ts';
import { closed, crashed, tooLarge, tooManyThreads, tooMuch, tooSlow } from '../shared/lost.ts';
import type { Launch } from './launch.ts';
import { watchProcess } from './process-watch.ts';
import { type StartedChild, startChild } from './start-child.ts';

/** The limits of a process. */
interface ProcessLimits {
  readonly memoryBytes: number;
  readonly answer: AnswerLimits;
  /** The time until Python is loaded. */
  readonly startMs: number;
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
    hold(child, 'ref');
    killChild(child, 'SIGKILL');
  });
  const answers = answersOf(child.stdout, limits.answer, () => life.abort(tooMuch()));
  const gone = goneOf(child, life).then(() => launch.cleanUp?.());
  hold(child, 'unref');
  let questions = 0;

  async function guarded<Value>(work: () => Promise<Value>, timeoutMs: number, signal: AbortSignal): Promise<Value> {
    const unguard = guard({ started, life, timeoutMs, signal, memoryBytes: limits.memoryBytes });
    try {
      return await untilAborted(life.signal, work);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      unguard();
      // A process that may survive this one must keep running to detect that its channel is closed.
      if (launch.diesWithHost) started.signal('SIGSTOP');
    }
  }

  return {
    life: life.signal,
    ready: guarded(() => readyOf(answers, started), limits.startMs, new AbortController().signal),
    gone,
    async request(question, timeoutMs, signal) {
      signal.throwIfAborted();
      life.signal.throwIfAborted();
      questions += 1;
      const id = questions;
      started.signal('SIGCONT');
      for (const [kind, data] of question) child.stdin.write(framesOf(kind, id, data));
      child.stdin.write(framesOf('done', id));
      return guarded(() => answers.next(id), timeoutMs, signal);
    },
    end: () => life.abort(closed()),
  };
}

/** Node itself starts a dozen. */
const MAX_THREADS = 64;

interface Guarded {
  readonly started: StartedChild;
  readonly life: AbortController;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly signal: AbortSignal;
}

/** Ends the process at the first exceeded limit; returns a function that removes the listeners. */
function guard({ started, life, timeoutMs, memoryBytes, signal }: Guarded): () => void {
  const timer = setTimeout(() => life.abort(tooSlow(timeoutMs)), timeoutMs);
  const unwatch = watchProcess(started.codePid, { memoryBytes, threads: MAX_THREADS }, (what) =>
    life.abort(what === 'memory' ? tooLarge(memoryBytes) : tooManyThreads(MAX_THREADS)),
  );
  const leave = () => life.abort(closed());
  signal.addEventListener('abort', leave, { once: true });
  return () => {
    clearTimeout(timer);
    unwatch();
    signal.removeEventListener('abort', leave);
  };
}

/** The process answers question 0, which is never sent, when it is ready for others. */
async function readyOf(answers: Answers, { known }: StartedChild): Promise<void> {
  const { refused } = (await answers.next(0)).texts;
  if (refused !== undefined) throw new Error(`Python could not be loaded: ${refused}`);
  await known;
}

/** Detects the end, and keeps the last output of the process on its standard error. */
function goneOf(child: ChildProcessWithoutNullStreams, life: AbortController): Promise<void> {
  let words = '';
  child.stderr.on('data', (chunk) => {
    words = (words + chunk).slice(-LAST_WORDS);
  });
  // If it cannot be written, nobody reads it any more: the exit gives the reason.
  child.stdin.on('error', () => {});
  return new Promise((resolve) => {
    child.on('error', (error) => {
      life.abort(error);
      resolve();
    });
    child.on('close', (code, signal) => {
      life.abort(crashed(code, signal, words));
      resolve();
    });
  });
}

const LAST_WORDS = 4096;

/** An idle container must not keep the host's process alive; one that is ending must, or its end is never reported. */
function hold(child: ChildProcessWithoutNullStreams, how: 'ref' | 'unref'): void {
  child[how]();
  // The casts: pipes to a child are sockets.
  for (const pipe of [child.stdin, child.stdout, child.stderr]) (pipe as unknown as Socket)[how]();
}
