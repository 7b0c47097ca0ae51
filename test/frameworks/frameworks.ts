/** The examples as `prepare.mjs` leaves them, and how each is started as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '../support/services.ts';

/** How an example is started. */
interface Framework {
  /** Its folder below `build`. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
}

const START_MS = 60_000;
/** What a hung example has to end in after SIGTERM. */
const STOP_MS = 15_000;
const modules = join(import.meta.dirname, 'node_modules');
const apps = join(import.meta.dirname, 'build');

const bunArch = process.arch === 'arm64' ? 'aarch64' : process.arch;

const onNode = (name: string, file = 'dist/server.js'): Framework => ({
  name,
  program: process.execPath,
  args: [file],
});

export const frameworks: readonly Framework[] = [
  onNode('express4'),
  onNode('express5'),
  onNode('fastify'),
  onNode('nestjs'),
  { ...onNode('nextjs'), args: [join(modules, 'next/dist/bin/next'), 'start'] },
  onNode('hono', 'dist/with-auth.js'),
  onNode('koa-adapter', 'dist/with-auth.js'),
  {
    name: 'deno',
    program: join(modules, `@deno/linux-${process.arch}-glibc/deno`),
    args: ['run', '--allow-env', '--allow-net', '--allow-read', 'server.ts'],
  },
  { name: 'bun', program: join(modules, `@oven/bun-linux-${bunArch}/bin/bun`), args: ['server.ts'] },
];

/** Whether `prepare.mjs` has run and the example's program is installed. */
export function isReady({ name, program }: Framework): boolean {
  return existsSync(join(apps, name)) && existsSync(program);
}

/** A running example. */
export interface RunningFramework {
  readonly url: string;
  /** Sends SIGTERM; its exit status, and what it wrote to stderr. */
  stop(): Promise<{ readonly status: number | null; readonly errors: string }>;
}

/** Starts the example in front of the model server. */
export async function startFramework({ name, program, args }: Framework, baseURL: string): Promise<RunningFramework> {
  const port = await freePort();
  const env = {
    ...process.env,
    PORT: String(port),
    OPENAI_BASE_URL: baseURL,
    OPENAI_API_KEY: 'k',
    NODE_ENV: 'production',
  };
  const child = spawn(program, args, { cwd: join(apps, name), env, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += text;
  });
  const url = `http://127.0.0.1:${port}`;
  await listening(url, child).catch((cause) => {
    throw new Error(`${name} did not start: ${errors}`, { cause });
  });

  async function stop() {
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    const [status] = await closed;
    clearTimeout(timer);
    return { status, errors };
  }

  return { url, stop };
}

async function listening(url: string, child: ChildProcess): Promise<void> {
  const end = Date.now() + START_MS;
  while (Date.now() < end && child.exitCode === null) {
    const answer = await fetch(`${url}/v1/models`).catch(() => undefined);
    if (answer) return void (await answer.text());
    await wait(50);
  }
  child.kill('SIGKILL');
  throw new Error(`Nothing listens at ${url}; exit status ${child.exitCode}.`);
}
