/** The process of one container: starts Python in a realm without Node, and passes frames between it and the host. */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { type Frame, frameReader, framesOf } from '../shared/frames.ts';
import { FRAME_BYTES, KINDS, type Kind } from '../shared/kinds.ts';
import { BYTES_AT, EMPTY, KIND, LENGTH, put, whileIn } from './door.ts';
import { freezeIntrinsics } from './frozen.ts';
import { pythonRealm } from './python-realm.ts';

const [, , pyodideFolder = '', limits = ''] = process.argv;
const { stdin, stdout } = process;
const leave = process.exit.bind(process, 0);
const fail = process.exit.bind(process, 1);
/** The question being answered. Python answers the first, 0, when it is loaded. */
let current: number | undefined = 0;
let question = new Map<Kind, Buffer[]>();

const python = await pythonRealm(pyodideFolder, limits);
const cells = new Int32Array(python.memory, 0, BYTES_AT / Int32Array.BYTES_PER_ELEMENT);
stdin.on('data', frameReader({ frame: receive, broken: fail }));
// The host has closed the channel, or has died.
stdin.on('close', leave);
// Without these, Node would inspect the thrown value, and call functions in it with objects of its own.
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);
forget();
freezeIntrinsics();
await answer();

/** Collects a question and passes it on: strings go into the realm, and its errors are not inspected. */
function receive({ kind, id, data }: Frame): void {
  if (kind !== 'done') {
    if (!question.get(kind)?.push(data)) question.set(kind, [data]);
    return;
  }
  current = id;
  const given = question;
  question = new Map();
  try {
    if (given.has('code')) python.run(fieldOf(given, 'code', 'utf8'));
    else python.put(fieldOf(given, 'name', 'utf8'), fieldOf(given, 'data', 'latin1'));
  } catch {
    fail();
  }
}

function fieldOf(given: ReadonlyMap<Kind, readonly Buffer[]>, kind: Kind, encoding: 'utf8' | 'latin1'): string {
  return Buffer.concat(given.get(kind) ?? []).toString(encoding);
}

/** Makes frames of what the realm writes to the memory: the realm controls the bytes only, and nothing around them. */
async function answer(): Promise<never> {
  for (;;) {
    await whileIn(EMPTY, cells);
    const kind = KINDS[Atomics.load(cells, KIND)];
    const length = Atomics.load(cells, LENGTH);
    if (current === undefined || !kind || length < 0 || length > FRAME_BYTES) return fail();
    const frame = framesOf(kind, current, new Uint8Array(python.memory, BYTES_AT, length));
    if (kind === 'done') current = undefined;
    put(EMPTY, cells);
    if (!stdout.write(frame)) await once(stdout, 'drain');
  }
}

/** Nothing here needs them any more, and escaped code should not find them. */
function forget(): void {
  for (const name of ['process', 'fetch', 'WebSocket', 'EventSource', 'Buffer', 'global', 'navigator'])
    Reflect.deleteProperty(globalThis, name);
}
