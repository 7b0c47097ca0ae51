/** A code interpreter whose code is JavaScript in a context of its own, and requests for it. */
import { createContext, runInContext } from 'node:vm';
import {
  type CodeContainer,
  type CodeContainers,
  type CodeFile,
  type CodeRun,
  type CodeRuntime,
  ContainerLostError,
  codeInterpreter,
} from 'express-open-responses/code-interpreter';
import { untilAborted } from '../../src/core/until-aborted.ts';
import type { FakeAnswer } from '../../src/testing/index.ts';
import { calls, deferred, type Fields } from '../tools/support.ts';

/** What a test sees of the code that ran. */
export interface Ran {
  /** The containers that were begun, as `scope id`. */
  readonly begun: string[];
  /** Resolves when code has called `hang()`. */
  readonly hanging: Promise<void>;
  /** Resolves with the reason for which that run was given up. */
  readonly given: Promise<unknown>;
  readonly closed: () => boolean;
}

/** The provider and what it did. Code may `print`, `read` and `write` files, `hang` until it is aborted, and `die`. */
export function interpreter(limits?: Parameters<typeof codeInterpreter>[0]['limits']) {
  const hanging = deferred();
  const given = deferred<unknown>();
  const begun: string[] = [];
  let closed = false;
  const runtime: CodeRuntime = {
    name: 'javascript',
    create: async () => javascript(hanging.resolve, given.resolve),
    close: async () => {
      closed = true;
    },
  };
  const ran: Ran = { begun, hanging: hanging.promise, given: given.promise, closed: () => closed };
  return { tools: codeInterpreter({ containers: containersOf(runtime, begun), limits }), ran };
}

function containersOf(runtime: CodeRuntime, begun: string[]): CodeContainers {
  const containers = new Map<string, { readonly container: CodeContainer; readonly names: Set<string> }>();
  const last = new Map<string, Promise<unknown>>();

  async function run(key: string, code: string, files: readonly CodeFile[], signal: AbortSignal) {
    const kept = containers.get(key);
    const fresh = !kept?.container.alive;
    const { container, names } = fresh ? { container: await runtime.create(signal), names: new Set<string>() } : kept;
    if (fresh) begun.push(key);
    containers.set(key, { container, names });
    for (const file of files) {
      if (!names.has(file.name)) await container.put(file);
      names.add(file.name);
    }
    return { ...(await container.run(code, signal)), fresh };
  }

  return {
    run({ scope, id }, code, files, signal) {
      const key = `${scope} ${id}`;
      const turn = (last.get(key) ?? Promise.resolve()).then(() => run(key, code, files, signal));
      last.set(
        key,
        turn.catch(() => {}),
      );
      return turn;
    },
    close: () => runtime.close(),
  };
}

function javascript(hangs: () => void, gives: (reason: unknown) => void): CodeContainer {
  const files = new Map<string, Uint8Array>();
  let written: CodeFile[] = [];
  let out = '';
  let alive = true;
  let hang = false;
  const context = createContext({
    print: (...values: unknown[]) => {
      out += `${values.join(' ')}\n`;
    },
    read: (name: string) => new TextDecoder().decode(files.get(name) ?? raise(`No such file: ${name}`)),
    write: (name: string, text: string) => written.push({ name, data: new TextEncoder().encode(text) }),
    hang: () => {
      hang = true;
    },
    die: () => {
      alive = false;
    },
  });

  async function run(code: string, signal: AbortSignal): Promise<CodeRun> {
    [out, written, hang] = ['', [], false];
    const { result, error } = evaluated(code);
    if (!alive) throw new ContainerLostError('memory', 'The code took too much memory; its container is gone.');
    if (hang) await hangUntil(signal);
    return { stdout: out, stderr: '', result, error, files: written };
  }

  function evaluated(code: string): Pick<CodeRun, 'result' | 'error'> {
    try {
      const value: unknown = runInContext(code, context);
      return { result: value === undefined ? undefined : String(value), error: undefined };
    } catch (error) {
      return { result: undefined, error: `Traceback: ${error}` };
    }
  }

  async function hangUntil(signal: AbortSignal): Promise<never> {
    hangs();
    try {
      return await untilAborted(signal, () => new Promise<never>(() => {}));
    } catch (reason) {
      alive = false;
      gives(reason);
      throw reason;
    }
  }

  return {
    run,
    put: async ({ name, data }) => void files.set(name, data),
    get alive() {
      return alive;
    },
    close: async () => {
      alive = false;
    },
  };
}

function raise(message: string): never {
  throw new Error(message);
}

/** A request that asks for its code to be run, and for what it gives. */
export const ASKING: Fields = {
  tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
  include: ['code_interpreter_call.outputs'],
};

/** A round in which the model runs each of these pieces of code. */
export function runs(...pieces: readonly string[]): FakeAnswer {
  return calls(...pieces.map((code, at) => [`call_${at}`, 'code_interpreter', JSON.stringify({ code })] as const));
}
