/** What the tests of the sandbox share: patience, and a look at processes from outside. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Launch, pyodideFolder } from '../../../src/tools/code-interpreter/sandbox/launch.ts';
import type { PyodideLimits } from '../../../src/tools/code-interpreter/sandbox/pyodide-settings.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

/** Where the build has what runs in the process of a container. */
export const CHILD_FOLDER = join(import.meta.dirname, '../../../dist/sandbox/code-interpreter/child');

/** The process of a container without any layer around its realm. */
export function bareLaunch({ outputBytes, fileBytes, files }: PyodideLimits): Launch {
  const inside = JSON.stringify({ wasmBytes: 320 * 2 ** 20, outputBytes, fileBytes, files });
  const main = join(CHILD_FOLDER, 'main.js');
  const args = ['--no-warnings', '--experimental-vm-modules', main, inside, pyodideFolder()];
  return { command: process.execPath, args, diesWithHost: false, ownNetwork: false };
}

/** Python takes seconds to load, and many more on a busy machine. */
export const PATIENCE = 180_000;

/** A signal that is never aborted. */
export const NEVER = new AbortController().signal;

/**
 * The processes in which the code of containers runs, that this process, or another, has started, by itself or by way of
 * bubblewrap; those that are dead but not yet buried do not count.
 */
export function sandboxesOf(parent: number = process.pid): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const { ppid, state } = statusOf(pid);
    const isNode = /^[^\0]*node[^\0]*\0[\s\S]*code-interpreter\/child\/main\.js/.test(textOf(pid, 'cmdline'));
    return isNode && state !== 'Z' && (ppid === parent || statusOf(ppid).ppid === parent);
  });
}

/** One field of what the kernel shows of a process, or nothing where there is no such process. */
export function fieldOf(pid: number, name: string): string | undefined {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(textOf(pid, 'status'))?.[1];
}

/** Whether it lives: neither gone nor waiting to be buried. */
export function lives(pid: number): boolean {
  const { state } = statusOf(pid);
  return state !== undefined && state !== 'Z';
}

/** A file of the process's folder in `/proc`; empty where there is none. */
export function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function statusOf(pid: number): { readonly ppid: number; readonly state: string | undefined } {
  return { ppid: Number(fieldOf(pid, 'PPid')), state: fieldOf(pid, 'State')?.[0] };
}

/** Looks again until it holds; there is no event to wait for where the kernel or another process must act. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!holds() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  if (!holds()) throw new Error(`It never came to hold: ${holds}`);
}
