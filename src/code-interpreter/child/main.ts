/** The process of one container: makes a realm without Node, starts Python in it, and passes lines between it and the host. */
import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { TextDecoder } from 'node:util';
import vm from 'node:vm';
import { lineReader } from '../lines.ts';
import type { Door } from './door.ts';
import type * as Realm from './realm.ts';

const [, , pyodideFolder = '', settings = ''] = process.argv;
// The cast: the host has written it.
const limits = JSON.parse(settings) as Parameters<typeof Realm.startRealm>[1];
// Not even an escape from the realm can make code out of text, here or there; the host sets the same for the process.
const context = vm.createContext(Object.create(null), { codeGeneration: { strings: false, wasm: true } });
const modules = new Map<string, vm.SourceTextModule>();
const { stdin, stdout } = process;
const leave = process.exit.bind(process, 0);

// Everything is made text or a number first: an error about anything else would hand an object of Node's over.
const door: Door = {
  send: (frame) => void stdout.write(`${frame}\n`),
  read: (name) => readFileSync(join(pyodideFolder, basename(`${name}`)), 'latin1'),
  decode: decoded,
  encode: (text) => Buffer.from(`${text}`, 'utf8').toString('latin1'),
  toBase64: (bytes) => Buffer.from(`${bytes}`, 'latin1').toString('base64'),
  fromBase64: (text) => Buffer.from(`${text}`, 'base64').toString('latin1'),
  random: (count) => randomBytes(Number(count)).toString('latin1'),
  now: () => performance.now(),
  later: (work, ms) => void setTimeout(() => work(), Number(ms)),
};

// The cast: this is the module's own type.
const realm = (await moduleOf(join(import.meta.dirname, 'realm.js'))) as typeof Realm;
realm.defineGlobals(door, limits.wasmBytes);
const { loadPyodide } = await moduleOf(join(pyodideFolder, 'pyodide.mjs'));
const { default: createPyodideModule } = await moduleOf(join(pyodideFolder, 'pyodide.asm.mjs'));
// The cast: these are the package's exports.
const receive = realm.startRealm(door, limits, { loadPyodide, createPyodideModule } as Realm.PyodideModules);
stdin.on('data', lineReader(Number.POSITIVE_INFINITY, { line: receive, tooLong: leave }));
// The host has closed the channel, or has died.
stdin.on('close', leave);
// Without these, Node would look into what was thrown, and call functions in it with objects of its own.
process.on('uncaughtException', process.exit.bind(process, 1));
process.on('unhandledRejection', process.exit.bind(process, 1));
forget();

/** Evaluates a module, and those next to it that it imports, in the realm. */
async function moduleOf(path: string): Promise<Record<string, unknown>> {
  const module = moduleAt(path);
  await module.link((name, importer) => moduleAt(join(importer.identifier, '..', name)));
  await module.evaluate();
  // The cast: a namespace has names.
  return module.namespace as Record<string, unknown>;
}

function moduleAt(path: string): vm.SourceTextModule {
  const known = modules.get(path);
  if (known) return known;
  const initializeImportMeta = (meta: ImportMeta) => void Object.assign(meta, { url: 'file:///module.mjs' });
  const module = new vm.SourceTextModule(readFileSync(path, 'utf8'), {
    context,
    identifier: path,
    initializeImportMeta,
  });
  modules.set(path, module);
  return module;
}

function decoded(encoding: string, fatal: boolean, ignoreBOM: boolean, bytes: ArrayBufferView): string | undefined {
  try {
    if (!ArrayBuffer.isView(bytes)) return undefined;
    // The cast: no memory of this realm is shared.
    return new TextDecoder(`${encoding}`, { fatal, ignoreBOM }).decode(bytes as NodeJS.ArrayBufferView<ArrayBuffer>);
  } catch {
    return undefined;
  }
}

/** Nothing here needs them any more; what escapes should not find them. */
function forget(): void {
  for (const name of ['process', 'fetch', 'WebSocket', 'EventSource', 'Buffer', 'global', 'navigator'])
    Reflect.deleteProperty(globalThis, name);
}
