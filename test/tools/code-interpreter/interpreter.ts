/** A code interpreter whose code is JavaScript in a context of its own, and requests for it. */

import { createContext, runInContext } from 'node:vm';
import {
  type CodeContainer,
  type CodeFile,
  type CodeInterpreterOptions,
  type CodeRun,
  type CodeRuntime,
  ContainerLostError,
  codeInterpreter,
} from 'express-open-responses/code-interpreter';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { untilAborted } from '../../../src/streams/until-aborted.ts';
import type { FakeAnswer } from '../../../src/testing/index.ts';
import { calls, deferred } from '../../engine/tools/support.ts';

/** What a test sees of the code that ran. */
export interface Ran {
  /** How many containers were begun. */
  readonly begun: () => number;
  /** Resolves when code has called `hang()`. */
  readonly hanging: Promise<void>;
  /** Resolves with the reason for which that run was given up. */
  readonly given: Promise<unknown>;
}

/** The provider and what it did. Code may `print`, `read` and `write` files, `hang` until it is aborted, and `die`. */
export function interpreter(limits?: CodeInterpreterOptions['limits']) {
  const hanging = deferred();
  const given = deferred<unknown>();
  let begun = 0;
  const runtime: CodeRuntime = {
    name: 'javascript',
    create: async () => {
      begun += 1;
      return javascript(hanging.resolve, given.resolve);
    },
    close: async () => {},
  };
  const ran: Ran = { begun: () => begun, hanging: hanging.promise, given: given.promise };
  return { tools: codeInterpreter({ runtime, limits }), ran };
}

/** The runtime alone. */
export function javascriptRuntime(): CodeRuntime {
  const nothing = () => {};
  return { name: 'javascript', create: async () => javascript(nothing, nothing), close: async () => {} };
}

function javascript(hangs: () => void, gives: (reason: unknown) => void): CodeContainer {
  const files = new Map<string, Uint8Array>();
  let written: CodeFile[] = [];
  let removed: string[] = [];
  let out = '';
  let alive = true;
  let hang = false;
  const context = createContext({
    print: (...values: unknown[]) => {
      out += `${values.join(' ')}\n`;
    },
    read: (name: string) => new TextDecoder().decode(files.get(name) ?? raise(`No such file: ${name}`)),
    write: (name: string, text: string) => {
      const data = new TextEncoder().encode(text);
      files.set(name, data);
      written.push({ name, data });
    },
    remove: (name: string) => {
      if (files.delete(name)) removed.push(name);
    },
    names: () => [...files.keys()].join(),
    hang: () => {
      hang = true;
    },
    die: () => {
      alive = false;
    },
  });

  async function run(code: string, signal: AbortSignal): Promise<CodeRun> {
    [out, written, removed, hang] = ['', [], [], false];
    const { result, error } = evaluated(code);
    if (!alive) throw new ContainerLostError('memory', 'The code took too much memory; its container is gone.');
    if (hang) await hangUntil(signal);
    return { stdout: out, stderr: '', result, error, files: written, removed };
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
    remove: async (name) => void files.delete(name),
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
export const ASKING: JsonObject = {
  tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
  include: ['code_interpreter_call.outputs'],
};

/** A round in which the model runs each of these pieces of code. */
export function runs(...pieces: readonly string[]): FakeAnswer {
  return calls(...pieces.map((code, at) => [`call_${at}`, 'code_interpreter', JSON.stringify({ code })] as const));
}
