/** The process of one container, or of one program: starts it in a realm without Node, and passes frames between it and the host. */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { encodeFrames, type Frame, frameReader } from '../shared/frames.ts';
import { FRAME_BYTES, KINDS, type Kind } from '../shared/kinds.ts';
import { freezeIntrinsics } from './frozen.ts';
import { programRealm } from './program-process.ts';
import { pythonRealm } from './python-realm.ts';
import { BYTES_AT, EMPTY, KIND, LENGTH, publishState, waitWhileState } from './shared-memory-channel.ts';

/** Without a folder of Pyodide, programs in JavaScript run here. */
const [, , limits = '', pyodideFolder] = process.argv;
const { stdin, stdout } = process;
const leave = process.exit.bind(process, 0);
const fail = process.exit.bind(process, 1);
/** The question being answered. The realm answers the first, 0, when it is loaded. */
let current: number | undefined = 0;
let question = new Map<Kind, Buffer[]>();

const inside = pyodideFolder === undefined ? await programQuestions() : await pythonQuestions(pyodideFolder);
const cells = new Int32Array(inside.memory, 0, BYTES_AT / Int32Array.BYTES_PER_ELEMENT);
stdin.on('data', frameReader({ frame: receiveFrame, broken: fail }));
// The host has closed the channel, or has died.
stdin.on('close', leave);
// Without these, Node would inspect the thrown value, and call functions in it with objects of its own.
process.on('uncaughtException', fail);
// A program may leave a call that fails alone; in Python nothing does.
process.on('unhandledRejection', pyodideFolder === undefined ? () => {} : fail);
// Nothing here needs them any more, and escaped code should not find them.
for (const name of ['process', 'fetch', 'WebSocket', 'EventSource', 'Buffer', 'global', 'navigator'])
  Reflect.deleteProperty(globalThis, name);
freezeIntrinsics();
await forwardAnswers();

/** Collects a question and passes it on: strings go into the realm, and its errors are not inspected. */
function receiveFrame({ kind, id, data }: Frame): void {
  if (kind !== 'done') {
    if (!question.get(kind)?.push(data)) question.set(kind, [data]);
    return;
  }
  current = id;
  const fields = question;
  question = new Map();
  try {
    inside.ask(fields);
  } catch {
    fail();
  }
}

/** A realm that answers questions into its memory. */
interface Questions {
  readonly memory: SharedArrayBuffer;
  readonly ask: (fields: ReadonlyMap<Kind, readonly Buffer[]>) => void;
}

async function pythonQuestions(folder: string): Promise<Questions> {
  const { memory, run, put, remove } = await pythonRealm(folder, limits);
  return {
    memory,
    ask(fields) {
      if (fields.has('remove')) remove(fieldText(fields, 'remove', 'utf8'));
      else if (fields.has('code')) run(fieldText(fields, 'code', 'utf8'));
      else put(fieldText(fields, 'name', 'utf8'), fieldText(fields, 'data', 'latin1'));
    },
  };
}

/** A program comes as its code, with its setup as the name; results come as data. */
async function programQuestions(): Promise<Questions> {
  const { memory, begin, goOn } = await programRealm();
  return {
    memory,
    ask(fields) {
      if (fields.has('code')) begin(fieldText(fields, 'code', 'utf8'), fieldText(fields, 'name', 'utf8'));
      else goOn(fieldText(fields, 'data', 'utf8'));
    },
  };
}

function fieldText(fields: ReadonlyMap<Kind, readonly Buffer[]>, kind: Kind, encoding: 'utf8' | 'latin1'): string {
  return Buffer.concat(fields.get(kind) ?? []).toString(encoding);
}

/** Makes frames of what the realm writes to the memory: the realm controls the bytes only, and nothing around them. */
async function forwardAnswers(): Promise<never> {
  for (;;) {
    await waitWhileState(EMPTY, cells);
    const kind = KINDS[Atomics.load(cells, KIND)];
    const length = Atomics.load(cells, LENGTH);
    if (current === undefined || !kind || length < 0 || length > FRAME_BYTES) return fail();
    const frame = encodeFrames(kind, current, new Uint8Array(inside.memory, BYTES_AT, length));
    if (kind === 'done') current = undefined;
    publishState(EMPTY, cells);
    if (!stdout.write(frame)) await once(stdout, 'drain');
  }
}
