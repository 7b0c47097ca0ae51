/** Real servers for tests: found on this machine, run in a temporary folder, ended with the process that started them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describeWhere } from './skipping.ts';

/** A server that a test may stop and start again. */
export interface Service {
  /** The same for the whole life of the service. */
  readonly url: string;
  /** Starts it again on the same port, with its data. */
  start(): Promise<void>;
  /** Stops it regularly. */
  stop(): Promise<void>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
  /** Freezes the process, but not those that it started, until `resume`: connections stay open and unanswered. */
  pause(): void;
  resume(): void;
  /** Ends it for good and removes its folder. */
  close(): Promise<void>;
}

/** How a server is run. */
export interface ServiceSpec {
  readonly url: string;
  readonly folder: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The text that it prints when it is ready. */
  readonly ready: string;
  /** The signal that stops it regularly. */
  readonly stopSignal: NodeJS.Signals;
  /** The user to run as, if this process is root and the server refuses root. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

const STARTS_WITHIN_MS = 30_000;

/** The path of the program, on the PATH or in one of the folders. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const path = (process.env.PATH ?? '').split(':').filter(Boolean);
  return [...folders, ...path].map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** `describe` if the program is installed; otherwise a skip whose name says why. CI must have it. */
export function describeWith(program: string | undefined, name: string): (name: string, body: () => void) => void {
  if (!program && process.env.CI === 'true') throw new Error(`CI needs ${name}, and there is none on this machine`);
  return describeWhere(program !== undefined, `there is no ${name} on this machine`);
}

/**
 * A port of the loopback address on which nobody listens, of those that the system gives to nobody who asks for any: until its server has
 * started, no other test's server or connection takes it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, AFTER_LAST_PORT);
    if (await isFree(port)) return port;
  }
}

const FIRST_PORT = 10_000;
/** Where Linux begins to give ports to whoever asks for any. */
const AFTER_LAST_PORT = 32_768;

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Starts the server and waits until it is ready. */
export async function startService(spec: ServiceSpec): Promise<Service> {
  let running: ChildProcess | undefined;

  async function begin(): Promise<void> {
    running = await launch(spec);
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const child = running;
    running = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  async function close(): Promise<void> {
    running?.kill('SIGCONT');
    await end(spec.stopSignal);
    await rm(spec.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  await begin();
  return {
    url: spec.url,
    start: begin,
    stop: () => end(spec.stopSignal),
    kill: () => end('SIGKILL'),
    pause: () => void running?.kill('SIGSTOP'),
    resume: () => void running?.kill('SIGCONT'),
    close,
  };
}

async function launch(spec: ServiceSpec): Promise<ChildProcess> {
  const child = spawn(spec.program, spec.args, { cwd: spec.folder, ...spec.user, stdio: ['ignore', 'pipe', 'pipe'] });
  endWithParent(child, spec.folder);
  const written: string[] = [];
  const late = setTimeout(() => child.kill('SIGKILL'), STARTS_WITHIN_MS);
  await new Promise<void>((resolve, reject) => {
    function receive(line: string): void {
      written.push(line);
      if (line.includes(spec.ready)) resolve();
    }

    for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', receive);
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`${spec.program} ended: ${written.join('\n')}`)));
  }).finally(() => clearTimeout(late));
  return child;
}

/**
 * Ends the child, and removes the folder if one is given, when this process is killed: a killed process runs no handler, but
 * its end of the pipe closes, which the shell notices.
 */
export function endWithParent(child: ChildProcess, folder?: string): void {
  const script = 'read -r _; kill -9 "$0" 2>/dev/null; sleep 1; [ -z "$1" ] || rm -rf "$1"';
  const guard = spawn('sh', ['-c', script, String(child.pid), folder ?? ''], { stdio: ['pipe', 'ignore', 'ignore'] });
  child.once('exit', () => guard.kill('SIGKILL'));
}
