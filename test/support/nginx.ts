/** A real nginx in front of an app, where there is one on this machine. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './services.ts';

/** Its program. */
export const NGINX = process.env.NGINX_BINARY ?? 'nginx';
/** Whether it is there; where CI runs, a missing one is a failure. */
export const hasNginx = spawnSync(NGINX, ['-v']).error === undefined || Boolean(process.env.CI);

/** A running nginx. */
export interface Nginx {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts it on a free port with what `http { }` holds for that port; it ends by itself after `maxMs`. */
export async function startNginx(http: (port: number) => string, maxMs = 60_000): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const port = await freePort();
  mkdirSync(join(folder, 'temp'));
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const places = paths.map((name) => `${name}_temp_path ${folder}/temp/${name};`).join('\n');
  const config = `daemon off; master_process off; pid ${folder}/pid; error_log stderr notice;
    events {} http { access_log off; ${places} ${http(port)} }`;
  writeFileSync(join(folder, 'nginx.conf'), config);
  const nginx = spawn(NGINX, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], { timeout: maxMs });
  await untilServing(nginx);

  async function close(): Promise<void> {
    if (nginx.exitCode === null && nginx.signalCode === null) {
      const closed = once(nginx, 'close');
      nginx.kill('SIGTERM');
      await closed;
    }
    rmSync(folder, { recursive: true });
  }

  return { port, close };
}

/** nginx says so when its sockets are open. */
async function untilServing(nginx: ChildProcess): Promise<void> {
  if (!nginx.stderr) throw new Error('nginx has no stderr.');
  const lines: string[] = [];
  for await (const line of createInterface({ input: nginx.stderr })) {
    lines.push(line);
    if (/\[notice\].*event method/.test(line)) break;
    if (/\[emerg\]/.test(line)) throw new Error(lines.join('\n'));
  }
  nginx.stderr.resume();
}
