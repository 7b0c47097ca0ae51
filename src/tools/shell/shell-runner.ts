/** The program that waits in the sandbox of a shell: it runs one command after the other, and gives back what they print and write. */
import { FRAME_BYTES, KINDS } from '../code-interpreter/shared/kinds.ts';

/** What it receives on its command line, as JSON. */
export interface ShellRunnerSettings {
  /** The working directory, and which files count. */
  readonly folder: string;
  /** The program that reads commands. */
  readonly shell: string;
  readonly env: Readonly<Record<string, string>>;
  /** Shell code that sets the limits of a command before it begins. */
  readonly limits: string;
  /** The most bytes of each output. */
  readonly outputBytes: number;
  /** The most bytes of all files of one command, and their number. */
  readonly fileBytes: number;
  readonly files: number;
  /** The socket of the way out, and the port at which commands find it; null for none. */
  readonly proxy: { readonly path: string; readonly port: number } | null;
}

/** What it is asked, as JSON; a file to put there has a name and data instead. */
export type ShellQuestion =
  | {
      readonly command: string | readonly string[];
      readonly timeoutMs: number;
      readonly outputBytes: number;
    }
  | { readonly remove: string };

/** Plain JavaScript for Node, which is bound into the sandbox: no other program is certain to be there. It answers with an `exitCode`, null if the time was over, and the files `removed`. */
export const SHELL_RUNNER = `
'use strict';
const { spawn } = require('node:child_process');
const { constants: { O_RDONLY, O_NOFOLLOW, O_NONBLOCK }, ...fs } = require('node:fs');
const { constants: { signals }, hostname } = require('node:os');
// It ends all processes that it sees: never outside of a sandbox.
if (hostname() !== 'sandbox' || process.ppid !== 1) process.exit(1);
const path = require('node:path');
const S = JSON.parse(process.argv[1]);
const KINDS = ${JSON.stringify(KINDS)};
const MAX_WALKED = 20000;
const marks = new Map();

function answer(id, fields) {
  for (const [kind, value] of [...fields, ['done', '']]) {
    const data = Buffer.from(value);
    for (let at = 0; at === 0 || at < data.length; at += ${FRAME_BYTES}) {
      const part = data.subarray(at, at + ${FRAME_BYTES});
      const header = Buffer.alloc(9);
      header.writeUInt8(KINDS.indexOf(kind), 0);
      header.writeUInt32BE(id, 1);
      header.writeUInt32BE(part.length, 5);
      process.stdout.write(Buffer.concat([header, part]));
    }
  }
}

function endOthers() {
  try {
    process.kill(-1, 'SIGKILL');
  } catch {}
}

function walk() {
  const found = new Map();
  const folders = [''];
  let walked = 0;
  while (folders.length > 0 && walked < MAX_WALKED) {
    const folder = folders.pop();
    let entries = [];
    try {
      entries = fs.readdirSync(path.join(S.folder, folder), { withFileTypes: true });
    } catch {}
    for (const entry of entries) {
      if ((walked += 1) > MAX_WALKED) break;
      const name = folder === '' ? entry.name : folder + '/' + entry.name;
      if (entry.isDirectory()) folders.push(name);
      else if (entry.isFile()) {
        try {
          const { size, mtimeNs, ctimeNs, ino } = fs.lstatSync(path.join(S.folder, name), { bigint: true });
          found.set(name, { size: Number(size), mark: [size, mtimeNs, ctimeNs, ino].join() });
        } catch {}
      }
    }
  }
  return found;
}

function changes() {
  const found = walk();
  const removed = [...marks.keys()].filter((name) => !found.has(name));
  for (const name of removed) marks.delete(name);
  const files = [];
  const omitted = [];
  let left = S.fileBytes;
  for (const [name, { size, mark }] of [...found].sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (marks.get(name) === mark) continue;
    if (size > left || files.length >= S.files) {
      omitted.push(name);
      continue;
    }
    try {
      const file = fs.openSync(path.join(S.folder, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const data = Buffer.alloc(size);
      const read = fs.readSync(file, data, 0, size, 0);
      fs.closeSync(file);
      left -= read;
      files.push([name, data.subarray(0, read)]);
      marks.set(name, mark);
    } catch {
      omitted.push(name);
    }
  }
  const more = omitted.length > 5 ? ', and ' + (omitted.length - 5) + ' more' : '';
  const note = omitted.length === 0 ? '' :
    '\\n[not given back: ' + omitted.slice(0, 5).join(', ') + more + '; a command gives back at most ' + S.files + ' files of ' + S.fileBytes + ' bytes in all]\\n';
  return { files, removed, note };
}

class Capture {
  constructor(stream, limit) {
    this.parts = [];
    this.length = 0;
    this.total = 0;
    stream.on('error', () => {});
    stream.on('data', (chunk) => {
      this.total += chunk.length;
      const part = chunk.subarray(0, Math.max(0, limit - this.length));
      this.length += part.length;
      // A copy: a part of a chunk keeps the whole of it.
      if (part.length > 0) this.parts.push(Buffer.from(part));
    });
  }
  text() {
    const text = Buffer.concat(this.parts).toString();
    return this.total > this.length ? text + '\\n[cut after ' + this.length + ' of ' + this.total + ' bytes]\\n' : text;
  }
}

function run(id, { command, timeoutMs, outputBytes }) {
  endOthers();
  const limit = Math.min(outputBytes, S.outputBytes);
  const args = typeof command === 'string' ? ['-c', S.limits + 'exec "$0" -c "$1"', S.shell, command] : ['-c', S.limits + 'exec "$@"', 'sh', ...command];
  let isLate = false;
  let isOver = false;
  const finish = (code, signal, error) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    const { files, removed, note } = changes();
    const exitCode = isLate ? null : code ?? 128 + (signals[signal] ?? 0);
    const stderr = (error ?? err.text()) + note;
    answer(id, [
      ['stdout', error ? '' : out.text()], ['stderr', stderr], ['result', JSON.stringify({ exitCode, removed })],
      ...files.flatMap(([name, data]) => [['name', name], ['data', data]]),
    ]);
  };
  const timer = setTimeout(() => {
    isLate = true;
    endOthers();
  }, timeoutMs);
  let child;
  try {
    child = spawn('/bin/sh', args, { cwd: S.folder, env: S.env, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    return finish(126, null, 'The command could not be started: ' + error.message);
  }
  if (!child.stdout) {
    child.on('error', () => {});
    return finish(126, null, 'The command could not be started.');
  }
  const out = new Capture(child.stdout, limit);
  const err = new Capture(child.stderr, limit);
  child.on('error', (error) => finish(126, null, 'The command could not be started: ' + error.message));
  // What it has left running ends with it, and so do the pipes that this holds open.
  child.on('exit', () => endOthers());
  child.on('close', (code, signal) => finish(code, signal));
}

function put(name, data) {
  const file = path.join(S.folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.rmSync(file, { force: true });
  fs.writeFileSync(file, data);
  const { size, mtimeNs, ctimeNs, ino } = fs.lstatSync(file, { bigint: true });
  marks.set(name, [size, mtimeNs, ctimeNs, ino].join());
}

function take(id, fields) {
  const text = (kind) => Buffer.concat(fields.get(kind) ?? []);
  try {
    if (fields.has('name')) put(text('name').toString(), text('data'));
    else {
      const question = JSON.parse(text('code').toString());
      if ('command' in question) return run(id, question);
      fs.rmSync(path.join(S.folder, question.remove), { force: true });
      marks.delete(question.remove);
    }
    answer(id, []);
  } catch (error) {
    answer(id, [['refused', String(error.message)]]);
  }
}

let waiting = Buffer.alloc(0);
let fields = new Map();
process.stdin.on('data', (chunk) => {
  waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
  while (waiting.length >= 9 && waiting.length >= 9 + waiting.readUInt32BE(5)) {
    const [kind, id, length] = [KINDS[waiting.readUInt8(0)], waiting.readUInt32BE(1), waiting.readUInt32BE(5)];
    const data = waiting.subarray(9, 9 + length);
    waiting = waiting.subarray(9 + length);
    if (kind === 'done') {
      take(id, fields);
      fields = new Map();
    } else fields.set(kind, [...(fields.get(kind) ?? []), data]);
  }
});
// The host has closed the channel, or has died.
process.stdin.on('end', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
process.on('uncaughtException', () => process.exit(1));
if (S.proxy === null) answer(0, []);
else {
  const { connect, createServer } = require('node:net');
  const { pipeline } = require('node:stream');
  const server = createServer({ allowHalfOpen: true }, (inner) => {
    const outer = connect({ path: S.proxy.path, allowHalfOpen: true });
    pipeline(inner, outer, () => {});
    pipeline(outer, inner, () => {});
  });
  server.maxConnections = 64;
  server.listen(S.proxy.port, '127.0.0.1', () => answer(0, []));
}
`;
