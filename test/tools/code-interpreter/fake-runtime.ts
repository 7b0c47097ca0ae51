/** A code runtime that knows a few lines of Python by heart, and no process. */
import { codeScript } from 'express-open-responses/testing';
import {
  type CodeContainer,
  type CodeFile,
  type CodeRun,
  type CodeRuntime,
  ContainerLostError,
} from '../../../src/ports/hosted-tools/code-runtime.ts';
import { serialQueue } from '../../../src/ports/queues/serial-queue.ts';
import { untilAborted } from '../../../src/streams/until-aborted.ts';

/** The runtime, with what tests ask of it. */
export interface FakeRuntime extends CodeRuntime {
  /** Every container that was made. */
  readonly made: readonly FakeContainer[];
}

/** A container, with what tests do to it. */
export interface FakeContainer extends CodeContainer {
  readonly codes: readonly string[];
  readonly puts: readonly string[];
  /** As if its process had died. */
  crash(): void;
}

interface Memory {
  kept: unknown;
  readonly files: Map<string, string>;
}

const NOTHING: CodeRun = { stdout: '', stderr: '', result: undefined, error: undefined, files: [] };
const UNKNOWN = 'Traceback (most recent call last):\nNameError: unknown';

/** What each line does; any other code ends as its own result. */
const LINES: Readonly<Record<string, (memory: Memory) => Partial<CodeRun>>> = {
  [codeScript.value]: () => ({ result: '42' }),
  [codeScript.print]: () => ({ stdout: 'out 🧑‍🚀\n', stderr: 'err\n' }),
  [codeScript.remember]: (memory) => {
    memory.kept = 41;
    return {};
  },
  [codeScript.recall]: ({ kept }) => (typeof kept === 'number' ? { result: String(kept + 1) } : { error: UNKNOWN }),
  [codeScript.raise]: () => ({ error: 'Traceback (most recent call last):\nValueError: no such luck' }),
  [codeScript.read]: ({ files }) => ({ result: `'${files.get('in.txt')}'` }),
  [codeScript.write]: () => ({ files: [{ name: 'out.bin', data: Uint8Array.of(0, 255, 10) }] }),
  [codeScript.writeBelow]: () => ({ files: [{ name: 'plots/out.bin', data: Uint8Array.of(1, 2, 3) }] }),
  [codeScript.remove]: ({ files }) => (files.delete('in.txt') ? { removed: ['in.txt'] } : { error: UNKNOWN }),
  [codeScript.exists]: ({ files }) => ({ result: files.has('in.txt') ? 'True' : 'False' }),
  [codeScript.append]: (memory) => {
    memory.kept = `${memory.kept ?? ''}a`;
    return {};
  },
  kept: ({ kept }) => ({ result: `'${kept}'` }),
};

/** `create` may be asked to fail. */
export function fakeRuntime({ refuse }: { readonly refuse?: () => boolean } = {}): FakeRuntime {
  const made: FakeContainer[] = [];
  let closed = false;
  return {
    name: 'fake',
    made,
    async create(signal) {
      signal.throwIfAborted();
      if (closed || refuse?.()) throw new Error('No container can be had.');
      const container = fakeContainer();
      made.push(container);
      return container;
    },
    async close() {
      closed = true;
      for (const container of made) await container.close();
    },
  };
}

function fakeContainer(): FakeContainer {
  const life = new AbortController();
  const memory: Memory = { kept: undefined, files: new Map() };
  const codes: string[] = [];
  const puts: string[] = [];
  const enqueue = serialQueue();
  const lose = (reason: 'closed' | 'crash') => life.abort(new ContainerLostError(reason, 'The container is gone.'));

  async function run(code: string, signal: AbortSignal): Promise<CodeRun> {
    life.signal.throwIfAborted();
    codes.push(code);
    if (code === codeScript.endless) return endless(signal);
    return { ...NOTHING, ...(LINES[code]?.(memory) ?? { result: code }) };
  }

  async function endless(signal: AbortSignal): Promise<never> {
    try {
      return await untilAborted(signal, () => untilAborted(life.signal, () => new Promise<never>(() => {})));
    } finally {
      lose('closed');
    }
  }

  return {
    codes,
    puts,
    run: async (code, signal) => untilAborted(signal, () => enqueue(() => run(code, signal))),
    async put({ name, data }: CodeFile) {
      puts.push(name);
      memory.files.set(name, new TextDecoder().decode(data));
    },
    remove: async (name) => void memory.files.delete(name),
    get alive() {
      return !life.signal.aborted;
    },
    crash: () => lose('crash'),
    close: async () => lose('closed'),
  };
}
